"""Observations: what the rules or a model found in the turns of a session, and what came of each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, NewType, get_args
from uuid import UUID

from muniment.memory.domain.ids import MemoryId, Revision, TurnId
from muniment.memory.domain.memory import Fact, Trust

ObservationId = NewType("ObservationId", UUID)
ObservationType = Literal[
    "user_fact", "decision", "discovery", "rule", "constraint", "fix", "todo", "skill_proposal_candidate"
]
OBSERVATION_TYPES: tuple[ObservationType, ...] = get_args(ObservationType)
TYPE_OF_KIND: Mapping[str, ObservationType] = {  # what a fact of this kind is; of another kind it is a user fact
    name: name for name in OBSERVATION_TYPES if name not in ("user_fact", "skill_proposal_candidate")
}


@dataclass(frozen=True, slots=True, kw_only=True)
class NewObservation:
    """A find before it is stored. Its `stable_key` is the same in every session, whoever finds it.

    `memory` is the memory that came of it or that says it already. `outcome` is what came of it (added, updated,
    merged, known, waiting), or the reason why nothing did."""

    type: ObservationType
    stable_key: str
    statement: str
    category: str
    fact: Fact | None = None
    confidence: float = 1.0
    importance: int = 2
    trust: Trust = "user"
    turns: tuple[TurnId, ...] = ()
    found_by: str = "rules"  # or the version of the prompt
    memory: MemoryId | None = None
    outcome: str = "known"


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation(NewObservation):
    """A find as it is stored, with its session and the positions of its turns there."""

    id: ObservationId
    session: str | None
    positions: tuple[int, ...]
    rev: Revision
    at: datetime
