"""What a list of memories is asked for, and what comes of it: a page."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import get_args

from muniment.memory.records import Kind, Memory, Revision, State, Trust

KINDS: tuple[Kind, ...] = get_args(Kind)
STATES: tuple[State, ...] = get_args(State)
TRUSTS: tuple[Trust, ...] = get_args(Trust)


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """Which memories to list, newest change first; applied in SQL. None, and nothing named, is no narrowing."""

    categories: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    trusts: tuple[str, ...] = ()
    states: tuple[str, ...] = ("active",)
    pinned: bool | None = None
    tag: str | None = None
    since: datetime | None = None  # changed then or later
    until: datetime | None = None  # changed then or earlier
    contains: str | None = None  # in the text, whatever the case
    beginning: str | None = None  # of the id
    limit: int = 100
    offset: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """Some of the memories that were asked for, how many there are in all, and the revision that was read."""

    memories: tuple[Memory, ...]
    total: int
    rev: Revision
