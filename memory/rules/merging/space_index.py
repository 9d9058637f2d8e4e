"""The active memories of a space at one revision, by their vectors and keys: those near a candidate without a query.
What a resource states is not among them: it becomes no part of another memory.

It ranks as `muniment.near` in the database does. Only what it ranks is held in whole."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias, cast

import numpy as np

from muniment.memory.domain.ids import NO_VECTOR, MemoryId, Revision, Vector
from muniment.memory.domain.memory import Kind, Neighbour, StoredMemory
from muniment.memory.domain.plan import Change
from muniment.memory.domain.search import NeighbourProbe, PackedMemories

_MAX_KEYED = 200  # neighbours by their key: of more the latest are listed
_MIN_ROWS = 256  # of the vectors of a kind that memory is allocated for

_Group: TypeAlias = tuple[Kind, str | None]  # a kind and a place
Ranking = Sequence[tuple[MemoryId, float]]  # the closest first, each with its similarity


class SpaceIndex:
    """The memories of a space at a revision, by kind and place."""

    def __init__(self, packed: PackedMemories) -> None:
        self.rev = packed.rev
        self._memories: dict[MemoryId, StoredMemory] = {}
        vectors, rows = _normalize_rows(packed.vectors), iter(range(len(packed.vectors)))
        found: defaultdict[_Group, _KindIndex] = defaultdict(_KindIndex)
        used: defaultdict[_Group, list[int]] = defaultdict(list)  # the rows of the vectors of a kind at a place
        groups = zip(packed.kinds, packed.places, strict=True)
        each_memory = zip(packed.ids, groups, packed.revs, packed.stable_keys, packed.has_vector, strict=True)
        for id_, group, rev, key, has_vector in each_memory:
            index = found[group]
            if key is not None:
                index.keys[id_] = key, rev
            if has_vector:
                index.places[id_] = len(index.ids)
                index.ids.append(id_)
                used[group].append(next(rows))
        for group, own in used.items():
            found[group].vectors = vectors[own]
        self._kinds = found

    def rank_neighbours(self, probe: NeighbourProbe, most: int) -> Ranking:
        """Return the memories of the probe's kind and place that share its key or its attribute, and the `most` closest
        by cosine.

        The similarity of one with the same key is 1.0, that of one which only its attribute finds 0.0."""
        return self._kinds[probe.kind, probe.place].rank_neighbours(probe, most)

    def list_missing(self, rankings: Iterable[Ranking]) -> list[MemoryId]:
        """Return the ids in these rankings whose memories are not held yet."""
        return list({id_ for ranking in rankings for id_, _ in ranking if id_ not in self._memories})

    def hold_memories(self, memories: Iterable[StoredMemory]) -> None:
        """Hold memories as they are at the revision of the index."""
        self._memories.update((memory.id, memory) for memory in memories)

    def build_neighbours(self, ranking: Ranking) -> tuple[Neighbour, ...]:
        """Return the neighbours of a ranking, whose memories are all held."""
        return tuple(Neighbour(memory=self._memories[id_], sim=sim) for id_, sim in ranking)

    def apply_changes(self, rev: Revision, changes: Sequence[Change]) -> bool:
        """Change the index as the changes that lead to revision `rev` do. Returns False where it can be used no more:
        the changes do not follow on its revision, or do not say what the vectors are."""
        if self.rev != rev - len(changes) or any(change.vector is NO_VECTOR for change in changes):
            return False
        self.rev = rev
        for change in changes:
            memory, kind = change.after, self._kinds[change.after.kind, change.after.place]
            self._memories.pop(memory.id, None)
            if memory.state != "active" or memory.is_of_resource:
                kind.remove_memory(memory.id)
                continue
            if change.vector is None and memory.id not in kind.places:
                return False
            kind.add_memory(memory.id, memory.rev, memory.stable_key, change.vector)
            self._memories[memory.id] = memory
        return True


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldSpace:
    """What is held of a space for an embedding model, until a monotonic time; no index of a space that is too large."""

    model: str
    index: SpaceIndex | None
    until: float


@dataclass(slots=True)
class _KindIndex:
    """The memories of one kind at one place. A row of `vectors` is that of the id with its number; the rows beyond the
    ids are free."""

    ids: list[MemoryId] = field(default_factory=list)
    places: dict[MemoryId, int] = field(default_factory=dict)
    keys: dict[MemoryId, tuple[str, int]] = field(default_factory=dict)  # of those with a key: it, and the revision
    vectors: Vector = field(default_factory=lambda: np.empty((0, 0), dtype=np.float32))

    def add_memory(self, id_: MemoryId, rev: int, key: str | None, vector: Vector | None) -> None:
        """Add a memory, or replace it. Without a `vector` it keeps the one that it has."""
        self.keys.pop(id_, None)
        if key is not None:
            self.keys[id_] = key, rev
        if vector is None:
            return
        place = self.places.setdefault(id_, len(self.ids))
        if place == len(self.ids):
            self.ids.append(id_)
        if place >= len(self.vectors):
            rows = np.empty((max(_MIN_ROWS, 2 * place), len(vector)), dtype=np.float32)
            rows[:place] = self.vectors[:place] if place else rows[:0]
            self.vectors = rows
        self.vectors[place] = _round_vector(vector)

    def remove_memory(self, id_: MemoryId) -> None:
        """Remove a memory, if it is there; the last one takes its place."""
        self.keys.pop(id_, None)
        if (place := self.places.pop(id_, None)) is None:
            return
        last = self.ids.pop()
        if last != id_:
            self.ids[place], self.places[last] = last, place
            self.vectors[place] = self.vectors[len(self.ids)]

    def rank_neighbours(self, probe: NeighbourProbe, most: int) -> Ranking:
        """Return what is near a probe by its key, its attribute and its vector, the closest first."""
        same, keyed = self._list_keyed(probe)
        ranked = dict.fromkeys((*same, *keyed)[:_MAX_KEYED], 0.0) | dict(self._list_closest(probe.vector, most))
        return sorted((ranked | dict.fromkeys(same, 1.0)).items(), key=lambda each: -each[1])

    def _list_keyed(self, probe: NeighbourProbe) -> tuple[list[MemoryId], list[MemoryId]]:
        """Return the memories with the probe's key, and those that share its attribute alone, the latest first."""
        if probe.stable_key is None and probe.attribute is None:
            return [], []
        key, start = probe.stable_key, probe.attribute
        same = [id_ for id_, (own, _) in self.keys.items() if own == key]
        if start is None:
            return same, []
        found = [(rev, id_) for id_, (own, rev) in self.keys.items() if own.startswith(start) and own != key]
        return same, [id_ for _, id_ in sorted(found, key=lambda each: -each[0])]

    def _list_closest(self, vector: Vector, most: int) -> list[tuple[MemoryId, float]]:
        if not self.ids:
            return []
        # The threads of a product by BLAS would wait for each other longer than the product takes.
        sims = np.einsum("ij,j->i", self.vectors[: len(self.ids)], _round_vector(vector))
        least = np.partition(sims, -most)[-most] if len(sims) > most else -np.inf
        close = np.flatnonzero(sims >= least)  # those as near as the last one, too: their ids decide
        ranked = [(self.ids[place], float(sims[place])) for place in close]
        return sorted(ranked, key=lambda each: (-each[1], each[0].int))[:most]


def _round_vector(vector: Vector) -> Vector:
    """Return the vector of length 1 that the database compares: it holds numbers of half precision."""
    [rounded] = _normalize_rows(vector[np.newaxis].astype(np.float16).astype(np.float32))
    return cast("Vector", rounded)


def _normalize_rows(vectors: Vector) -> Vector:
    """Return the rows with length 1; one of zeros stays."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return (vectors / np.where(lengths, lengths, 1)).astype(np.float32, copy=False)
