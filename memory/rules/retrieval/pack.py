"""Packing: as many hits as the token budget holds, counted on the payload as it will be rendered."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence

from muniment.memory.domain.query import Hit, Omission
from muniment.memory.rules.retrieval import token_count as tokens

JOINT = 1  # token between two hits: a comma or a line end
_TRIES = 4  # hits behind one that is too long that may still fit: the further behind, the less they say
_ENCODER = json.JSONEncoder(ensure_ascii=False)
Whole = Callable[[Sequence[Hit]], str]
Piece = Callable[[Hit], str]


def pack(
    judged: Iterable[Hit | Omission], *, top_k: int, budget: int, piece: Piece, whole: Whole, to_the_end: bool = False
) -> tuple[list[Hit], int, list[Omission]]:
    """Hits in order until `top_k` or the budget is reached; the tokens of the payload; what was left out on the way, or
    all that was left out (`to_the_end`).

    `piece` renders one hit as the `whole` payload has it. A hit that is too long for what is left does not end the
    packing: a shorter one not far behind may still fit."""
    kept: list[Hit] = []
    left: list[Omission] = []
    spent, tries = tokens.count(whole(())), _TRIES
    for one in judged:
        if isinstance(one, Omission):
            left.append(one)
        elif len(kept) >= top_k:
            left.append(Omission(id=one.memory.id, reason="beyond top_k", score=one.score))
        elif not tries or (cost := tokens.within(piece(one), budget - spent - JOINT)) is None:
            tries = max(0, tries - 1)
            left.append(Omission(id=one.memory.id, reason="over budget", score=one.score))
        else:
            kept.append(one)
            spent += cost + JOINT
        if (len(kept) >= top_k or not tries) and not to_the_end:
            break
    while kept and (spent := tokens.count(whole(kept))) > budget:
        left.append(Omission(id=kept[-1].memory.id, reason="over budget", score=kept.pop().score))
    return kept, spent if kept else tokens.count(whole(())), left


def as_json(payload: object) -> str:
    """The payload as it goes over the wire."""
    return _ENCODER.encode(payload)
