"""The normal form of a text, which every other rule expects, and its lexemes for keyword search: folded stems for
alphabetic scripts, pairs of characters for CJK. Also the words that tell whether there may be a date."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from functools import cache, lru_cache
from hashlib import blake2b
from itertools import chain
from typing import Any, Protocol, TypeVar

import Stemmer

from muniment.memory.rules.language.calendar import ORDINAL
from muniment.memory.rules.language.lazy_regex import lazy_compile
from muniment.memory.rules.language.lexicon import load_lexicon

_CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0002ffff"
# The capitals of every script that has them, so that Łukasz, Élodie and Ольга are names, too.
UPPER = "".join(letter for letter in map(chr, range(0x2000)) if letter.isupper())
_RUNS = lazy_compile(rf"[{_CJK}]+|[^\W_{_CJK}]+(?:['’][^\W_{_CJK}]+)?")
_PLAIN = lazy_compile("[a-z0-9]+(?:'[a-z0-9]+)?")  # the runs of ASCII text, found in half the time
# The bytes of ASCII text without an apostrophe, as they are in a word; others are spaces. An eighth of the time.
_SPACED = bytes(ord(chr(n).lower()) if chr(n).isalnum() and n < 128 else 32 for n in range(256))
_IS_CJK = lazy_compile(f"[{_CJK}]")
_LETTER = lazy_compile(r"[^\W\d_]")
_LATIN = lazy_compile("[A-Za-zªºÀ-ɏḀ-ỿⱠ-Ɀ꜠-ꟿＡ-Ｚａ-ｚ]")
_CJK_RUNS = lazy_compile(f"[{_CJK}]+")
_NAME_SIZES = (2, 3, 4)
_MAX_WORD_LENGTH = 64  # a longer run is a blob (base64, a hash), not a word
DIMENSIONS = 1_000_000_000  # the most that pgvector's sparsevec has
WEIGHT_CEILING = 2.2  # no weight reaches it: k1 + 1
BACKGROUND_SIZE = 100  # memories that every space is taken to have in addition: in a new space no word is common yet
_K1, _B = 1.2, 0.75
_MEAN_LENGTH = 40  # lexemes
_MAX_LEXEMES = 1_000  # of one memory; of a longer one the rarest are left out
_MARKS = {"Mn", "Mc"}
# Every date that `rules.dates` finds has one of these in a word, unless it is all figures.
_TIME_WORD = lazy_compile(
    r"^(?:(?:jan|feb|mar|apr|may|ju[nl]|aug|sept?|oct|nov|dec)(?![a-z])|januar|februar|march|april|june|july|august"
    r"|septem|octob|novem|decem|monday|tuesd|wednes|thursd|friday|saturd|sunday|yesterday|today|tonight|tomorrow|ago\b"
    r"|last\b|next\b|this\b|past|coming|week|fortnight|month|year|day|spring|autumn|fall|winter|summer|christmas"
    r"|xmas|valentine"
    r"|hallowe|thanksgiving|(?:thir|for|fif|six|seven|eigh|nine)ties|fourth\b|fifth\b|sixth\b|seventh\b|eighth\b"
    r"|ninth\b|tenth\b|eleventh\b|twelfth\b|(?:thir|four|fif|six|seven|eigh|nine)teenth|(?:twen|thir)tieth|twenty"
    r"|thirty|q[1-4]\b)"
    r"|[年月日号天周昨今明前后去春夏秋冬季]|圣诞|平安夜|元旦|情人节|复活节|万圣节|感恩节|劳动节|五一|国庆|十一|除夕"
)
_TIME_DIMENSION = 0  # marks a word of time; no lexeme has this dimension
Kind = TypeVar("Kind")
Word = TypeVar("Word", str, bytes)
_STEMMER = Stemmer.Stemmer("english", 0)  # without its own cache, which costs time once it is full

STOP_WORDS = load_lexicon("stop_words.en").get_words("words")
CJK_STOP_WORDS = load_lexicon("stop_words.zh").get_words("words")
# Pairs with these characters belong to the grammar of a question. No memory has them, which would lower its share.
_CJK_GRAMMAR = load_lexicon("stop_words.zh").get_words("grammar")


class WordCache(dict[Word, Kind]):
    """Caches the results of a function of one word, except for words that are too long. It is emptied when it is full.

    A lookup takes half the time of `lru_cache`, which reorders its entries at each one."""

    def __init__(
        self, make: Callable[[Word], Kind], max_words: int = 32_768, max_length: int = _MAX_WORD_LENGTH
    ) -> None:
        super().__init__()
        self._make: Callable[[Word], Kind] = make
        self._max_words, self._max_length = max_words, max_length
        _clear_caches.append(self.clear)

    def __missing__(self, word: Word) -> Kind:
        if len(word) > self._max_length:
            return self._make_long(word)
        result = self._make(word)
        if len(self) >= self._max_words:
            self.clear()
        self[word] = result
        return result

    def _make_long(self, word: Word) -> Kind:
        return self._make(word)


class TextCache(WordCache[str, Kind]):
    """Caches the results of a function of one text. A write compares a long text many times, too: what is made of it is
    kept until `drop_long_texts`."""

    def _make_long(self, word: str) -> Kind:
        key = (id(self), word)
        if key not in _long_results:
            if len(_long_results) >= _MAX_LONG_RESULTS:
                _long_results.clear()
            _long_results[key] = self._make(word)
        result: Kind = _long_results[key]
        return result


class _Cached(Protocol):
    """A function with a cache."""

    def cache_clear(self) -> None:
        """Empty the cache."""


Cached = TypeVar("Cached", bound=_Cached)
CACHED_CHARS = 500  # of a text from which what is made of it is kept longer than for one write
_MAX_LONG_RESULTS = 64
_long_results: dict[tuple[int, str], Any] = {}
_clear_caches: list[Callable[[], None]] = [_long_results.clear]
drop_long_texts = _long_results.clear


def cache_texts(most: int) -> Callable[[Callable[[str], Kind]], Callable[[str], Kind]]:
    """Decorate a pure function of one text, so that its results are cached for so many short texts."""
    return lambda make: TextCache(make, most, CACHED_CHARS).__getitem__


def clear_on_erasure(cached: Cached) -> Cached:
    """Decorate a cached function of several texts, so that `clear_text_caches` empties its cache."""
    _clear_caches.append(cached.cache_clear)
    return cached


def clear_text_caches() -> None:
    """Drop what is cached of texts, after something was erased."""
    for clear in _clear_caches:
        clear()


def has_cjk(text: str) -> bool:
    """Whether any character is Chinese, Japanese or Korean."""
    return _IS_CJK.search(text) is not None


def is_legible(scripts: Collection[str], *texts: str) -> bool:
    """Whether an embedder for these scripts (`latin`, `cjk`) can tell the texts apart. One for `cjk` reads all scripts,
    one without scripts none.

    For an unknown script it sees only letters, and all texts look alike. A name in such a script does no harm."""
    if not scripts:
        return False
    return "cjk" in scripts or all(
        text.isascii() or (not has_cjk(text) and 2 * len(_LATIN.findall(text)) >= len(_LETTER.findall(text)))
        for text in texts
    )


def fold_text(text: str) -> str:
    """The text in lower case, without the accents of alphabetic scripts and with full-width forms made plain."""
    if text.isascii():
        return text.lower()
    # Cherokee folds to its capitals, and some letters have capitals only in their decomposed form.
    decomposed = unicodedata.normalize("NFKD", text.casefold()).casefold().lower()
    return unicodedata.normalize("NFC", "".join(c for c in decomposed if unicodedata.category(c) not in _MARKS))


@clear_on_erasure
@lru_cache(maxsize=32_768)
def stem_word(word: str) -> str:
    """The stem of a folded word (Snowball, English)."""
    return str(_STEMMER.stemWord(word))


def list_verb_forms(stem: str) -> tuple[str, ...]:
    """A stem and the stems of the other forms of an irregular verb: `bought` answers a question with `buy`."""
    return (stem, *_load_verb_forms().get(stem, ()))


@cache
def _load_verb_forms() -> dict[str, tuple[str, ...]]:
    lines = load_lexicon("verbs.en").get_phrases("forms")
    verbs = [dict.fromkeys(map(stem_word, line.split())) for line in lines]
    return {form: tuple(other for other in verb if other != form) for verb in verbs for form in verb}


def extract_lexemes(text: str) -> Iterator[str]:
    """The lexemes of a text in order, without stop words."""
    return chain.from_iterable(map(_lexeme_cache.__getitem__, split_runs(text)))


@clear_on_erasure
@lru_cache(maxsize=64)
def split_runs(text: str) -> tuple[str, ...]:
    """The folded words and the runs of CJK characters of a text. Cached, because several rules read one text."""
    if text.isascii() and "'" not in text:
        return tuple(text.encode().translate(_SPACED).decode().split())
    folded = fold_text(text)
    return tuple((_PLAIN if folded.isascii() else _RUNS).findall(folded))


def count_words(text: str) -> int:
    """The number of words of a text; a run of CJK characters, which has no blanks, counts as its pairs."""
    return sum(max(1, len(run) - 1) if _IS_CJK.match(run) else 1 for run in split_runs(text))


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


@cache_texts(8_192)
def get_lexeme_set(text: str) -> frozenset[str]:
    """The distinct lexemes of a text. Cached, because ranking compares the same memories many times."""
    return frozenset(extract_lexemes(text))


def extract_terms(text: str, limit: int = 64) -> tuple[str, ...]:
    """At most `limit` distinct lexemes of a query, in order. Pairs of grammar come last."""
    terms: dict[str, None] = {}
    grammar: dict[str, None] = {}
    for lexeme in extract_lexemes(text):
        (terms if len(lexeme) == 1 or _CJK_GRAMMAR.isdisjoint(lexeme) else grammar).setdefault(lexeme)
        if len(terms) == limit:
            break
    return tuple(terms or grammar)[:limit]


def extract_speaker_terms(text: str, limit: int = 64) -> tuple[str, ...]:
    """At most `limit` parts of a query that may be a speaker's name, in lower case.

    These are its distinct words and, of CJK, every two, three and four characters in a row."""
    words = dict.fromkeys(re.findall(r"\w+", text.lower()))
    cjk_runs = _CJK_RUNS.findall(text)
    pieces = (run[at : at + size] for run in cjk_runs for size in _NAME_SIZES for at in range(len(run) - size + 1))
    return tuple(dict.fromkeys(chain(words, pieces)))[:limit]


def extract_numbers(text: str) -> frozenset[str]:
    """The numbers that a text writes in digits."""
    return frozenset(re.findall(r"\d+(?:[.,]\d+)?", unicodedata.normalize("NFKC", text)))


def compute_weights(text: str, context: str | None = None) -> dict[int, float]:
    """The part of BM25 that depends on one text: its lexemes as dimensions, each with its saturated frequency.

    `f (k1 + 1) / (f + k1 (1 - b + b size / mean))`, Robertson and Zaragoza 2009, with k1 = 1.2 and b = 0.75. The mean
    is a constant of 40 lexemes, so that a weight is final when it is written. The IDF belongs to the query."""
    places, values, _ = weigh_dimensions(text, context)
    return dict(zip(places, values, strict=True))


def weigh_dimensions(text: str, *others: str | None) -> tuple[list[int], list[float], bool]:
    """The sorted dimensions of a text with others, the weight of each, and whether one may be of a date."""
    find_runs = split_runs.__wrapped__  # an import has each text once
    runs = find_runs(text)
    for other in filter(None, others):
        runs = runs + find_runs(other)
    places = list(chain.from_iterable(map(_dimension_cache.__getitem__, runs)))
    if has_time := _TIME_DIMENSION in places:
        places = [place for place in places if place != _TIME_DIMENSION]
    size = len(places)
    norm = _K1 * (1 - _B + _B * size / _MEAN_LENGTH)
    if size <= _MAX_LEXEMES and len(distinct := set(places)) == size:  # most statements repeat no word
        return sorted(distinct), [round((_K1 + 1) / (1 + norm), 4)] * size, has_time
    counts = Counter(places)
    most = counts.items() if len(counts) <= _MAX_LEXEMES else counts.most_common(_MAX_LEXEMES)
    values = {count: round(count * (_K1 + 1) / (count + norm), 4) for count in set(counts.values())}
    ordered = sorted(most)
    return [place for place, _ in ordered], [values[count] for _, count in ordered], has_time


def hash_lexeme(lexeme: str) -> int:
    """The dimension of a lexeme, from 1 to DIMENSIONS. Among 30,000 distinct lexemes a collision is unlikely."""
    return int.from_bytes(blake2b(lexeme.encode(), digest_size=8).digest(), "big") % DIMENSIONS + 1


_lexeme_cache = WordCache(_stem_run)
_dimension_cache = WordCache(
    lambda run: (_TIME_DIMENSION,) * bool(_TIME_WORD.search(run)) + tuple(map(hash_lexeme, _lexeme_cache[run]))
)


# The signs of dates.

# Every English pattern of `rules.dates` needs some of these signs. Most statements have none and are not searched.
_DATE_SIGNS = {
    "year": lazy_compile("19|20"),
    # The first letter comes first, because it is found fast.
    "month": lazy_compile(
        r"[adfjmnos](?<!\w\w)(?:(?<=j)(?:anuary|une|uly|(?:an|un|ul)\b)|(?<=f)eb(?:ruary|\b)|(?<=m)(?:arch|ay"
        r"|ar\b)|(?<=a)(?:pril|ugust|(?:pr|ug)\b)"
        r"|(?<=s)ep(?:tember|t?\b)|(?<=o)ct(?:ober|\b)|(?<=n)ov(?:ember|\b)|(?<=d)ec(?:ember|\b))"
    ),
    "word": lazy_compile(
        # No date has a weekday in the plural, as in `on Sundays`.
        r"day(?!s)|night|tomorrow|morning|afternoon|evening|week|month|year|spring|summer|autumn|fall|winter|quarter"
        r"|\bdays"
    ),
}
# Plain strings are found faster than patterns. One of these is in every name of a feast or decade.
_FEASTS = (
    "mas", "boxing", "valentine", "patrick", "paddy", "friday", "easter", "independence", "fourth", "hallow",
    "thanksg", "new", "ties", "0", "q1", "q2", "q3", "q4", " the ",
)  # fmt: skip
_FEAST = lazy_compile(
    r"[tx]mas|boxing|valentine|patrick|paddy|good\s+fri|easter|independence|fourth|hallow|thanksg"
    r"|new\s+year|0['’]?s\b|(?:[efhnx]|[oi]r)ties|\bq[1-4]\b"
    rf"|\b(?:on|by|since|until|till|from|between|before|after|to|and)\s+the\s+(?:[0-3]?\d(?:st|nd|rd|th)|{ORDINAL})\b"
)
_FURTHER_SIGNS = {  # searched only with the first sign
    "year": {"numeric": lazy_compile(r"\d[/.]\d"), "quarter": lazy_compile(r"quarter|q[1-4]")},
    "word": {
        "season": lazy_compile("spring|summer|autumn|fall|winter"),
        "before last": lazy_compile(r"before\s+last"),
        "week": lazy_compile(r"day\s+week"),
        "turned quarter": lazy_compile(r"(?:last|this|next)\s+quarter"),
    },
}


@cache_texts(1_024)
def find_date_signs(text: str) -> frozenset[str]:
    """The signs of English dates in a text, none in most texts. Fast, and cached, because several rules read one text
    in a row."""
    folded = text.casefold()
    signs = [name for name, sign in _DATE_SIGNS.items() if sign.search(folded)]
    if any(map(folded.__contains__, _FEASTS)) and _FEAST.search(folded):
        signs.append("name")
    for first, more in _FURTHER_SIGNS.items() if signs else ():
        if first in signs:
            signs += [name for name, sign in more.items() if sign.search(folded)]
    return frozenset(signs)


# The normal form.

_PAIR = lazy_compile("[\ud800-\udbff][\udc00-\udfff]")
_SURROGATE = lazy_compile("[\ud800-\udfff]")
_NEWLINE = lazy_compile("\r\n?|\x85")
# Controls have no meaning for a reader. Bidi overrides make a text look different from what it says.
_DROPPED = [*range(0x01, 0x09), *range(0x0B, 0x20), *range(0x7F, 0xA0), *range(0x202A, 0x202F), *range(0x2066, 0x206A)]
_TABLE: dict[int, str | None] = {
    **dict.fromkeys(_DROPPED),
    0x00: "\ufffd",
    **dict.fromkeys(map(ord, "\u2018\u2019\u201a\u201b"), "'"),
    **dict.fromkeys(map(ord, "\u201c\u201d\u201e\u201f"), '"'),
}


def _join_pair(pair: re.Match[str]) -> str:
    return pair.group().encode("utf-16", "surrogatepass").decode("utf-16")


def normalize_text(text: str) -> str:
    """The text in NFC with straight quotes and one kind of line end, without controls.

    NUL and lone surrogates become U+FFFD."""
    return unicodedata.normalize("NFC", _NEWLINE.sub("\n", repair_surrogates(text)).translate(_TABLE))


def repair_surrogates(text: str) -> str:
    """The text without lone surrogates: two halves of a character are joined, one half becomes U+FFFD."""
    return text if text.isascii() else _SURROGATE.sub("\ufffd", _PAIR.sub(_join_pair, text))


def parse_vocabulary(words: str) -> frozenset[str]:
    """The words of a list that is written as prose."""
    return frozenset(words.split())
