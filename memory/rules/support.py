"""Whether the words of a conversation carry a statement: its numbers, its names, some of its content."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from datetime import datetime

from muniment.memory.records import Turn
from muniment.memory.rules import dates, words
from muniment.memory.rules.chinese_dates import number

_DIGITS = re.compile(r"\d+(?:[.,]\d+)*")
_NAME = re.compile(r"\b[A-Z][\w'&.-]*(?:\s+(?:of\s+|the\s+|de\s+)?[A-Z][\w'&.-]*)*")
_COUNTS = {
    word: n
    for n, names in enumerate(
        ["zero/no", "one/a/an/once/first/single", "two/twice/second/couple/both", "three/third/triple", "four/fourth", "five/fifth", "six/sixth", "seven/seventh", "eight/eighth", "nine/ninth", "ten/tenth", "eleven", "twelve/dozen", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen", "twenty"]
    )
    for word in names.split("/")
} | {"thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80, "ninety": 90, "hundred": 100, "thousand": 1000, "million": 1000000}  # fmt: skip
_NUMERAL_ZH = re.compile(r"[一二三四五六七八九]?十[一二三四五六七八九]?|[一二两三四五六七八九]|半")
_SCALES = (1, 10, 100, 1_000, 10_000, 1_000_000)  # "5k", "三百", "two million"
_STEM = 4  # letters: German and Germany, plumber and plumbing


def supported(statement: str, value: str, turns: Sequence[Turn], at: datetime) -> bool:
    """Whether `statement` about `value` can come from the turns: its numbers and names occur in them, and so do some of
    its words and of the value's.

    Lenient with inflection; a translation is held to its numbers alone."""
    text = "\n".join(turn.text for turn in turns)
    if not _numbers(dates.without(f"{statement} ; {value}", at)) <= _known(text):
        return False
    if words.has_cjk(statement) != words.has_cjk(text):
        return True
    known = words.lexeme_set(text)
    return (
        all(_occurs(name, text, known) for name in _NAME.findall(value))
        and _shared(words.lexeme_set(dates.without(value, at)), known, text)
        and _shared(words.lexeme_set(statement), known, text)
    )


def _numbers(text: str) -> set[float]:
    plain = unicodedata.normalize("NFKC", text)
    return {float(found.replace(",", "")) for found in _DIGITS.findall(plain) if found.count(".") < 2}


def _known(text: str) -> set[float]:
    """The numbers that a text may mean: as digits, as words, scaled, and hours of the afternoon."""
    folded = words.fold(text)
    counted: Iterable[float] = [_COUNTS[word] for word in re.findall(r"[a-z]+", folded) if word in _COUNTS]
    chinese = [0.5 if found == "半" else number(found.replace("两", "二")) for found in _NUMERAL_ZH.findall(text)]
    base = {*_numbers(text), *counted, *chinese}
    scaled = {n * scale for n in base for scale in _SCALES}
    sums = {a + b for a in base for b in base if a % 10 == 0 and a >= 20 and b < 10}  # "twenty-five"
    return scaled | sums | {n + 12 for n in base if n < 12}


def _occurs(name: str, text: str, known: frozenset[str]) -> bool:
    """Whether a name, a part of it or its initials are said."""
    own = words.lexeme_set(name)
    if not own or _shared(own, known, text):
        return True
    initials = "".join(part[0] for part in name.split() if part[0].isupper())
    return len(initials) > 1 and re.search(rf"\b{re.escape(initials)}\b", text, re.IGNORECASE) is not None


def _shared(own: frozenset[str], known: frozenset[str], text: str) -> bool:
    """Whether one of the lexemes, or its start, is among the known; Chinese ones by a character."""
    own = frozenset(one for one in own if not one.isdecimal())  # numbers have been looked at
    if own & known or not own:
        return True
    if words.has_cjk(text):
        return any(char in text for lexeme in own for char in lexeme if words.has_cjk(char))
    starts = {one[:_STEM] for one in known if len(one) >= _STEM}
    return any(one[:_STEM] in starts for one in own)
