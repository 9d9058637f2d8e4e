"""The curated files as a run sees them: read once, and the same text for the same files."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from muniment.agent.curated.calls import Target
from muniment.agent.curated.entries import BETWEEN
from muniment.agent.curated.screening import ScreenedEntry

_SHOWN_LIMITS = 4  # of a file far over its limit a model is shown the first entries, so many times the limit at most
_ABOUT = {"memory": "What the agent has noted.", "user": "What the agent knows about the user."}
_FENCE = re.compile("`{3,}")


@dataclass(frozen=True, slots=True, kw_only=True)
class FileSnapshot:
    """One file: its entries as they stand in it and are shown, its characters and their limit. `problem` says why it
    could not be read, or what of it is not shown."""

    target: Target
    limit: int
    used: int = 0
    entries: tuple[ScreenedEntry, ...] = ()
    problem: str = ""

    @property
    def header(self) -> str:
        """How full the file is, on one line."""
        over = ", over the limit: remove or shorten entries" if self.used > self.limit else ""
        return f"{self.target.upper()} ({self.used:,} of {self.limit:,} characters{over})"

    def render_block(self) -> str:
        """Return the file as a prompt shows it: header, what it is, and the entries in a fence that none can close."""
        lines = [self.header, _ABOUT[self.target]]
        if self.problem:
            lines.append(f"({self.problem})")
        if self.entries:
            text = BETWEEN.join(entry.shown for entry in self.entries)
            fence = "`" * max(3, *(len(run) + 1 for run in ["", *_FENCE.findall(text)]))
            lines += [fence, text, fence]
        return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class CuratedSnapshot:
    """Both files as they were when a run began. What the tool writes during the run is not in it."""

    memory: FileSnapshot
    user: FileSnapshot

    @property
    def prompt(self) -> str:
        """The two blocks for a system prompt."""
        return f"{self.memory.render_block()}\n\n{self.user.render_block()}"


def count_shown(texts: Sequence[str], limit: int) -> int:
    """Return how many of the first entries are shown: all, unless the file is far over its limit."""
    most, chars = _SHOWN_LIMITS * limit, 0
    for number, text in enumerate(texts):
        chars += len(text)
        if chars > most:
            return number
        chars += len(BETWEEN)
    return len(texts)
