"""When which texts were put before a model, by the hashes of the word sequences that were."""

from __future__ import annotations

from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from uuid import UUID

from muniment.memory.rules.provenance.quoted import hash_shingles


class RecallIndex:
    """Texts of memories, each found in the word sequences of a turn that has all of its own.

    A text is looked for by the sequence that it shares with the fewest others, so that a turn costs what it has and
    finds, and not what there is. A number of 63 bits takes eight bytes."""

    def __init__(self) -> None:
        self._texts: list[tuple[UUID, array[int]]] = []
        self._frequencies: Counter[int] = Counter()
        self._rarest: dict[int, list[int]] | None = None

    def add_text(self, memory: UUID, text: str) -> None:
        """Add what a memory says or has said. A text without a word is in everything, and is left out."""
        if hashes := hash_shingles([text]):
            self._texts.append((memory, array("q", hashes)))
            self._frequencies.update(hashes)
            self._rarest = None

    def find_memories(self, recalled: Iterable[int]) -> Iterator[UUID]:
        """Yield each memory once of which a text is among these hashes."""
        if self._rarest is None:
            self._rarest = self._choose_rarest()
        shown = frozenset(recalled)
        found: set[UUID] = set()
        for hashed in shown:
            for place in self._rarest.get(hashed, ()):
                memory, hashes = self._texts[place]
                if memory not in found and shown.issuperset(hashes):
                    found.add(memory)
                    yield memory

    def _choose_rarest(self) -> dict[int, list[int]]:
        chosen: defaultdict[int, list[int]] = defaultdict(list)
        for place, (_, hashes) in enumerate(self._texts):
            chosen[min(hashes, key=self._frequencies.__getitem__)].append(place)
        return dict(chosen)
