"""Dates in English and Chinese text, resolved against the time of the message."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from functools import lru_cache

from muniment.memory.rules.dates import chinese, english
from muniment.memory.rules.language.calendar import DatePeriod
from muniment.memory.rules.language.lazy_regex import lazy_compile
from muniment.memory.rules.language.tokens import CACHED_CHARS, clear_on_erasure, find_date_signs

_CJK = lazy_compile(r"[\u3400-\u9fff]")
_WEEKDAY = lazy_compile(
    r"(?:on\s+)?(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?s?|(?:周|星期|礼拜)[一二三四五六日天末]",
    re.IGNORECASE,
)
_WORD, _ORDINAL_END = lazy_compile(r"\w+"), lazy_compile(r"(?<=\d)(?:st|nd|rd|th)\b")
_TURKISH_I = {0x130: "i", 0x131: "i"}  # a pattern that ignores case matches them as i, casefold does not
_SPACES = lazy_compile(r"[ \t]{2,}")
_NO_PREPOSITION_AFTER = "于在从到是至自的，。；：、的为把对叫"


@dataclass(frozen=True, slots=True)
class Mention:
    """A date in a text: its place, its period, and whether the period depends on the time of the message."""

    start: int
    end: int
    when: DatePeriod
    preposition: str  # as it is written, "" for none
    relative: bool
    partial: bool  # absolute except for the year

    @property
    def is_vague(self) -> bool:
        """Whether the period is vague: a season or a feast of several days without a year."""
        of_some_days = bool(self.when.holiday) and self.when.preposition == "at"
        return self.partial and (self.when.grain == "season" or of_some_days)


def find_mentions(text: str, at: datetime, *, question: str = "") -> list[Mention]:
    """The dates of a text in order, without overlaps. `at` is the time of the message. Dates out of range are left out.

    In a statement `at Christmas` is a date only where the text is about one event. With a `question`, which the text is
    part of, it may be the Christmas of each year."""
    plain = text if text.isascii() else text.translate(_TURKISH_I)
    signs = find_date_signs(plain)
    if not signs and (text.isascii() or not _CJK.search(text)):
        return []
    search = _search_mentions if len(text) <= CACHED_CHARS else _search_mentions.__wrapped__
    return list(search(text, plain, signs, at, at.tzinfo, question))


@clear_on_erasure
@lru_cache(maxsize=2_048)
def _search_mentions(
    text: str, plain: str, signs: frozenset[str], at: datetime, _zone: tzinfo | None, question: str
) -> tuple[Mention, ...]:
    """What `find_mentions` returns. Cached, because several rules read one text, and stored notes are compared many
    times. One moment in two zones is two keys."""
    mentions = list[Mention]()
    if signs:
        mentions += [Mention(*match) for match in english.match_dates(plain, at, signs, question=question)]
    if _CJK.search(text):
        mentions += [Mention(*match) for match in chinese.match_dates(text, at, question=question)]
    mentions.sort(key=lambda mention: (mention.start, -mention.end))
    out: list[Mention] = []
    for mention in mentions:
        if not out or mention.start >= out[-1].end:
            out.append(mention)
    return tuple(out)


def resolve_date(text: str, at: datetime) -> datetime | None:
    """The first day of the first period that the text names, as midnight UTC. None for no date.

    The day depends on the zone of `at`. A day that is written out has no zone: it is stored and shown as one of UTC."""
    return next((mention.when.start.replace(tzinfo=UTC) for mention in find_mentions(text, at)), None)


def has_relative_date(text: str, at: datetime) -> bool:
    """Whether the text has a date whose meaning depends on the day, such as `yesterday`."""
    return any(mention.relative for mention in find_mentions(text, at))


def expand_dates(text: str, at: datetime) -> str:
    """The text with its relative dates written out: `yesterday` as `on 7 May 2023`, `昨天` as `于2023年5月7日`."""
    out: list[str] = []
    done = 0
    for mention in find_mentions(text, at):
        if mention.relative or mention.partial:
            out += [text[done : mention.start], _format_mention(text, mention)]
            done = mention.end
    return "".join([*out, text[done:]])


def annotate_dates(text: str, at: datetime) -> str:
    """The text with what each relative date or date without a year means behind it, in brackets: `yesterday (7 May
    2023)`, `in March (2023)`.

    A bare weekday stays as it is: it may be of any week."""
    out: list[str] = []
    done = 0
    for mention in find_mentions(text, at):
        said = text[mention.start : mention.end]
        if (mention.relative or mention.partial) and not _WEEKDAY.fullmatch(said):
            out += [text[done : mention.end], f" ({_shorten_period(mention.when, said)})"]
            done = mention.end
    return "".join([*out, text[done:]])


def remove_dates(text: str, at: datetime) -> str:
    """The text without its dates and their prepositions."""
    out: list[str] = []
    done = 0
    for mention in find_mentions(text, at):
        out.append(text[done : mention.start])
        done = mention.end
    return _SPACES.sub(" ", "".join([*out, text[done:]])).strip(" ,，")


def _shorten_period(when: DatePeriod, said: str) -> str:
    """The period in words, or its year alone where the mention has the others."""
    words = set(_WORD.findall(_ORDINAL_END.sub("", said.casefold())))
    year = f"{when.start.year}年" if when.chinese else str(when.start.year)
    rest = when.text.replace(year, " ", 1)
    has_rest = rest.strip() in said if when.chinese else words >= set(_WORD.findall(rest.casefold()))
    return year if has_rest and rest != when.text and rest.strip() else when.text


def _format_mention(text: str, mention: Mention) -> str:
    when = mention.when
    if when.chinese:
        before = text[: mention.start].rstrip()[-1:]
        after = text[mention.end : mention.end + 1]
        bare = not before or not _CJK.match(before) or before in _NO_PREPOSITION_AFTER or after == "的"
        return when.text if bare else f"于{when.text}"
    if when.holiday and (
        mention.preposition not in ("", "in") or mention.partial or text.startswith("'s", mention.end)
    ):
        return f"{mention.preposition} {when.text}".strip()
    if text[: mention.end].endswith("'s") and not when.holiday:
        return f"{mention.preposition} {when.text}".strip()
    if mention.preposition in ("", "on", "in", "at", "around", "about"):
        return f"{when.preposition} {when.text}".strip()
    return f"{mention.preposition} {when.text}"
