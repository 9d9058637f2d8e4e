"""What a line of an import states that is no more than a text: read as a turn is, and only where nothing of it is lost."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import timedelta

from muniment.memory.domain.turn import Candidate, Turn
from muniment.memory.rules.dates import mentions
from muniment.memory.rules.extraction import gate
from muniment.memory.rules.extraction.extract import extract_statements
from muniment.memory.rules.language import tokens
from muniment.memory.rules.language.lazy_regex import lazy_compile
from muniment.memory.rules.procedures import requests
from muniment.memory.rules.provenance import quoted
from muniment.memory.rules.statements.third_person import rewrite_first_person

_LONGEST = 1_000  # characters; a longer text says more than a few statements can
_ANOTHER_DAY = timedelta(days=222)
_WEEKDAY = lazy_compile(r"(?:mon|tues|wednes|thurs|fri|satur|sun)day|[周期]|礼拜", re.IGNORECASE)
# `and Ben lives in Oslo`: in one sentence with what is said of the user it would go and come with that.
_SOMEBODY_TOO = lazy_compile(rf"(?:\band|\bbut|\bwhile|[,;])\s+[{tokens.UPPER}][\w'-]+\s+(?:is|[a-z]+s)\b")
# A statement that leaves one of them out, or has another word for it, says no less.
_LIGHT = tokens.get_lexeme_set(
    "also really actually currently recently still today nowadays lately already officially remember anymore named "
    "called go goes favorite"
)


def extract_line(line: Turn, owner: str, *, has_date: bool) -> tuple[Candidate, ...]:
    """The statements that say all of the line; none where a part of it would be left out, or where its meaning depends on
    a day that nobody knows."""
    if len(line.text) > _LONGEST or _SOMEBODY_TOO.search(line.text):
        return ()
    own = replace(line, text=rewrite_first_person(line.text, owner))
    if (
        quoted.split_quoted(line).quotes
        or requests.strip_keep_request(own.text) != own.text
        or gate.find_skip_reason(own.text, own.role)
    ):
        return ()
    found = extract_statements(own)
    if not found.candidates or not _covers_line(own, found.candidates):
        return ()
    if _depends_on_date(own, has_date=has_date) and extract_statements(replace(own, at=own.at + _ANOTHER_DAY)) != found:
        return ()
    several = len(found.candidates) > 1
    return tuple(replace(one, context=line.text) if several else one for one in found.candidates)


def _covers_line(line: Turn, candidates: tuple[Candidate, ...]) -> bool:
    """Whether the statements have every word of the line that says something, its dates as they stand or written out."""
    told = tokens.get_lexeme_set(_unify_pronoun(" . ".join(one.text for one in candidates))) | _LIGHT
    return any(
        tokens.get_lexeme_set(_unify_pronoun(text)) <= told
        for text in (line.text, mentions.expand_dates(line.text, line.at))
    )


def _depends_on_date(line: Turn, *, has_date: bool) -> bool:
    """Whether the line may mean another day on another day: where its own is known, `on Friday` may still mean every Friday."""
    found = (one for one in mentions.find_mentions(line.text, line.at) if one.relative or one.partial)
    return any(not has_date or _WEEKDAY.search(line.text[one.start : one.end]) for one in found)


def _unify_pronoun(text: str) -> str:
    return text.replace("我", "用户")
