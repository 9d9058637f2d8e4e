"""A query that names several people or things: the hits of each get their share of the answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence

from muniment.memory.domain.memory import StoredMemory
from muniment.memory.rules.language import tokens


def share_places(
    hits: Sequence[tuple[StoredMemory, float]], names: Collection[str], best: float
) -> tuple[list[int], list[float]]:
    """Return the order in which the hits of each name come by turns, and for each hit the relevance beside which it is
    judged. A hit is a memory with its relevance, the best one first; `names` are terms, `best` is the best relevance.

    Otherwise the hits of the name that the query is nearest to would take all places, and those of the others be far
    below the best. A hit of several names is judged beside the least of their best ones. Hits without a name keep their
    places, and nothing changes where all hits have the same names."""
    found = [_find_names(memory, names) for memory, _ in hits]
    if len(set(filter(None, found))) < 2:
        return list(range(len(hits))), [best] * len(hits)
    counts: Counter[str] = Counter()
    turns: list[int] = []
    best_of: dict[str, float] = {}
    for place, ((_, relevance), named) in enumerate(zip(hits, found, strict=True)):
        turns.append(min((counts[name] for name in named), default=place))
        counts.update(named)
        for name in named:
            best_of[name] = max(best_of.get(name, 0.0), relevance)
    order = sorted(range(len(hits)), key=turns.__getitem__)
    return order, [min((best_of[name] for name in named), default=best) for named in found]


def _find_names(memory: StoredMemory, names: Collection[str]) -> frozenset[str]:
    said = tokens.get_lexeme_set(memory.text) | tokens.get_lexeme_set(memory.actor_id or "")
    return frozenset(name for name in names if name in said)
