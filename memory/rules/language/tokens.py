"""Words of a text as the keyword channel knows them: folded stems for alphabetic scripts, 2-grams for CJK."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from functools import lru_cache
from hashlib import blake2b
from itertools import chain
from typing import TypeVar

import Stemmer

from muniment.memory.rules.language.lazy_regex import lazy_compile
from muniment.memory.rules.language.lexicon import load_lexicon

_CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0002ffff"
# Every capital that scripts with cases have, for what is told by one: Łukasz, Élodie and Ольга are names, too.
UPPER = "".join(one for one in map(chr, range(0x2000)) if one.isupper())
_RUNS = lazy_compile(rf"[{_CJK}]+|[^\W_{_CJK}]+(?:['’][^\W_{_CJK}]+)?")
_PLAIN = lazy_compile("[a-z0-9]+(?:'[a-z0-9]+)?")  # the same for ASCII, in half of the time
# And for ASCII without an apostrophe, in a quarter of that: each byte as it stands in a word, or the space between two.
_SPACED = bytes(ord(chr(n).lower()) if chr(n).isalnum() and n < 128 else 32 for n in range(256))
_IS_CJK = lazy_compile(f"[{_CJK}]")
_LETTER = lazy_compile(r"[^\W\d_]")
_LATIN = lazy_compile("[A-Za-zªºÀ-ɏḀ-ỿⱠ-Ɀ꜠-ꟿＡ-Ｚａ-ｚ]")
_CJK_RUNS = lazy_compile(f"[{_CJK}]+")
_NAME_SIZES = (2, 3, 4)
_MAX_WORD_LENGTH = 64  # a longer run is a blob (base64, a hash), not a word
DIMENSIONS = 1_000_000_000  # the most that pgvector's sparsevec has
WEIGHT_CEILING = 2.2  # no weight reaches it: k1 + 1
BACKGROUND_SIZE = 100  # memories that a space is thought to have besides its own: in a new one no word is common yet
_K1, _B = 1.2, 0.75
_MEAN_LENGTH = 40  # lexemes
_MAX_LEXEMES = 1_000  # of one memory: the rarest of a longer one are left out
_MARKS = {"Mn", "Mc"}
# Every date in `rules.dates` that is no figure has a word with one of these in it.
_TIME_WORD = lazy_compile(
    r"^(?:(?:jan|feb|mar|apr|may|ju[nl]|aug|sept?|oct|nov|dec)(?![a-z])|januar|februar|march|april|june|july|august"
    r"|septem|octob|novem|decem|monday|tuesd|wednes|thursd|friday|saturd|sunday|yesterday|today|tonight|tomorrow|ago\b"
    r"|last\b|next\b|this\b|past|coming|week|fortnight|month|year|day|spring|autumn|fall|winter|summer|christmas"
    r"|xmas|valentine"
    r"|hallowe|thanksgiving|(?:thir|for|fif|six|seven|eigh|nine)ties|fourth\b|fifth\b|sixth\b|seventh\b|eighth\b"
    r"|ninth\b|tenth\b|eleventh\b|twelfth\b|(?:thir|four|fif|six|seven|eigh|nine)teenth|(?:twen|thir)tieth|twenty"
    r"|thirty)"
    r"|[年月日号天周昨今明前后去春夏秋冬季]|圣诞|平安夜|元旦|情人节|复活节|万圣节|感恩节|劳动节|五一|国庆|十一|除夕"
)
_TIME_DIMENSION = 0  # no dimension: it stands before those of such a word
Kind = TypeVar("Kind")
Word = TypeVar("Word", str, bytes)
_STEMMER = Stemmer.Stemmer("english", 0)  # its own cache is slower than no cache when it is full

STOP_WORDS = load_lexicon("stop_words.en").get_words("words")
CJK_STOP_WORDS = load_lexicon("stop_words.zh").get_words("words")
# No memory has a pair of the query's own grammar: it would only weigh down the share of those that it has.
_CJK_GRAMMAR = load_lexicon("stop_words.zh").get_words("grammar")


class WordCache(dict[Word, Kind]):
    """What a function makes of a word, kept for the next time, unless the word is too long; emptied when it is full. Found in half of
    the time that `lru_cache` takes, which puts its words in a new order every time."""

    def __init__(
        self, make: Callable[[Word], Kind], max_words: int = 32_768, max_length: int = _MAX_WORD_LENGTH
    ) -> None:
        super().__init__()
        self._make: Callable[[Word], Kind] = make
        self._max_words, self._max_length = max_words, max_length

    def __missing__(self, word: Word) -> Kind:
        found = self._make(word)
        if len(word) <= self._max_length:
            if len(self) >= self._max_words:
                self.clear()
            self[word] = found
        return found


def has_cjk(text: str) -> bool:
    """Whether any character is Chinese, Japanese or Korean."""
    return _IS_CJK.search(text) is not None


def is_legible(scripts: Collection[str], *texts: str) -> bool:
    """Whether an embedder that knows these scripts can read the texts. What is in an alphabet that it does not know is letters
    to it, of which any two texts are alike; a name in it among other words is not in the way. Who knows CJK knows them all."""
    return "cjk" in scripts or all(map(_is_latin, texts))


def _is_latin(text: str) -> bool:
    return text.isascii() or (not has_cjk(text) and 2 * len(_LATIN.findall(text)) >= len(_LETTER.findall(text)))


def fold_text(text: str) -> str:
    """Case folded, accents of alphabetic scripts dropped, full-width forms made plain."""
    if text.isascii():
        return text.lower()
    # Cherokee is folded to its capitals, and some letters have capitals only when they are taken apart.
    decomposed = unicodedata.normalize("NFKD", text.casefold()).casefold().lower()
    return unicodedata.normalize("NFC", "".join(c for c in decomposed if unicodedata.category(c) not in _MARKS))


@lru_cache(maxsize=32_768)
def stem_word(word: str) -> str:
    """The stem of a folded word (Snowball, English)."""
    return str(_STEMMER.stemWord(word))


def extract_lexemes(text: str) -> Iterator[str]:
    """The lexemes of a text in order, stop words left out."""
    return chain.from_iterable(map(_lexeme_cache.__getitem__, split_runs(text)))


@lru_cache(maxsize=64)
def split_runs(text: str) -> tuple[str, ...]:
    """The words of a text, folded, and its runs of CJK characters; kept, because more than one rule looks at them in a row."""
    return tuple(_find_runs(text))


def _find_runs(text: str) -> list[str]:
    if text.isascii() and "'" not in text:
        return text.encode().translate(_SPACED).decode().split()
    folded = fold_text(text)
    return (_PLAIN if folded.isascii() else _RUNS).findall(folded)


def _stem_run(run: str) -> tuple[str, ...]:
    if run.isascii() and run.isalpha() and len(run) <= _MAX_WORD_LENGTH:
        return () if run in STOP_WORDS else (stem_word(run),)
    if _IS_CJK.match(run):
        pairs = [run[i : i + 2] for i in range(len(run) - 1)] or [run]
        return tuple(pair for pair in pairs if pair not in CJK_STOP_WORDS)
    word = run.replace("’", "'")
    if len(run) > _MAX_WORD_LENGTH or word.endswith("n't"):
        return ()
    return tuple(stem_word(part) for part in word.split("'") if part not in STOP_WORDS)


@lru_cache(maxsize=8_192)
def get_lexeme_set(text: str) -> frozenset[str]:
    """The distinct lexemes of a text; kept, because ranking looks at the same memories again and again."""
    return frozenset(extract_lexemes(text))


def extract_terms(text: str, limit: int = 64) -> tuple[str, ...]:
    """The distinct lexemes of a query, in order, at most `most`; without the pairs of Chinese that only ask or join, unless
    there is nothing else."""
    found: dict[str, None] = {}
    joints: dict[str, None] = {}
    for lexeme in extract_lexemes(text):
        (found if len(lexeme) == 1 or _CJK_GRAMMAR.isdisjoint(lexeme) else joints).setdefault(lexeme)
        if len(found) == limit:
            break
    return tuple(found or joints)[:limit]


def extract_speaker_terms(text: str, limit: int = 64) -> tuple[str, ...]:
    """What of a query may be a speaker's name, as the lower case of one is compared with it, at most `most`: its distinct
    words, and of scripts without spaces every two, three and four characters in a row."""
    found = dict.fromkeys(re.findall(r"\w+", text.lower()))
    cjk_runs = _CJK_RUNS.findall(text)
    pieces = (run[at : at + size] for run in cjk_runs for size in _NAME_SIZES for at in range(len(run) - size + 1))
    return tuple(dict.fromkeys(chain(found, pieces)))[:limit]


def extract_numbers(text: str) -> frozenset[str]:
    """The numbers that a text names, as digits."""
    return frozenset(re.findall(r"\d+(?:[.,]\d+)?", unicodedata.normalize("NFKC", text)))


def compute_weights(text: str, context: str | None = None) -> dict[int, float]:
    """What BM25 knows of a text by itself: its lexemes as dimensions, each with its saturated frequency.

    `f (k1 + 1) / (f + k1 (1 - b + b size / USUAL))`, Robertson and Zaragoza 2009, with k1 = 1.2 and b = 0.75. The usual
    size stands for the mean of the collection, so that a weight is final when it is written; the IDF, which is not,
    belongs to the query."""
    places, values, _ = weigh_dimensions(text, context)
    return dict(zip(places, values, strict=True))


def weigh_dimensions(text: str, context: str | None = None) -> tuple[list[int], list[float], bool]:
    """The dimensions of `weights` in their order, the weight of each, and whether a word among them may tell a time."""
    runs = _find_runs(text) + _find_runs(context) if context else _find_runs(text)
    places = list(chain.from_iterable(map(_dimension_cache.__getitem__, runs)))
    if has_time := _TIME_DIMENSION in places:
        places = [place for place in places if place != _TIME_DIMENSION]
    size = len(places)
    if size <= _MAX_LEXEMES and len(once := set(places)) == size:  # most statements say no word twice
        return sorted(once), [_compute_weight(1, size)] * size, has_time
    counts = Counter(places)
    most = counts.items() if len(counts) <= _MAX_LEXEMES else counts.most_common(_MAX_LEXEMES)
    values = {count: _compute_weight(count, size) for count in set(counts.values())}
    found = sorted(most)
    return [place for place, _ in found], [values[count] for _, count in found], has_time


@lru_cache(maxsize=4_096)
def _compute_weight(count: int, size: int) -> float:
    return round(count * (_K1 + 1) / (count + _K1 * (1 - _B + _B * size / _MEAN_LENGTH)), 4)


def hash_lexeme(lexeme: str) -> int:
    """The dimension of a lexeme, from 1 to DIMENSIONS; of 30,000 distinct lexemes hardly two share one."""
    return int.from_bytes(blake2b(lexeme.encode(), digest_size=8).digest(), "big") % DIMENSIONS + 1


_lexeme_cache = WordCache(_stem_run)
_dimension_cache = WordCache(
    lambda run: (_TIME_DIMENSION,) * bool(_TIME_WORD.search(run)) + tuple(map(hash_lexeme, _lexeme_cache[run]))
)
