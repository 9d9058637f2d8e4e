"""Reads the answers of a gateway, which are not trusted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import orjson

from muniment.memory.domain.gateway.wire import Category, Operation, RecalledItem

_MAX_TEXT = 4_000  # characters of a result's text that are kept; a memory of the engine has 280
_MAX_OBJECTS = 50_000  # objects and lists of an answer; a million empty ones would hold the event loop for a while
_MAX_NAME = 2_048  # characters of another field; a longer one is left out


class UnusableAnswer(Exception):
    """An answer that cannot be used."""

    def __init__(self, category: Category, status: int | None = None) -> None:
        super().__init__(category)
        self.category, self.status = category, status


def parse_answer(operation: Operation, content: bytes) -> dict[str, Any]:
    """Return the JSON object that an answer is; that of a search has a list `results`. Raises UnusableAnswer for what
    is no JSON, such as NaN and 1e400, for another shape, and for too many objects."""
    if content.count(b"{") + content.count(b"[") > _MAX_OBJECTS:
        raise UnusableAnswer("too_large")
    try:
        answer = orjson.loads(content)
    except orjson.JSONDecodeError:
        raise UnusableAnswer("invalid_json") from None
    if not isinstance(answer, dict) or (operation == "search" and not isinstance(answer.get("results"), list)):
        raise UnusableAnswer("invalid_shape")
    return answer


def parse_results(results: Sequence[object], most: int) -> list[RecalledItem]:
    """Return the results of a search, at most `most` of them. What is no object is left out, and of an object every
    field but the six of RecalledItem."""
    return [_parse_item(result) for result in results[:most] if isinstance(result, dict)]


def _parse_item(result: dict[str, Any]) -> RecalledItem:
    text = result.get("text")
    return RecalledItem(
        id=_parse_name(result.get("id")),
        session_id=_parse_name(result.get("session_id")),
        text=_cut_text(text) if isinstance(text, str) else None,
        score=_parse_score(result.get("score")),
        source_scope=_parse_name(result.get("source_scope")),
        resource_uri=_parse_name(result.get("resource_uri")),
    )


def _parse_score(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value)


def _parse_name(value: object) -> str | None:
    return value if isinstance(value, str) and len(value) <= _MAX_NAME else None


def _cut_text(text: str) -> str:
    return text if len(text) <= _MAX_TEXT else f"{text[:_MAX_TEXT]}…"
