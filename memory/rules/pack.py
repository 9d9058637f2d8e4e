"""Packing: as many hits as the token budget holds, counted on the payload as it will be rendered."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence

from muniment.memory.records import Hit, Omission
from muniment.memory.rules import tokens

_JOINT = 1  # token between two hits: a comma or a line end
Rendered = Callable[[Sequence[Hit]], str]


def pack(
    judged: Iterable[Hit | Omission], *, top_k: int, budget: int, rendered: Rendered, to_the_end: bool = False
) -> tuple[list[Hit], int, list[Omission]]:
    """Hits in order until `top_k` or the budget is reached; the tokens of the payload; what was left out on the way, or
    all that was left out (`to_the_end`).

    A hit that is too long for what is left does not end the packing: a shorter one behind it may still fit."""
    kept: list[Hit] = []
    left: list[Omission] = []
    empty = spent = tokens.count(rendered(()))
    for one in judged:
        if isinstance(one, Omission):
            left.append(one)
        elif len(kept) >= top_k:
            left.append(Omission(id=one.memory.id, reason="beyond top_k", score=one.score))
        elif (cost := tokens.count(rendered((one,))) - empty + _JOINT) > budget - spent:
            left.append(Omission(id=one.memory.id, reason="over budget", score=one.score))
        else:
            kept.append(one)
            spent += cost
        if len(kept) >= top_k and not to_the_end:
            break
    return kept, tokens.count(rendered(kept)), left


def as_json(payload: object) -> str:
    """The payload as it goes over the wire."""
    return json.dumps(payload, ensure_ascii=False, separators=(", ", ": "))
