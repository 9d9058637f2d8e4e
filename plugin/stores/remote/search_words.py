"""What of a message leaves the machine when a service is searched: its words, and no sentence."""

from __future__ import annotations

from collections.abc import Iterator

from muniment.memory.rules.language.lazy_regex import lazy_compile
from muniment.memory.rules.language.tokens import extract_terms

_WORD = lazy_compile(r"\w+")
_CJK = lazy_compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_MOST_WORDS = 64
_READ_CHARS = 10_000


def list_search_words(text: str) -> str:
    """Return the first 64 distinct words of a text that say something, in alphabetical order, with blanks between
    them; of scripts without blanks the pairs of characters. Empty where no word says anything."""
    found = dict.fromkeys(_find_words(text[:_READ_CHARS]))
    return " ".join(sorted(list(found)[:_MOST_WORDS]))


def _find_words(text: str) -> Iterator[str]:
    for match in _WORD.finditer(text):
        terms = extract_terms(match.group())
        if _CJK.search(match.group()):
            yield from terms
        elif terms:
            yield match.group().lower()
