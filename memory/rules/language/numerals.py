"""The numbers that a text may mean: digits, English words, Chinese numerals, and their multiples."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator

from muniment.memory.rules.language import tokens
from muniment.memory.rules.language.lazy_regex import lazy_compile
from muniment.memory.rules.language.lexicon import load_lexicon

_DIGITS = lazy_compile(r"\d+(?:[.,]\d+)*")
_VALUES = {
    word: int(value) for value, words in load_lexicon("numbers.en").get_table("values").items() for word in words
}
_SMALL = {word: value for word, value in _VALUES.items() if value < 20}
_TENS = {word: value for word, value in _VALUES.items() if 20 <= value < 100}
_UNITS = {word: value for word, value in _VALUES.items() if value >= 100}
_WORD = lazy_compile(r"[a-z]+")
_NUMERAL_ZH = lazy_compile(r"[零〇一二两三四五六七八九十百千万亿]+")
_DIGITS_ZH = {c: n for n, c in enumerate("零一二三四五六七八九")} | {"〇": 0, "两": 2}
_SMALL_ZH = {"十": 10, "百": 100, "千": 1_000}
_LARGE_ZH = {"万": 10_000, "亿": 100_000_000}
_SCALES = (10, 100, 1_000, 10_000, 1_000_000)  # "5k", "3 万", "1.8 million"
_MAX_NUMBERS = 200  # of one text; a text with more is a table, and any number would fit it


def extract_digits(text: str) -> set[float]:
    """The numbers that are written in digits. A version or an address is none."""
    numbers = _DIGITS.findall(unicodedata.normalize("NFKC", text))
    return {float(number.replace(",", "")) for number in numbers if number.count(".") < 2}


def expand_numbers(text: str) -> set[float]:
    """Every number that the text can mean: `5k`, `twenty-five`, `一万八`, and 17 for five in the afternoon."""
    numbers = {*extract_digits(text), *_parse_english(tokens.fold_text(text)), *_parse_chinese(text)}
    scalable = set(sorted(numbers)[:_MAX_NUMBERS])
    return numbers | {n * scale for n in scalable for scale in _SCALES} | {n + 12 for n in scalable if n < 12}


def _parse_english(folded: str) -> Iterator[float]:
    total = current = 0
    for word in [*_WORD.findall(folded), ""]:
        if word in _UNITS:
            unit = _UNITS[word]
            current = (current or 1) * unit
            if unit > 100:
                total, current = total + current, 0
        elif word in _TENS or (word in _SMALL and current % 10 == 0 and current % 100 != 10):
            current += _TENS.get(word, 0) or _SMALL[word]
        elif word != "and":
            yield total + current
            total, current = 0, _SMALL.get(word, 0)
    if "half" in folded:
        yield 0.5


def _parse_chinese(text: str) -> Iterator[float]:
    for run in _NUMERAL_ZH.findall(text):
        plain = all(c in _DIGITS_ZH for c in run)
        yield int("".join(str(_DIGITS_ZH[c]) for c in run)) if plain else _parse_numeral(run)
    if "半" in text:
        yield 0.5


def _parse_numeral(numeral: str) -> float:
    total = section = figure = 0
    unit = 1
    for c in numeral:
        if c in _DIGITS_ZH:
            figure = _DIGITS_ZH[c]
            unit = 1 if figure == 0 else unit
        elif c in _SMALL_ZH:
            unit = _SMALL_ZH[c]
            section, figure = section + (figure or 1) * unit, 0
        else:
            unit = _LARGE_ZH[c]
            above = total if unit > _LARGE_ZH["万"] else 0
            total += (above + section + figure or 1) * unit - above
            section = figure = 0
    # The last figure of "一万八" counts thousands.
    return total + section + figure * (unit // 10 if unit >= 100 else 1)
