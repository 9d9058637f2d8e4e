"""Pairs of memories as a model is shown them, and its answer as judgements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, get_args

from muniment.memory.domain.consolidation import Judgement, Pair
from muniment.memory.domain.memory import Memory
from muniment.memory.rules.language.json_finder import find_json

VERDICTS: tuple[Judgement, ...] = get_args(Judgement)
ANSWER_SCHEMA: dict[str, Any] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["pairs"],
    "properties": {
        "pairs": {
            "type": "array",
            "items": {
                "type": "object",
                "additionalProperties": False,
                "required": ["pair", "verdict"],
                "properties": {"pair": {"type": "integer"}, "verdict": {"type": "string", "enum": list(VERDICTS)}},
            },
        }
    },
}
ANSWER_TOKENS = 30  # of one pair, with what stands around it


def encode_pairs(pairs: Sequence[Pair]) -> dict[str, Any]:
    """The pairs, numbered from 1, the earlier statement of each first."""
    return {
        "pairs": [
            {
                "pair": n,
                "about": one.newer.category,
                "earlier": _encode_memory(one.older),
                "later": _encode_memory(one.newer),
            }
            for n, one in enumerate(pairs, 1)
        ]
    }


def parse_answer(text: str, pair_count: int) -> dict[int, Judgement]:
    """The judgements of an answer about so many pairs, by their numbers. A pair that is answered twice in two ways, or by
    no verdict, has none. Raises BadExtraction when the answer is not in form."""
    listed = find_json(text, "pairs")["pairs"]
    found: dict[int, set[Any]] = {}
    for one in listed if isinstance(listed, list) else ():
        number = one.get("pair") if isinstance(one, dict) else None
        if isinstance(number, int) and not isinstance(number, bool) and 1 <= number <= pair_count:
            found.setdefault(number, set()).add(str(one.get("verdict")).strip().casefold())
    return {n: verdict for n, said in found.items() for verdict in VERDICTS if said == {verdict}}


def _encode_memory(memory: Memory) -> dict[str, Any]:
    told: dict[str, Any] = {"text": memory.text, "said": memory.updated_at.date().isoformat()}
    if memory.event_time:
        told["when"] = memory.event_time.date().isoformat()
    return told
