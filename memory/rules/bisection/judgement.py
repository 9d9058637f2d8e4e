"""What a model is asked about a reply, and what its answer says."""

from __future__ import annotations

import json
from typing import Any

from muniment.memory.errors import BadExtraction
from muniment.memory.rules.language.json_finder import find_json

JUDGEMENT_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"yes": {"type": "boolean"}},
    "required": ["yes"],
    "additionalProperties": False,
}
JUDGEMENT_TOKENS = 200


def encode_question(question: str, reply: str) -> str:
    """Return the question about a reply as a model gets it."""
    return json.dumps({"question": question, "reply": reply}, ensure_ascii=False)


def parse_judgement(content: str) -> bool:
    """Return what an answer says. Raises BadExtraction where it says neither yes nor no."""
    said = find_json(content, "yes")["yes"]
    if not isinstance(said, bool):
        raise BadExtraction("The model's answer says neither yes nor no.")
    return said
