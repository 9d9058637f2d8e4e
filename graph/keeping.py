"""Which checkpoints of a thread stay."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

Place: TypeAlias = tuple[str, str]  # namespace, id


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """A checkpoint, as far as it matters for what may go."""

    ns: str
    id: str  # ordered by time
    parent: str | None = None
    root: str | None = None  # of a subgraph's: the checkpoint of the whole graph that its call started from
    at: str = ""
    old: bool = False  # of a former format: what it sends is written down with its parent
    leans: bool = False  # values of it are only in what its ancestors' nodes wrote, back to a snapshot

    @property
    def place(self) -> Place:
        return self.ns, self.id


def kept(points: Sequence[Point], newest: int) -> set[Place]:
    """The newest so many of each namespace, what belongs to them in the namespaces of subgraphs, and whatever any of them
    cannot be read without."""
    spaces: dict[str, list[Point]] = defaultdict(list)
    for point in sorted(points, key=lambda one: one.id, reverse=True):
        spaces[point.ns].append(point)
    roots = {point.id for point in spaces.get("", ())[:newest]}
    chosen: set[Place] = {("", id_) for id_ in roots}
    for ns, inside in spaces.items():
        if ns and not (_is_call(ns) and _is_over(inside[0], spaces.get("", ()), roots)):
            chosen |= {point.place for point in [*inside[:newest], *_last_of_each(inside, roots)]}
    return _with_ancestors(chosen, points)


def _is_call(ns: str) -> bool:
    """A namespace of one call of a subgraph has the task's id in it; one of a subgraph with a state of its own lasts."""
    return ":" in ns


def _is_over(last: Point, whole: Sequence[Point], roots: set[str]) -> bool:
    """Whether what a call started from goes or is gone. It may also not be there yet: runs save in the background."""
    if last.root is None or last.root in roots or not roots:
        return False
    return last.root < min(roots) or any(point.id == last.root for point in whole)


def _last_of_each(inside: Iterable[Point], roots: set[str]) -> list[Point]:
    """Of checkpoints, newest first, the last one under each of these roots."""
    found: dict[str, Point] = {}
    for point in inside:
        if point.root in roots:
            found.setdefault(point.root or "", point)
    return list(found.values())


def _with_ancestors(chosen: set[Place], points: Sequence[Point]) -> set[Place]:
    by_place = {point.place: point for point in points}
    found = set(chosen)
    for place in chosen:
        point = by_place[place]
        above = (point.ns, point.parent or "")
        if point.old and above in by_place:
            found.add(above)
    waiting = list(found)
    while waiting:
        point = by_place[waiting.pop()]
        above = (point.ns, point.parent or "")
        if point.leans and above in by_place and above not in found:
            found.add(above)
            waiting.append(above)
    return found
