"""The budget gate: which of the items that were found are put before the model, so that a turn stays within its cap."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from muniment.memory.config.plugin import GateSettings
from muniment.memory.rules.retrieval.render import count_tokens
from muniment.plugin.domain.item import MemoryHit

LOW_SCORE = "low score"
OVER_TOKENS = "over the token budget"
OVER_ITEMS = "over the number of items"


@dataclass(frozen=True, slots=True, kw_only=True)
class PackedHits:
    """The hits that are shown, the pinned ones first and each part in the order in which it came, the tokens of their
    block as it is rendered, and why each of the others is left out, by the item's id."""

    hits: tuple[MemoryHit, ...] = ()
    tokens: int = 0
    refused: tuple[tuple[str, str], ...] = ()


def pack_hits(
    ranked: Sequence[MemoryHit],
    gates: GateSettings,
    render_block: Callable[[Sequence[MemoryHit]], str],
    count: Callable[[str], int] = count_tokens,
) -> PackedHits:
    """Return as many of the hits, best first, as fit: at most `gates.items`, and at most `gates.tokens` in all.

    `render_block` renders hits with everything around them, and nothing as an empty text. A hit that is too long does
    not end the packing, for a shorter one may still fit. What a person has pinned needs no score."""
    packed: list[MemoryHit] = []
    refused: list[tuple[str, str]] = []
    tokens = 0
    for hit in sorted(ranked, key=lambda hit: not hit.item.pinned):  # a stable order
        if hit.score < gates.min_score and not hit.item.pinned:
            refused.append((hit.item.id, LOW_SCORE))
        elif len(packed) >= gates.items:
            refused.append((hit.item.id, OVER_ITEMS))
        elif (spent := count(render_block((*packed, hit)))) > gates.tokens:
            refused.append((hit.item.id, OVER_TOKENS))
        else:
            packed.append(hit)
            tokens = spent
    return PackedHits(hits=tuple(packed), tokens=tokens, refused=tuple(refused))
