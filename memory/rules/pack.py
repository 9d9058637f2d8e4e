"""Packing: as many hits as the token budget holds, counted on the payload as it will be rendered."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

from muniment.memory.records import Hit, Omission
from muniment.memory.rules import tokens

_JOINT = 1  # token between two hits: a comma or a line end
Rendered = Callable[[Sequence[Hit]], str]


def pack(hits: Sequence[Hit], *, top_k: int, budget: int, rendered: Rendered) -> tuple[list[Hit], int, list[Omission]]:
    """Hits in order until `top_k` or the budget is reached; the tokens of the payload; what did not fit.

    A hit that is too long for what is left does not end the packing: a shorter one behind it may still fit."""
    kept: list[Hit] = []
    left: list[Omission] = []
    empty = spent = tokens.count(rendered(()))
    for hit in hits:
        if len(kept) >= top_k:
            left.append(Omission(id=hit.memory.id, reason="beyond top_k", score=hit.score))
            continue
        cost = spent + tokens.count(rendered((hit,))) - empty + _JOINT
        if cost > budget:
            left.append(Omission(id=hit.memory.id, reason="over budget", score=hit.score))
            continue
        kept.append(hit)
        spent = cost
    return kept, tokens.count(rendered(kept)), left


def as_json(payload: object) -> str:
    """The payload as it goes over the wire."""
    return json.dumps(payload, ensure_ascii=False, separators=(", ", ": "))
