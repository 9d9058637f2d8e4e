"""Which remembered statements made a reply: what stood before a model, what is asked of it, and what is found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from muniment.memory.domain.ids import MemoryId, Revision
from muniment.memory.domain.memory import StoredMemory
from muniment.memory.domain.turn import Turn
from muniment.memory.errors import BadInput

StatementPart = Literal["stable", "header", "moving", "tool", "not shown"]
BisectOutcome = Literal["found", "unaided", "not reproduced", "not said", "not certain", "known", "none would do"]
MOST_RUNS = 20
_MAX_QUESTION_CHARS = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownStatement:
    """A statement that memory put before a model, by the place where it stood first: the lasting part, the header of
    changes, the part for this message, or what a tool has found; or one that it did not put there.

    `key` names it: the id of its memory, or its text for a field of the profile and for what has no memory any more."""

    key: str
    text: str
    part: StatementPart
    memory: MemoryId | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayedTurn:
    """A turn as it can be made again: the message, the reply that was recorded, the revision that was read, and the
    statements that stood before the model.

    `is_kept`: the thread keeps what stood there; otherwise it is what memory gives for the message as of `rev`. What
    else decides the reply, such as the model's name and the prompt, is in `digest`."""

    thread: str
    position: int  # of the message in its session
    message: str
    reply: str | None
    at: datetime
    rev: Revision
    shown: tuple[ShownStatement, ...]
    is_kept: bool
    digest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BisectRequest:
    """What is looked for in the replies: a pattern to `expect`, or a question for a model to `judge` them by.

    `runs` says how sure each decision has to be, for a model that answers the same differently; 1 takes it to be
    deterministic. `missing` asks what would have to be shown so that the reply has it. Raises BadInput."""

    expect: str | None = None
    judge: str | None = None
    runs: int = 1
    missing: bool = False

    def __post_init__(self) -> None:
        if (self.expect is None) == (self.judge is None):
            raise BadInput("expect, judge: exactly one of the two is wanted")
        if self.judge is not None and not 0 < len(self.judge.strip()) <= _MAX_QUESTION_CHARS:
            raise BadInput(f"judge: a question of 1 to {_MAX_QUESTION_CHARS:,} characters wanted")
        if not 1 <= self.runs <= MOST_RUNS:
            raise BadInput(f"runs: {self.runs} given, 1 to {MOST_RUNS} allowed")


class WentAnotherWay(Exception):
    """A reply called a tool as the recorded turn did not: what that tool would have said is not known, and no tool
    runs again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayAnswer:
    """A reply that was made with a subset of the statements, named by their numbers, and whether it has what is looked
    for. `attempt` counts the replies with the same subset from 0. One that `strayed` called a tool as the turn did not:
    it ends there and has nothing, and `reply` says which call it was."""

    subset: frozenset[int]
    attempt: int
    holds: bool
    reply: str
    strayed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """A statement of a minimal set, its memory as it is today, where there is one, and the turns that it comes from."""

    statement: ShownStatement
    memory: StoredMemory | None = None
    sources: Sequence[Turn] = ()
    reason: str = ""  # why it was not shown, where that was asked


@dataclass(frozen=True, slots=True, kw_only=True)
class Bisection:
    """What made a reply, or would have made it.

    Each of `sets` suffices by itself, and none of its statements can be left out; without all of them the property is
    gone. `reply_with` was made with the first set alone, `reply_without` without all of them. `replies` were needed, of
    which `reused` were made before, and `strayed` called a tool as the turn did not. Outcomes: `unaided`, the property
    is there without any statement; `not reproduced`, it is not there with all; `not said`, the recorded reply does not
    have it; `not certain`, the replies differ too much; and for what was not shown `known`, the reply has it as it is,
    and `none would do`."""

    outcome: BisectOutcome
    turn: ReplayedTurn
    request: BisectRequest
    candidates: tuple[ShownStatement, ...] = ()
    sets: tuple[tuple[Cause, ...], ...] = ()
    reply_with: str | None = None
    reply_without: str | None = None
    replies: int = 0
    reused: int = 0
    strayed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class BisectProgress:
    """How far a search has come by the answers that are kept: replies that were made, and the result once it is
    there."""

    replies: int
    result: Bisection | None = None
