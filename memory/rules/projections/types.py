"""The types of projections. A type is one pure function, which says in what slots a memory is, and its registration.

To add a type, write the function and register it in `TYPES`; `muniment projections rebuild` then makes its rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC
from typing import Any, NamedTuple
from uuid import uuid5

from muniment.memory.domain.layers.projections import Projection
from muniment.memory.domain.memory import FactKind, Kind, State, StoredMemory
from muniment.memory.domain.scope import normalize_key
from muniment.memory.rules.procedures.goals import generalize_goal, split_wordings
from muniment.memory.rules.procedures.procedure import parse_procedure
from muniment.memory.rules.statements.predicates import USER, normalize_predicate

PROFILE, EPISODE, SKILL, FAILURES, PATTERN = (
    "user_profile", "episode", "skill_proposal", "tool_failure_catalog", "task_pattern",
)  # fmt: skip
# What is like a profile: neither what happened nor what is to be done, and no words without structure.
_PROFILE_KINDS: frozenset[FactKind] = frozenset(
    ("identity", "preference", "relationship", "goal", "constraint", "skill", "experience")
)
_KEY_CHARS = 400  # of a slot's key, which is indexed


class Slot(NamedTuple):
    """A slot of a type, what a memory says in it in one line, and the same as values."""

    key: str
    title: str
    data: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectionType:
    """A type: the kinds of memories that it is made of, whether these have a date, the states in which they count, and
    the function."""

    kinds: frozenset[Kind]
    states: frozenset[State]
    find_slots: Callable[[StoredMemory], Iterator[Slot]]
    is_dated: bool = False


def project_profile(memory: StoredMemory) -> Iterator[Slot]:
    """The slot of the profile that a fact about the user fills, which is found everywhere.

    Of an attribute with one value at a time there is one slot, of another one for each value."""
    fact = memory.fact
    if fact is None or fact.kind not in _PROFILE_KINDS or fact.subject != USER or memory.reach != "user":
        return
    name = normalize_predicate(fact.kind, fact.predicate)
    is_single = fact.single if name.single is None else name.single
    key = name.predicate if is_single else f"{name.predicate}|{normalize_key(fact.object)}"
    value = {"slot": name.predicate, "value": fact.object, "negated": fact.negated}
    yield Slot(key, memory.text, value)


def project_episode(memory: StoredMemory) -> Iterator[Slot]:
    """The dated event that a memory tells of."""
    fact, at = memory.fact, memory.event_time
    if at is None or not (memory.kind == "episodic" or (fact is not None and fact.kind == "event")):
        return
    about = {"persons": list(fact.persons), "location": fact.location} if fact else {"persons": [], "location": None}
    yield Slot(memory.stable_key or str(memory.id), memory.text, {"at": at.astimezone(UTC).isoformat(), **about})


def project_skill(memory: StoredMemory) -> Iterator[Slot]:
    """The skill that a procedure is: published when it is active, a proposal when it waits."""
    if procedure := parse_procedure(memory.text):
        goal, *others = split_wordings(procedure.goal)
        steps = {"goal": goal, "also": others, "steps": list(procedure.steps), "avoid": list(procedure.avoid)}
        yield Slot(normalize_key(goal), goal, steps | {"conditions": procedure.conditions})


def project_failures(memory: StoredMemory) -> Iterator[Slot]:
    """The failures of tools that a procedure tells to avoid, one slot for each."""
    procedure = parse_procedure(memory.text)
    for item in procedure.avoid if procedure else ():
        call, _, reason = item.partition(" (")
        yield Slot(normalize_key(item), item, {"call": call, "reason": reason.removesuffix(")")})


def project_pattern(memory: StoredMemory) -> Iterator[Slot]:
    """The task that a procedure is one case of: its goal without files, versions and numbers."""
    if procedure := parse_procedure(memory.text):
        pattern = generalize_goal(split_wordings(procedure.goal)[0])
        yield Slot(normalize_key(pattern), pattern, {"pattern": pattern})


_KNOWN: frozenset[State] = frozenset(("active", "superseded"))
_PROPOSED: frozenset[State] = frozenset(("active", "superseded", "pending", "rejected"))
TYPES: dict[str, ProjectionType] = {
    PROFILE: ProjectionType(kinds=frozenset(("semantic",)), states=_KNOWN, find_slots=project_profile),
    EPISODE: ProjectionType(
        kinds=frozenset(("semantic", "episodic")), states=_KNOWN, find_slots=project_episode, is_dated=True
    ),
    SKILL: ProjectionType(kinds=frozenset(("procedural",)), states=_PROPOSED, find_slots=project_skill),
    FAILURES: ProjectionType(kinds=frozenset(("procedural",)), states=_KNOWN, find_slots=project_failures),
    PATTERN: ProjectionType(kinds=frozenset(("procedural",)), states=_KNOWN, find_slots=project_pattern),
}


def project_memory(memory: StoredMemory) -> list[Projection]:
    """Return what a memory says in its slots, as if no other memory said anything there: each slot once. One that is
    found in a project or a session alone says nothing of the user everywhere."""
    if memory.reach != "user":
        return []
    slots = {
        (name, slot.key[:_KEY_CHARS]): slot
        for name, type_ in TYPES.items()
        if memory.kind in type_.kinds and memory.state in type_.states and (memory.event_time or not type_.is_dated)
        for slot in type_.find_slots(memory)
    }
    return [
        Projection(
            id=uuid5(memory.id, f"{name}\x1f{key}"),
            type=name,
            key=key,
            memory=memory.id,
            status=memory.state,  # type: ignore[arg-type]  # a state in which the type counts it
            title=slot.title,
            data=slot.data,
            category=memory.category,
            trust=memory.trust,
            memories=(memory.id,),
            rev=memory.rev,
            at=memory.updated_at,
            superseded_by=memory.superseded_by,
        )
        for (name, key), slot in slots.items()
    ]
