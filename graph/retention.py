"""Which checkpoints of a thread stay."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

CheckpointKey: TypeAlias = tuple[str, str]  # namespace, id


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointRow:
    """A checkpoint, as far as it matters for what may go."""

    ns: str
    id: str  # ordered by time
    parent: str | None = None
    root: str | None = None  # of a subgraph's: the checkpoint of the whole graph that its call started from
    at: str = ""
    old: bool = False  # of a former format: what it sends is written down with its parent
    leans: bool = False  # values of it are only in what its ancestors' nodes wrote, back to a snapshot

    @property
    def key(self) -> CheckpointKey:
        return self.ns, self.id


def select_retained(points: Sequence[CheckpointRow], keep: int) -> set[CheckpointKey]:
    """The newest so many of each namespace, what belongs to them in the namespaces of subgraphs, and whatever any of them
    cannot be read without."""
    spaces: dict[str, list[CheckpointRow]] = defaultdict(list)
    for point in sorted(points, key=lambda one: one.id, reverse=True):
        spaces[point.ns].append(point)
    roots = {point.id for point in spaces.get("", ())[:keep]}
    chosen: set[CheckpointKey] = {("", id_) for id_ in roots}
    for ns, inside in spaces.items():
        if ns and not (_is_subgraph_call(ns) and _is_call_finished(inside[0], spaces.get("", ()), roots)):
            chosen |= {point.key for point in [*inside[:keep], *_select_last_per_root(inside, roots)]}
    return _add_ancestors(chosen, points)


def _is_subgraph_call(ns: str) -> bool:
    """A namespace of one call of a subgraph has the task's id in it; one of a subgraph with a state of its own lasts."""
    return ":" in ns


def _is_call_finished(last: CheckpointRow, whole: Sequence[CheckpointRow], roots: set[str]) -> bool:
    """Whether what a call started from goes or is gone. It may also not be there yet: runs save in the background."""
    if last.root is None or last.root in roots or not roots:
        return False
    return last.root < min(roots) or any(point.id == last.root for point in whole)


def _select_last_per_root(inside: Iterable[CheckpointRow], roots: set[str]) -> list[CheckpointRow]:
    """Of checkpoints, newest first, the last one under each of these roots."""
    last: dict[str, CheckpointRow] = {}
    for point in inside:
        if point.root in roots:
            last.setdefault(point.root or "", point)
    return list(last.values())


def _add_ancestors(chosen: set[CheckpointKey], points: Sequence[CheckpointRow]) -> set[CheckpointKey]:
    by_key = {point.key: point for point in points}
    keys = set(chosen)
    for place in chosen:
        point = by_key[place]
        above = (point.ns, point.parent or "")
        if point.old and above in by_key:
            keys.add(above)
    waiting = list(keys)
    while waiting:
        point = by_key[waiting.pop()]
        above = (point.ns, point.parent or "")
        if point.leans and above in by_key and above not in keys:
            keys.add(above)
            waiting.append(above)
    return keys
