"""What the product says of pairs of statements with their facts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from muniment.memory.domain.consolidation import Pair
from muniment.memory.domain.ids import MemoryId, TurnId
from muniment.memory.domain.memory import Fact, Neighbour, StoredMemory
from muniment.memory.domain.turn import Candidate, make_memory
from muniment.memory.models.hash_embedder import hash_vector
from muniment.memory.rules.merging import consolidate, judge, merge
from tests.golden.subjects import EARLIER, NOW, PROFILE, SCOPE, SETTINGS, Plain, told, unless

SIMILARITIES = (0.97, 0.75, 0.5)


def statement(raw: Mapping[str, Any], number: int) -> Candidate:
    """A statement of the inputs as what was found in a turn."""
    structured = None
    if raw.get("predicate"):
        structured = Fact(
            kind=raw["kind"],
            predicate=raw["predicate"],
            object=raw["object"],
            subject=raw.get("subject", "user"),
            persons=tuple(raw.get("persons", ())),
            single=bool(raw.get("single")),
            negated=bool(raw.get("negated")),
        )
    when = raw.get("event_time")
    at = datetime.fromisoformat(when) if when else None
    return Candidate(
        text=raw["statement"],
        category=raw.get("category", "activity"),
        kind=raw.get("sort_of_memory", "semantic"),
        fact=structured,
        event_time=at.replace(tzinfo=UTC) if at and at.tzinfo is None else at,
        turns=(turn_id(number),),
    )


def turn_id(number: int) -> TurnId:
    return TurnId(UUID(int=number + 1))


def memory(one: Candidate, number: int, at: datetime = EARLIER) -> StoredMemory:
    return make_memory(one, MemoryId(UUID(int=number + 1)), SCOPE, at)


def merging(a: Mapping[str, Any], b: Mapping[str, Any]) -> Plain:
    """What a later statement is beside an earlier one, on arrival and in the night, at several similarities."""
    first, second = statement(a, 0), statement(b, 1)
    older, newer = memory(first, 0), memory(second, 1, NOW)
    written, nightly = [], []
    for sim in SIMILARITIES:
        near = (Neighbour(memory=older, sim=sim),)
        new = merge.IncomingCandidate(candidate=second, vector=hash_vector(second.text), neighbours=near, id=newer.id)
        done = merge.merge_candidates([new], scope=SCOPE, at=NOW, profile=PROFILE, writing=SETTINGS.write)
        written.append(_merged(done, (older, newer)))
        verdict, sure = consolidate.judge_pair(Pair(older=older, newer=newer, sim=sim), PROFILE, frozenset({"profile"}))
        nightly.append(f"{verdict}{'!' if sure else ''}")
    return told(
        j=[
            judge.judge_candidate(second, older),
            judge.judge_candidate(second, older, is_vouched=True),
            judge.judge_candidate(first, newer),
        ],
        w=_once(written),
        n=_once(nightly),
    )


def _once(values: list[Any]) -> Any:
    """The values, or the one that all of them are."""
    return values if any(one != values[0] for one in values) else values[0]


def _merged(done: merge.MergeResult, known: Iterable[StoredMemory]) -> list[Any]:
    texts = {one.text: n for n, one in enumerate(known)}
    changes = [
        told(
            a=one.action,
            m=one.after.id.int,
            t=texts.get(one.after.text, one.after.text),
            b=one.band,
            sim=one.sim,
            st=unless(one.after.state, "active"),
            im=one.after.importance,
            cf=one.after.confidence,
            o=one.after.fact.object if one.after.fact else None,
            by=len(one.after.turns),
            note=sorted(one.meta),
        )
        for one in done.changes
    ]
    return [changes, [one.strength for one in done.relations], list(done.refused)]
