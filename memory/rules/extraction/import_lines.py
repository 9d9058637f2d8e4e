"""What a line of an import states that is no more than a text: read as a turn is, and only where nothing of it is lost."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import timedelta

from muniment.memory.domain.turn import Candidate, Turn
from muniment.memory.rules.dates import mentions as dates
from muniment.memory.rules.extraction import gate
from muniment.memory.rules.extraction.extract import extract
from muniment.memory.rules.language import tokens as words
from muniment.memory.rules.language.lazy_regex import late
from muniment.memory.rules.procedures import requests as procedure_words
from muniment.memory.rules.provenance import quoted as suspect
from muniment.memory.rules.statements.third_person import as_said

_LONGEST = 1_000  # characters; a longer text says more than a few statements can
_ANOTHER_DAY = timedelta(days=222)
_WEEKDAY = late(r"(?:mon|tues|wednes|thurs|fri|satur|sun)day|[周期]|礼拜", re.IGNORECASE)
# `and Ben lives in Oslo`: in one sentence with what is said of the user it would go and come with that.
_SOMEBODY_TOO = late(rf"(?:\band|\bbut|\bwhile|[,;])\s+[{words.UPPER}][\w'-]+\s+(?:is|[a-z]+s)\b")
# A statement that leaves one of them out, or has another word for it, says no less.
_LIGHT = words.lexeme_set(
    "also really actually currently recently still today nowadays lately already officially remember anymore named called go"
    " goes favorite"
)


def read(line: Turn, owner: str, *, dated: bool) -> tuple[Candidate, ...]:
    """The statements that say all of the line; none where a part of it would be left out, or where its meaning depends on
    a day that nobody knows."""
    if len(line.text) > _LONGEST or _SOMEBODY_TOO.search(line.text):
        return ()
    own = replace(line, text=as_said(line.text, owner))
    if suspect.parts(line).pasted or procedure_words.rest(own.text) != own.text or gate.skip(own.text, own.role):
        return ()
    found = extract(own)
    if not found.candidates or not _whole(own, found.candidates):
        return ()
    if _leaning(own, dated=dated) and extract(replace(own, at=own.at + _ANOTHER_DAY)) != found:
        return ()
    several = len(found.candidates) > 1
    return tuple(replace(one, context=line.text) if several else one for one in found.candidates)


def _whole(line: Turn, candidates: tuple[Candidate, ...]) -> bool:
    """Whether the statements have every word of the line that says something, its dates as they stand or written out."""
    told = words.lexeme_set(_plain(" . ".join(one.text for one in candidates))) | _LIGHT
    return any(words.lexeme_set(_plain(text)) <= told for text in (line.text, dates.absolute(line.text, line.at)))


def _leaning(line: Turn, *, dated: bool) -> bool:
    """Whether the line may mean another day on another day: where its own is known, `on Friday` may still mean every Friday."""
    found = (one for one in dates.mentions(line.text, line.at) if one.relative or one.partial)
    return any(not dated or _WEEKDAY.search(line.text[one.start : one.end]) for one in found)


def _plain(text: str) -> str:
    return text.replace("我", "用户")
