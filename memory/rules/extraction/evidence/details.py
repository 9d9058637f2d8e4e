"""Numbers, dates and names of a statement that its source does not have."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime, timedelta
from functools import cache

from muniment.memory.rules.dates import mentions
from muniment.memory.rules.dates.mentions import Mention
from muniment.memory.rules.extraction.evidence.near_words import is_evoked, is_known
from muniment.memory.rules.extraction.support import expand_abbreviations
from muniment.memory.rules.language import numerals, tokens
from muniment.memory.rules.language.lazy_regex import lazy_compile

_FEW_WORDS = 3  # of a value that is no sentence
_NEAR = timedelta(days=31)  # a date without one in the words may be that of the turn
_NAME = lazy_compile(rf"\b[{tokens.UPPER}][\w&.-]*(?:\s+(?:of\s+|the\s+|de\s+)?[{tokens.UPPER}][\w&.-]*)*")
_NOT_A_NAME = frozenset(("The", "User", "I", "His", "Her", "Their", "Mr", "Mrs", "Ms", "Dr"))
_TITLE_ZH = lazy_compile(r"[《「『\"“]([^》」』\"”]{1,40})[》」』\"”]")
_NUMERAL_ZH = lazy_compile(r"[一二两三四五六七八九十百千万]+(?![\u3400-\u9fff]*[些点])")
_FRACTION = lazy_compile(r"\d+[.,]\d+")
_COUNTED_ZH = lazy_compile(
    r"(\d+|[一二两三四五六七八九十百]+)[个只条位名岁辆套间本台次年天公里]{1,2}([\u3400-\u9fff])?"
)


def has_other_details(statement: str, value: str, cited: str, known: str, at: datetime) -> bool:
    """Whether a number or a date of the statement is not in the cited words, or a name not in the known ones."""
    bare, bare_value = mentions.remove_dates(statement, at), mentions.remove_dates(value, at)
    numbers = numerals.extract_digits(bare) | numerals.extract_digits(bare_value)
    spelt = {n for n in numerals.expand_numbers(bare) if n > 1} & set(_spelt_numbers(bare))
    if not numbers | spelt <= numerals.expand_numbers(cited) or _has_other_count(bare, cited):
        return True
    if not _has_dates(statement, cited, at):
        return True
    if tokens.has_cjk(statement) != tokens.has_cjk(cited):
        return False
    own = frozenset(tokens.extract_lexemes(known)) | expand_abbreviations(f"{statement} ; {value}", known)
    named_value = f"the {bare_value}" if len(bare_value.split()) <= _FEW_WORDS else bare_value
    for name in [*find_names(bare), *find_names(named_value)]:
        if not any(is_known(lexeme, own, known) or is_evoked(lexeme, known) for lexeme in tokens.get_lexeme_set(name)):
            return True
    return any(t not in known for t in _TITLE_ZH.findall(statement))


def find_names(text: str) -> Iterator[str]:
    """The names in a text; the capital of its first word makes none."""
    for match in _NAME.finditer(text):
        name = match.group()
        if match.start() and name.split()[0] not in _NOT_A_NAME and name not in _NOT_A_NAME:
            yield name


def _has_dates(statement: str, words: str, at: datetime) -> bool:
    """Whether each date of the statement is one of the words, or about that of the turn."""
    own = mentions.find_mentions(words, at)
    return all(
        (mention.when.start <= at + timedelta(days=1) and at - _NEAR < mention.when.end and not mention.partial)
        or any(_is_same_date(mention, each) for each in own)
        or _is_bare_year(mention, words)
        for mention in mentions.find_mentions(statement, at)
    )


def _is_same_date(a: Mention, b: Mention) -> bool:
    """Whether two dates meet; of one without a year only day and month count."""
    if (a.partial or b.partial) and {a.when.grain, b.when.grain} <= {"day", "month"}:
        same_day = a.when.start.day == b.when.start.day or "month" in (a.when.grain, b.when.grain)
        return a.when.start.month == b.when.start.month and same_day
    return a.when.start < b.when.end and b.when.start < a.when.end


def _is_bare_year(mention: Mention, words: str) -> bool:
    return mention.when.grain == "year" and str(mention.when.start.year) in re.findall(r"\d{4}", words)


def _spelt_numbers(text: str) -> Iterator[float]:
    """The numbers that a text counts something with in words: `four kids`, `三只`."""
    for number, _ in _iterate_counts(text):
        yield number


def _has_other_count(statement: str, words: str) -> bool:
    """Whether the words count something of the statement, and with other numbers alone."""
    counts: dict[str, set[float]] = {}
    for number, what in _iterate_counts(words):
        counts.setdefault(what, set()).add(number)
    return any(what in counts and number not in counts[what] for number, what in _iterate_counts(statement))


def _iterate_counts(text: str) -> Iterator[tuple[float, str]]:
    """The numbers of a text with the stems of the two words after each, or the character after a Chinese measure."""
    runs = tokens.split_runs(_FRACTION.sub(" ", text))
    for place, run in enumerate(runs):
        if number := _read_number(run):
            for follower in runs[place + 1 : place + 3]:
                if _read_number(follower) or follower in tokens.STOP_WORDS:
                    break
                yield number, tokens.stem_word(follower)
    for match in _COUNTED_ZH.finditer(text):
        number = float(match[1]) if match[1].isascii() else _read_numeral(match[1])
        if number:
            yield number, match[2] or ""


def _read_number(run: str) -> float:
    """The number that one word means; 0 for none."""
    if run.isdecimal():
        return float(run)
    if not run.isascii() or not run.isalpha() or run in ("half", "dozens"):
        return 0.0
    numbers = numerals.expand_numbers(run)
    return 12.0 if run == "twelve" else min((n for n in numbers - _read_no_number() if n >= 1), default=0.0)


def has_other_numbers(part: str, anchor: str) -> bool:
    """Whether the clause has numbers, and none of those that the part of the statement has."""
    own = _list_numbers(part)
    return bool(own and _list_numbers(anchor)) and own.isdisjoint(numerals.expand_numbers(anchor))


def _list_numbers(text: str) -> set[float]:
    numbers = numerals.extract_digits(text) | {n for n in map(_read_number, tokens.split_runs(text)) if n}
    for run in _NUMERAL_ZH.findall(text):
        numbers.add(_read_numeral(run))
    return numbers - {0.0, 1.0}


def _read_numeral(run: str) -> float:
    """The number that a Chinese numeral means; 0 for none."""
    if run == "十二":
        return 12.0
    return min((n for n in numerals.expand_numbers(run) - _read_no_number() if n >= 1), default=0.0)


def remove_numbers(text: str) -> str:
    """The text without numbers, which say in no clause what they count."""
    return _NUMERAL_ZH.sub(" ", re.sub(r"\d+", " ", text))


@cache
def _read_no_number() -> frozenset[float]:
    """What a word without a number means: 0, which may be noon."""
    return frozenset(numerals.expand_numbers("word"))
