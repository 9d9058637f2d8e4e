"""Puts one value in the place of another in what is known: `it's Emily, not Emma`, `sorry, the run is on the 19th`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from difflib import SequenceMatcher

from muniment.memory.domain.ids import TurnId, Vector
from muniment.memory.domain.memory import TRUST_RANK, Fact, Neighbour, StoredMemory, is_structured
from muniment.memory.domain.plan import Change
from muniment.memory.domain.turn import Candidate
from muniment.memory.rules.dates.mentions import expand_dates, find_mentions, remove_dates, resolve_date
from muniment.memory.rules.extraction import gate
from muniment.memory.rules.language import tokens
from muniment.memory.rules.language.lazy_regex import lazy_compile
from muniment.memory.rules.merging.endings import ALIKE, correct_text, find_holder, replace_contrast
from muniment.memory.rules.merging.restatements import split_statements, strip_quotation
from muniment.memory.rules.statements.parse import (
    find_contrasts,
    is_correcting,
    is_respelling,
    parse_statement,
    strip_cues,
)

_ANNOTATION = lazy_compile(r"\s*\([^()]{0,40}\d{4}[^()]{0,40}\)")  # what a date in a note means
# A message that is nothing but another name.
_NAME_ALONE = lazy_compile(
    r"(?P<cue>.{0,24}?)\W*(?:it's|it is|that's|i meant?|(?:应该|其实)?[是叫])\s*"
    r"(?P<name>[A-Z][\w'’-]+|[\u4e00-\u9fff]{2,4})\W*",
    re.IGNORECASE,
)
_DAY_ALONE = lazy_compile(r"(?:the\s+)?\d{1,2}(?:st|nd|rd|th)?|\d{1,2}[号日]", re.IGNORECASE)


def correct_memories(
    candidate: Candidate, vector: Vector, neighbours: Sequence[Neighbour], at: datetime
) -> tuple[Change, ...]:
    """The changes of the memories of one person or thing that have the wrong value; none where they are of several."""
    if not _may_correct(candidate.text):
        return ()
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


def _may_correct(said: str) -> bool:
    """Whether a statement names a right value: beside the wrong one, by its spelling, alone, or as a date."""
    is_named = find_contrasts(strip_quotation(said)) or is_respelling(said) or _find_name(said)
    return bool(is_named) or any(is_correcting(each) for each in split_statements(said))


def _correct_text(candidate: Candidate, memory: StoredMemory, at: datetime) -> str | None:
    """The memory's text put right by the candidate. Two structured facts decide, but for `Emily, not Emma`."""
    if candidate.fact and is_structured(candidate.fact) and is_structured(memory.fact):
        return replace_contrast(candidate.text, memory.text, value=candidate.fact.object)
    return (
        correct_text(candidate.text, memory.text)
        or _correct_name(candidate.text, memory)
        or correct_date(candidate.text, memory.text, at)
    )


def _correct_name(said: str, memory: StoredMemory) -> str | None:
    """A memory's text with the name that a message consists of, in the place of one that is written much like it."""
    new = _find_name(said)
    persons = memory.fact.persons if new and memory.fact else ()
    alike = [old for old in persons if old in memory.text and _put_right(old, new) != old]
    return memory.text.replace(alike[0], new) if len(alike) == 1 else None


def _find_name(said: str) -> str:
    """The name of a message that is nothing but a correction: `sorry, it's Rowan`; else empty."""
    match = _NAME_ALONE.fullmatch(strip_quotation(said))
    return match["name"] if match and gate.CUE.fullmatch(match["cue"]) else ""


def _put_right(old: str, new: str) -> str:
    """The new name in the place of one that is written much like it."""
    return new if new and new != old and _is_alike(new, old) else old


def _is_alike(new: str, old: str) -> bool:
    """Whether two names may be one name: a Chinese one has half of its signs in the same places."""
    if new.isascii() or old.isascii():
        return SequenceMatcher(None, new, old).ratio() >= ALIKE
    same = sum(a == b for a, b in zip(new, old, strict=False))
    return len(new) == len(old) and 2 * same >= len(new)


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
    new = _find_name(said)
    return replace(
        fact,
        object=correct_text(said, fact.object) or correct_date(said, fact.object, at) or _put_right(fact.object, new),
        subject=correct_text(said, fact.subject) or _put_right(fact.subject, new),
        persons=tuple(correct_text(said, person) or _put_right(person, new) for person in fact.persons),
        entities=tuple(correct_text(said, entity) or entity for entity in fact.entities),
    )


def settle_time(neighbour: Neighbour, at: datetime) -> Neighbour:
    """Return a neighbour that was last changed after `at` as one that was changed then."""
    memory = neighbour.memory
    return replace(neighbour, memory=replace(memory, created_at=min(memory.created_at, at), updated_at=at))


def list_turns(neighbours: Sequence[Sequence[Neighbour]]) -> set[TurnId]:
    """Return the turns that the neighbours of several candidates come from."""
    return {turn for near in neighbours for each in near for turn in each.memory.turns}


def order_neighbours(
    neighbours: Sequence[Neighbour], turn: TurnId, said: Mapping[TurnId, datetime], at: datetime
) -> tuple[Neighbour, ...]:
    """Return neighbours as changed after `at`, when the turn was said, where their own turns were said later, and as
    changed by then where they were said before: the clocks of the hosts that they come from may differ.

    `said` has the times of turns by one clock. Where it lacks one, and for what was said at once, the neighbour's own
    time holds."""
    own = said.get(turn)
    ordered = []
    for each in neighbours:
        last = max((said[id_] for id_ in each.memory.turns if id_ in said), default=None)
        is_late = each.memory.updated_at > at
        if own is not None and last is not None and last < own and is_late:
            each = settle_time(each, at)  # noqa: PLW2901 - the same neighbour
        elif own is not None and last is not None and last > own and not is_late:
            later = at + timedelta.resolution
            each = replace(each, memory=replace(each.memory, updated_at=later))  # noqa: PLW2901 - the same neighbour
        ordered.append(each)
    return tuple(ordered)


def replace_name(candidate: Candidate, memory: StoredMemory) -> str | None:
    """Return the memory's text under the right name, when the candidate only corrects the name of a person.

    Otherwise None: the rest of the memory would be lost with the wrong name."""
    new, old = parse_statement(candidate.text), parse_statement(memory.text)
    fact = candidate.fact
    if fact is None or fact.persons != (fact.object,) or not new.retracted_words or not old.words - new.words:
        return None
    names = re.findall(rf"\b[{tokens.UPPER}][\w-]*", memory.text)
    wrong = {name for name in names if parse_statement(f"the {name}").words == new.retracted_words}
    if len(wrong) != 1 or not old.words - new.words - new.retracted_words:
        return None
    return re.sub(rf"\b{re.escape(wrong.pop())}\b", lambda _: fact.object, memory.text)


def add_matches(
    near: Sequence[tuple[Neighbour, ...]], matches: Sequence[tuple[Neighbour, ...]]
) -> list[tuple[Neighbour, ...]]:
    """Return the neighbours of each candidate with those that match it by words, each once."""
    return [
        own + tuple(each for each in more if each.memory.id not in {other.memory.id for other in own}) if more else own
        for own, more in zip(near, matches, strict=True)
    ]
