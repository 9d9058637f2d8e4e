"""Pairs of memories as JSON for a model, and its answer as judgements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, get_args

from muniment.memory.domain.consolidation import Judgement, Pair
from muniment.memory.domain.memory import StoredMemory
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
ANSWER_TOKENS = 30  # of one pair, with the JSON around it


def encode_pairs(pairs: Sequence[Pair]) -> dict[str, Any]:
    """Return the pairs, numbered from 1, the earlier statement of each first."""
    return {
        "pairs": [
            {
                "pair": n,
                "about": pair.newer.category,
                "earlier": _encode_memory(pair.older),
                "later": _encode_memory(pair.newer),
            }
            for n, pair in enumerate(pairs, 1)
        ]
    }


def parse_answer(text: str, pair_count: int) -> dict[int, Judgement]:
    """Return the judgements of an answer about so many pairs, by the number of the pair.

    A pair with two different verdicts, or an unknown one, has no judgement. Raises BadExtraction."""
    items = find_json(text, "pairs")["pairs"]
    verdicts: dict[int, set[str]] = {}
    for item in items if isinstance(items, list) else ():
        number = item.get("pair") if isinstance(item, dict) else None
        if isinstance(number, int) and not isinstance(number, bool) and 1 <= number <= pair_count:
            verdicts.setdefault(number, set()).add(str(item.get("verdict")).strip().casefold())
    return {n: verdict for n, answers in verdicts.items() for verdict in VERDICTS if answers == {verdict}}


def _encode_memory(memory: StoredMemory) -> dict[str, Any]:
    encoded = {"text": memory.text, "said": memory.updated_at.date().isoformat()}
    if memory.event_time:
        encoded["when"] = memory.event_time.date().isoformat()
    return encoded
