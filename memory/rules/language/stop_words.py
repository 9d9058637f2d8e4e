"""Stop words of the languages that are written in Latin letters, and which of these a text is in.

The words are those of stopwords-iso. They are loaded by the first text that has no English function word. In an English
text they would be words like others: `die`, `war` and `come` are no function words there."""

from __future__ import annotations

import re
from functools import cache, lru_cache

from muniment.memory.rules.language.lazy_regex import lazy_compile
from muniment.memory.rules.language.tokens import fold_text, stem_word

LANGUAGES = ("de", "fr", "es", "pt", "it", "nl")
_WORDS = lazy_compile(r"[^\W\d_]+")
# Words of English that are no words of the other languages.
ENGLISH_WORD = lazy_compile(
    r"\b(?:the|what|who|whose|where|when|which|why|how|my|your|our|their|does|did|has|have|had|with|and|this|that|these"
    r"|those|should|would|could|from|about)\b",
    re.IGNORECASE,
)
_LEAST_SHARE = 0.25  # of a text's words that are stop words of its language
_LEAST = 2


@lru_cache(maxsize=1_024)
def detect_language(text: str) -> str | None:
    """Return the code (ISO 639-1) of the language whose function words a text has most of, or None.

    Words that English has as well do not count. None for English, for a text with fewer than two such words or with few
    among many, and for a tie."""
    if ENGLISH_WORD.search(text):
        return None
    words = [word.casefold() for word in _WORDS.findall(text)]
    telling = [word for word in words if len(word) > 1 and word not in load_stop_words("en")]
    counts = {name: sum(word in load_stop_words(name) for word in telling) for name in LANGUAGES}
    best = max(counts, key=counts.__getitem__)
    is_clear = counts[best] >= max(_LEAST, _LEAST_SHARE * len(words)) and list(counts.values()).count(counts[best]) == 1
    return best if is_clear else None


@cache
def load_stop_stems(language: str) -> frozenset[str]:
    """Return the stop words of a language in the form of lexemes."""
    return frozenset(stem_word(fold_text(word)) for word in load_stop_words(language))


@cache
def load_stop_words(language: str) -> frozenset[str]:
    """Return the stop words of a language in lower case; none for a language without a list."""
    import stopwordsiso  # noqa: PLC0415 - reads 0.2 MB of JSON, which an English text does not need

    return frozenset(stopwordsiso.stopwords(language)) if stopwordsiso.has_lang(language) else frozenset()
