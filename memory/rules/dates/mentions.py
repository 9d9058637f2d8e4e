"""Dates in English and Chinese text, resolved against the moment it was said."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from muniment.memory.rules.dates import chinese, english
from muniment.memory.rules.language.calendar import DatePeriod
from muniment.memory.rules.language.lazy_regex import lazy_compile

_CJK = lazy_compile(r"[\u3400-\u9fff]")
_NO_PREPOSITION_AFTER = "于在从到是至自的，。；：、的为把对叫"


@dataclass(frozen=True, slots=True)
class Mention:
    """A date in a text: where it stands, what it means, and whether it needs the moment to mean it."""

    start: int
    end: int
    when: DatePeriod
    preposition: str  # the one it was said with, "" for none
    relative: bool
    partial: bool  # absolute but for the year

    @property
    def is_vague(self) -> bool:
        """Whether it says little of when: a season, or a feast of some days, of no year."""
        of_some_days = bool(self.when.holiday) and self.when.preposition == "at"
        return self.partial and (self.when.grain == "season" or of_some_days)


def find_mentions(text: str, at: datetime, *, question: str = "") -> list[Mention]:
    """The dates of a text in order, without overlaps; `at` is when it was said. Dates out of range are left out.

    In a statement `at Christmas` may be each year's, and is a date only where something happened then, or will; what is
    `asked`, of which the text is a part or all, may be about each year's."""
    found = sorted(_iterate_mentions(text, at, question=question), key=lambda mention: (mention.start, -mention.end))
    out: list[Mention] = []
    for mention in found:
        if not out or mention.start >= out[-1].end:
            out.append(mention)
    return out


def _iterate_mentions(text: str, at: datetime, *, question: str) -> Iterator[Mention]:
    for reading in english.match_dates(text, at, question=question):
        yield Mention(*reading)
    if _CJK.search(text):
        for reading in chinese.match_dates(text, at, question=question):
            yield Mention(*reading)


def resolve_date(text: str, at: datetime) -> datetime | None:
    """The first day of the first period that the text names, midnight UTC; None for no date.

    Which day that is depends on the zone of `at`. A day that is written out has none: it is stored, shown and asked for
    as UTC's."""
    return next((mention.when.start.replace(tzinfo=UTC) for mention in find_mentions(text, at)), None)


def has_relative_date(text: str, at: datetime) -> bool:
    """Whether the text has a date that means something else when it is read on another day."""
    return any(mention.relative for mention in find_mentions(text, at))


def expand_dates(text: str, at: datetime) -> str:
    """The text with its relative dates written out: `yesterday` becomes `on 7 May 2023`, `昨天` `于2023年5月7日`."""
    out: list[str] = []
    done = 0
    for mention in find_mentions(text, at):
        if mention.relative or mention.partial:
            out += [text[done : mention.start], _format_mention(text, mention)]
            done = mention.end
    return "".join([*out, text[done:]])


def remove_dates(text: str, at: datetime) -> str:
    """The text less its dates and their prepositions."""
    out: list[str] = []
    done = 0
    for mention in find_mentions(text, at):
        out.append(text[done : mention.start])
        done = mention.end
    return re.sub(r"[ \t]{2,}", " ", "".join([*out, text[done:]])).strip(" ,，")


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
