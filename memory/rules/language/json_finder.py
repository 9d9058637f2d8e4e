"""The first JSON object in the text of a model's answer."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from muniment.memory.errors import BadExtraction

_MAX_OBJECTS = 200  # a text with more of them is no answer


def find_json(text: str, key: str) -> dict[str, Any]:
    """The first JSON object in a text that has the key: alone, fenced, or among other words.

    Raises BadExtraction when there is none."""
    has_object = False
    for candidate in _iterate_objects(text):
        if key in candidate:
            return candidate
        has_object = True
    raise BadExtraction(
        f"The model's answer has no {key!r}." if has_object else "The model's answer holds no whole JSON object."
    )


def _iterate_objects(text: str) -> Iterator[dict[str, Any]]:
    decoder = json.JSONDecoder(strict=False)
    at = text.find("{")
    for _ in range(_MAX_OBJECTS):
        if at < 0:
            return
        try:
            value, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            end = at + 1
        else:
            yield value
        at = text.find("{", end)
