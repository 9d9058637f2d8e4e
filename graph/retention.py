"""The checkpoints of a thread that pruning keeps."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

CheckpointKey: TypeAlias = tuple[str, str]  # namespace, id


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointRow:
    """The fields of a checkpoint by which pruning decides."""

    ns: str
    id: str  # ordered by time
    parent: str | None = None
    root: str | None = None  # of a subgraph's checkpoint: that of the whole graph from which its call started
    at: str = ""
    old: bool = False  # of a former format: its `Send` packets are stored with its parent
    leans: bool = False  # some values are only in the writes of its ancestors, back to a snapshot

    @property
    def key(self) -> CheckpointKey:
        """Namespace and id."""
        return self.ns, self.id


def select_retained(points: Sequence[CheckpointRow], keep: int) -> set[CheckpointKey]:
    """The newest `keep` of each namespace, those of subgraphs that belong to them, and the ancestors that they need."""
    spaces: dict[str, list[CheckpointRow]] = defaultdict(list)
    for point in sorted(points, key=lambda point: point.id, reverse=True):
        spaces[point.ns].append(point)
    roots = {point.id for point in spaces.get("", ())[:keep]}
    chosen: set[CheckpointKey] = {("", id_) for id_ in roots}
    for ns, inside in spaces.items():
        if ns and not (_is_subgraph_call(ns) and _is_call_finished(inside[0], spaces.get("", ()), roots)):
            chosen |= {point.key for point in [*inside[:keep], *_select_last_per_root(inside, roots)]}
    return _add_ancestors(chosen, points)


def _is_subgraph_call(ns: str) -> bool:
    """Whether a namespace is of one call of a subgraph, with the task's id in it; of one with state it lasts."""
    return ":" in ns


def _is_call_finished(last: CheckpointRow, whole: Sequence[CheckpointRow], roots: set[str]) -> bool:
    """Whether the root of a call goes or is gone. It may also come later, since runs save in the background."""
    if last.root is None or last.root in roots or not roots:
        return False
    return last.root < min(roots) or any(point.id == last.root for point in whole)


def _select_last_per_root(inside: Iterable[CheckpointRow], roots: set[str]) -> list[CheckpointRow]:
    """The last checkpoint under each of these roots; `inside` is sorted, newest first."""
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
