"""The neighbours of a candidate after changes that the store does not have yet: those of writes of the same group."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from muniment.memory.domain.memory import Neighbour, StoredMemory
from muniment.memory.domain.plan import Change
from muniment.memory.domain.search import NeighbourProbe

_ROUNDING = 1e-3  # the store compares vectors of half precision
_MAX_KEYED = 200  # neighbours by their key: of more the store lists the latest


def update_neighbours(
    probe: NeighbourProbe, neighbours: Sequence[Neighbour], earlier: Sequence[Change], most: int
) -> tuple[Neighbour, ...] | None:
    """Return the neighbours of a probe as the store would list them after the `earlier` changes: those with the key or
    the attribute, and the `most` closest by cosine. None where only the store can tell, as when one of them changes."""
    current = tuple(neighbours)
    for change in earlier:
        memory = change.after
        if memory.kind != probe.kind or memory.place != probe.place:
            continue
        if any(each.memory.id == memory.id for each in current):
            return None
        if memory.state != "active":
            continue
        updated = _add_neighbour(probe, current, change, most)
        if updated is None:
            return None
        current = updated
    return current


def _add_neighbour(
    probe: NeighbourProbe, current: tuple[Neighbour, ...], change: Change, most: int
) -> tuple[Neighbour, ...] | None:
    """Return the neighbours with the memory of a change among them, where it is near; None where that is unknown."""
    memory = change.after
    is_keyed = _shares_key(probe, memory)
    if change.vector is None:  # it is as near as before
        return None if is_keyed else current
    sim = float(probe.vector @ change.vector)
    close = sorted((each for each in current if each.sim != 0.0), key=lambda each: -each.sim)[:most]
    farthest = close[-1] if len(close) == most else None
    is_close = farthest is None or sim > farthest.sim
    if farthest is not None and abs(sim - farthest.sim) <= _ROUNDING:
        return None
    if not is_close and not is_keyed:
        return current
    if len(current) >= _MAX_KEYED or any(_has_same_key(probe, each.memory) for each in current):
        return None  # the cosine of one with the same key is not known
    rest = list(current)
    if is_close and farthest is not None:
        rest.remove(farthest)
        if _shares_key(probe, farthest.memory):
            rest.append(replace(farthest, sim=0.0))
    new = Neighbour(memory=memory, sim=1.0 if _has_same_key(probe, memory) else sim if is_close else 0.0)
    return tuple(sorted((*rest, new), key=lambda each: -each.sim))


def _has_same_key(probe: NeighbourProbe, memory: StoredMemory) -> bool:
    return probe.stable_key is not None and memory.stable_key == probe.stable_key


def _shares_key(probe: NeighbourProbe, memory: StoredMemory) -> bool:
    """Whether the store finds the memory by the probe's key or attribute."""
    if memory.stable_key is None:
        return False
    is_of_attribute = probe.attribute is not None and memory.stable_key.startswith(probe.attribute)
    return is_of_attribute or memory.stable_key == probe.stable_key
