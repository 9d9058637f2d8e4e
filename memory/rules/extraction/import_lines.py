"""Extracts statements from a text line of an import, if the statements cover the whole line."""

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
# `and Ben lives in Oslo`: a statement of its own must not share the memory of the user's statement.
_SOMEBODY_TOO = lazy_compile(rf"(?:\band|\bbut|\bwhile|[,;])\s+[{tokens.UPPER}][\w'-]+\s+(?:is|[a-z]+s)\b")
# Words that a statement may leave out or replace.
_LIGHT = tokens.get_lexeme_set(
    "also really actually currently recently still today nowadays lately already officially remember anymore named "
    "called go goes favorite"
)


def extract_line(line: Turn, owner: str, *, has_date: bool) -> tuple[Candidate, ...]:
    """The statements that cover a line; none if a part would be lost or its meaning depends on an unknown day.

    `has_date` says whether the day of the line is known."""
    if len(line.text) > _LONGEST or _SOMEBODY_TOO.search(line.text):
        return ()
    own = replace(line, text=rewrite_first_person(line.text, owner))
    if (
        quoted.split_quoted(line).quotes
        or requests.strip_keep_request(own.text) != own.text
        or gate.find_skip_reason(own.text, own.role)
    ):
        return ()
    facts = extract_statements(own).facts
    if not facts or not _covers_line(own, facts):
        return ()
    if (
        _depends_on_date(own, has_date=has_date)
        and extract_statements(replace(own, at=own.at + _ANOTHER_DAY)).facts != facts
    ):
        return ()
    is_split = len(facts) > 1
    return tuple(replace(candidate, context=line.text) if is_split else candidate for candidate in facts)


def _covers_line(line: Turn, candidates: tuple[Candidate, ...]) -> bool:
    """Whether the statements have every content word of the line, with its dates as written or expanded."""
    lexemes = tokens.get_lexeme_set(_unify_pronoun(" . ".join(candidate.text for candidate in candidates))) | _LIGHT
    return any(
        tokens.get_lexeme_set(_unify_pronoun(text)) <= lexemes
        for text in (line.text, mentions.expand_dates(line.text, line.at))
    )


def _depends_on_date(line: Turn, *, has_date: bool) -> bool:
    """Whether the meaning of the line depends on its day. With a known day, only a weekday is ambiguous."""
    dates = (date for date in mentions.find_mentions(line.text, line.at) if date.relative or date.partial)
    return any(not has_date or _WEEKDAY.search(line.text[date.start : date.end]) for date in dates)


def _unify_pronoun(text: str) -> str:
    return text.replace("我", "用户")
