"""Paths of work as observations: candidates of a skill."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from muniment.memory.domain.layers.observation import NewObservation, Observation, ObservationType
from muniment.memory.domain.plan import Change
from muniment.memory.domain.scope import normalize_key
from muniment.memory.rules.procedures.procedure import Procedure, render_procedure
from muniment.memory.rules.procedures.traces import SolutionPath, make_candidate

_OUTCOMES = {"ADD": "added", "UPDATE": "updated", "MERGE": "merged"}
_TYPE: ObservationType = "skill_proposal_candidate"


def limit_paths(paths: Iterable[SolutionPath], known: Sequence[Observation], most: int) -> list[SolutionPath]:
    """The paths, of each session with the `known` ones at most so many; what a person asked to keep does not count."""
    counts = Counter(each.session for each in known if each.type == _TYPE)
    kept = []
    for path in paths:
        if not path.is_requested:
            counts[path.session] += 1
        if path.is_requested or counts[path.session] <= most:
            kept.append(path)
    return kept


def observe_path(
    path: SolutionPath, procedure: Procedure, change: Change | None, *, found_by: str, reason: str
) -> NewObservation:
    """The observation of a path, with the memory that its change makes, or the reason why none does."""
    candidate, memory = make_candidate(path, procedure), change.after if change else None
    outcome = _OUTCOMES.get(change.action, change.action.lower()) if change else reason
    return NewObservation(
        type=_TYPE,
        stable_key=f"procedural|{normalize_key(procedure.goal)}",
        statement=render_procedure(procedure),
        category=candidate.category,
        confidence=candidate.confidence,
        importance=candidate.importance,
        trust=candidate.trust,
        turns=path.turns,
        found_by=found_by,
        memory=memory.id if memory else None,
        outcome="waiting" if memory and memory.state == "pending" else outcome,
    )
