"""Packing: as many hits as fit into the token budget, counted on the rendered payload."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence

from muniment.memory.domain.query import Hit, Omission
from muniment.memory.rules.retrieval import token_count

JOINT_TOKENS = 1  # between two hits: a comma or a line end
_MAX_TRIES = 4  # hits that may be over budget; a later hit that fits has a lower score
_ENCODER = json.JSONEncoder(ensure_ascii=False)
RenderPayload = Callable[[Sequence[Hit]], str]
RenderHit = Callable[[Hit], str]


def pack_hits(
    ranked_hits: Iterable[Hit | Omission],
    *,
    top_k: int,
    budget: int,
    render_hit: RenderHit,
    render_payload: RenderPayload,
    collect_all: bool = False,
) -> tuple[list[Hit], int, list[Omission]]:
    """Return the packed hits, the tokens of their payload, and the omissions.

    Packing ends at `top_k` hits or when the budget is full; with `collect_all` the omissions go to the end of the list.
    `render_hit` renders a hit as `render_payload` does. A hit that is too long does not end the packing: a shorter one
    soon after it may still fit."""
    packed: list[Hit] = []
    omissions: list[Omission] = []
    empty = token_count.count_tokens(render_payload(()))
    spent, tries = empty, _MAX_TRIES
    for hit in ranked_hits:
        if isinstance(hit, Omission):
            omissions.append(hit)
        elif len(packed) >= top_k:
            omissions.append(Omission(id=hit.memory.id, reason="beyond top_k", score=hit.score))
        elif not tries or (cost := token_count.count_tokens(render_hit(hit)) + JOINT_TOKENS) > budget - spent:
            tries = max(0, tries - 1)
            omissions.append(Omission(id=hit.memory.id, reason="over budget", score=hit.score))
        else:
            packed.append(hit)
            spent += cost
        if (len(packed) >= top_k or not tries) and not collect_all:
            break
    while packed and (spent := token_count.count_tokens(render_payload(packed))) > budget:
        omissions.append(Omission(id=packed[-1].memory.id, reason="over budget", score=packed.pop().score))
    return packed, spent if packed else empty, omissions


def encode_payload(payload: object) -> str:
    """Return the payload as JSON, with characters outside ASCII unescaped."""
    return _ENCODER.encode(payload)
