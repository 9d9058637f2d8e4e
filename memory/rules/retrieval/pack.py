"""Packing: as many hits as the token budget holds, counted on the payload as it will be rendered."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence

from muniment.memory.domain.query import Hit, Omission
from muniment.memory.rules.retrieval import token_count

JOINT_TOKENS = 1  # token between two hits: a comma or a line end
_MAX_TRIES = 4  # hits behind one that is too long that may still fit: the further behind, the less they say
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
    """Hits in order until `top_k` or the budget is reached; the tokens of the payload; what was left out on the way, or
    all that was left out (`to_the_end`).

    `piece` renders one hit as the `whole` payload has it. A hit that is too long for what is left does not end the
    packing: a shorter one not far behind may still fit."""
    kept: list[Hit] = []
    left: list[Omission] = []
    spent, tries = token_count.count_tokens(render_payload(())), _MAX_TRIES
    for one in ranked_hits:
        if isinstance(one, Omission):
            left.append(one)
        elif len(kept) >= top_k:
            left.append(Omission(id=one.memory.id, reason="beyond top_k", score=one.score))
        elif (
            not tries
            or (cost := token_count.count_tokens_within(render_hit(one), budget - spent - JOINT_TOKENS)) is None
        ):
            tries = max(0, tries - 1)
            left.append(Omission(id=one.memory.id, reason="over budget", score=one.score))
        else:
            kept.append(one)
            spent += cost + JOINT_TOKENS
        if (len(kept) >= top_k or not tries) and not collect_all:
            break
    while kept and (spent := token_count.count_tokens(render_payload(kept))) > budget:
        left.append(Omission(id=kept[-1].memory.id, reason="over budget", score=kept.pop().score))
    return kept, spent if kept else token_count.count_tokens(render_payload(())), left


def encode_payload(payload: object) -> str:
    """The payload as it goes over the wire."""
    return _ENCODER.encode(payload)
