"""The turns that a memory comes from, in their place in the conversation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from muniment.memory.domain.ids import TurnId
from muniment.memory.domain.turn import Passage, Turn


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """Turns of a conversation one after the other; `sources` are the ids of those that a memory comes from."""

    turns: tuple[Turn, ...]
    sources: frozenset[TurnId]

    @property
    def last_source(self) -> Turn:
        """Return the latest of the turns that a memory comes from."""
        return next(turn for turn in reversed(self.turns) if turn.id in self.sources)


def join_passages(passages: Sequence[Passage]) -> list[Stretch]:
    """Return the passages, latest first, where those that share a turn are one."""
    stretches: list[Stretch] = []
    for passage in sorted(passages, key=lambda each: each.turn.at):
        known = {turn.id for turn in stretches[-1].turns} if stretches else set()
        fresh = tuple(turn for turn in passage.turns if turn.id not in known)
        sources = frozenset({passage.turn.id})
        if len(fresh) < len(passage.turns):
            last = stretches.pop()
            stretches.append(Stretch(turns=last.turns + fresh, sources=last.sources | sources))
        else:
            stretches.append(Stretch(turns=fresh, sources=sources))
    return stretches[::-1]
