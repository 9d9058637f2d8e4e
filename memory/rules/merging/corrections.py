"""Puts one value in the place of another in what is known: `it's Emily, not Emma`, `sorry, the run is on the 19th`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from muniment.memory.domain.ids import Vector
from muniment.memory.domain.memory import TRUST_RANK, Fact, Neighbour, StoredMemory, is_structured
from muniment.memory.domain.plan import Change
from muniment.memory.domain.turn import Candidate
from muniment.memory.rules.dates.mentions import expand_dates, find_mentions, remove_dates, resolve_date
from muniment.memory.rules.language.lazy_regex import lazy_compile
from muniment.memory.rules.merging.endings import correct_text, find_holder, replace_contrast
from muniment.memory.rules.merging.restatements import split_statements, strip_quotation
from muniment.memory.rules.statements.changes import is_correcting, strip_cues
from muniment.memory.rules.statements.parse import parse_statement

_ANNOTATION = lazy_compile(r"\s*\([^()]{0,40}\d{4}[^()]{0,40}\)")  # what a date in a note means
_DAY_ALONE = lazy_compile(r"(?:the\s+)?\d{1,2}(?:st|nd|rd|th)?|\d{1,2}[号日]", re.IGNORECASE)


def correct_memories(
    candidate: Candidate, vector: Vector, neighbours: Sequence[Neighbour], at: datetime
) -> tuple[Change, ...]:
    """The changes of the memories of one person or thing that have the wrong value; none where they are of several."""
    found = [
        (item, text)
        for item in neighbours
        if item.memory.updated_at <= at and not set(item.memory.turns) & set(candidate.turns)
        if (text := _correct_text(candidate, item.memory, at))
    ]
    holders = {find_holder(item.memory.text) for item, _ in found}
    if len(holders) > 1 or (len(found) > 1 and holders == {""}):
        return ()
    if any(TRUST_RANK[candidate.trust] < TRUST_RANK[item.memory.trust] for item, _ in found):
        return ()
    taken = {item.memory.stable_key for item in neighbours}
    return tuple(
        Change(
            action="UPDATE",
            after=_correct_memory(candidate, item.memory, text, at, taken),
            before=item.memory,
            vector=vector,
            band="check",
            sim=round(min(item.sim, 1.0), 4),
            meta={"why": "supersedes"},
        )
        for item, text in found
    )


def _correct_text(candidate: Candidate, memory: StoredMemory, at: datetime) -> str | None:
    """The memory's text put right by the candidate. Two structured facts decide, but for `Emily, not Emma`."""
    if candidate.fact and is_structured(candidate.fact) and is_structured(memory.fact):
        return replace_contrast(candidate.text, memory.text, value=candidate.fact.object)
    return correct_text(candidate.text, memory.text) or correct_date(candidate.text, memory.text, at)


def correct_date(said: str, text: str, at: datetime) -> str | None:
    """A memory's text with the date of a sentence that corrects it: `sorry, the run is on the 19th`; else None.

    The sentence has to name nothing that the memory does not name, and each has to have one date."""
    sentences = [_ANNOTATION.sub("", each) for each in split_statements(said) if is_correcting(each)]
    text = _ANNOTATION.sub("", text)
    dates = find_mentions(text, at) if sentences else []
    if len(dates) != 1:
        return None
    for sentence in sentences:
        spans = find_mentions(sentence, at)
        what = parse_statement(strip_cues(remove_dates(sentence, at))).words
        known = parse_statement(remove_dates(text, at)).words
        if not (what and what <= known and len({span.when for span in spans}) == 1):
            continue
        # In the place of the former date, so that the tense is the memory's: `moved to Thursday` is the next one.
        date = sentence[spans[0].start : spans[0].end].removeprefix(spans[0].preposition).strip()
        preposition = "" if spans[0].when.chinese else dates[0].preposition
        after = f"{text[: dates[0].start]}{f'{preposition} {date}'.strip()}{text[dates[0].end :]}"
        # A day alone is one of the former date's month.
        return expand_dates(after, dates[0].when.start.replace(day=1) if _DAY_ALONE.fullmatch(date) else at)
    return None


def is_corrected_since(candidate: Candidate, memory: StoredMemory) -> bool:
    """Whether a memory says what a candidate of one of its turns says, under a name that a later turn has corrected."""
    earlier = set(candidate.turns)
    if not earlier & set(memory.turns) or earlier >= set(memory.turns):
        return False
    new, old = parse_statement(strip_quotation(candidate.text)), parse_statement(strip_quotation(memory.text))
    has_other_name = bool(new.names - set(old.tokens)) and bool(old.names - set(new.tokens))
    rest = {word for word in new.words if not any(name.startswith(word) for name in new.names)}  # stems of words
    return has_other_name and bool(rest) and rest <= old.words


def _correct_memory(
    candidate: Candidate, memory: StoredMemory, text: str, at: datetime, taken: set[str | None]
) -> StoredMemory:
    fact = _correct_fact(candidate.text, memory.fact, at) if memory.fact else None
    key = fact.key if fact and is_structured(fact) else memory.stable_key
    return replace(
        memory,
        text=text,
        fact=fact,
        event_time=resolve_date(text, at) or memory.event_time,
        stable_key=memory.stable_key if key in taken else key,
        updated_at=at,
        turns=tuple(dict.fromkeys((*memory.turns, *candidate.turns))),
    )


def _correct_fact(said: str, fact: Fact, at: datetime) -> Fact:
    """The fact with the right value wherever it has the wrong one."""
    return replace(
        fact,
        object=correct_text(said, fact.object) or correct_date(said, fact.object, at) or fact.object,
        subject=correct_text(said, fact.subject) or fact.subject,
        persons=tuple(correct_text(said, person) or person for person in fact.persons),
        entities=tuple(correct_text(said, entity) or entity for entity in fact.entities),
    )
