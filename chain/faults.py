"""What is said of a hook that did not do its work: which, how and where, never a text of a message."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePath
from traceback import walk_tb
from typing import Literal, TypeAlias

HookName: TypeAlias = Literal["before_prompt", "on_tool_result", "after_prompt", "before_compact"]
FaultKind: TypeAlias = Literal["failed", "late", "dropped"]


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultReport:
    """A hook that failed, was late, or whose work was dropped unstarted because too much waited."""

    hook: HookName
    kind: FaultKind
    turn_id: str
    session: str
    middleware: str | None = None  # its name; None where the work of a whole turn was dropped
    seconds: float | None = None  # the limit of one that was late
    error: str | None = None  # the class of what was raised
    place: str | None = None  # file and line of what was raised


def find_place(error: BaseException) -> str | None:
    """Return file and line of where an error was raised, such as `store.py:120`; None for one that never was."""
    steps = list(walk_tb(error.__traceback__))
    if not steps:
        return None
    frame, line = steps[-1]
    return f"{PurePath(frame.f_code.co_filename).name}:{line}"
