"""What tests of extraction need: conversations, facts as a model answers them, and answers read."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

from muniment.memory.config.settings import load_settings
from muniment.memory.domain.memory import Role, Trust
from muniment.memory.domain.turn import Candidate, Turn
from muniment.memory.rules.extraction.model_answer import ParsedAnswer, parse_facts

NOON = datetime(2026, 5, 4, 12, 0, tzinfo=UTC)  # a Monday
SLUGS = frozenset(load_settings({}).categories)


def turns(*said: str | tuple[Role, str], source: Trust | None = None) -> list[Turn]:
    """A conversation; a bare text is the user's."""
    some: list[tuple[Role, str]] = [("user", one) if isinstance(one, str) else one for one in said]
    return [
        Turn.make(session="s", key=str(n), role=role, text=text, at=NOON + timedelta(minutes=n), source=source)
        for n, (role, text) in enumerate(some)
    ]


def fact(statement: object, **more: Any) -> dict[str, Any]:
    usual = {
        "kind": "note", "predicate": "note", "object": statement, "subject": "user", "negated": False, "single": False,
        "event_time": None, "persons": [], "entities": [], "location": None, "topic": None, "category": "activity",
        "importance": 2, "confidence": 0.9, "turns": [1],
    }  # fmt: skip
    return {"statement": statement} | usual | more


def told(conversation: list[Turn], *facts: dict[str, Any], asked: int | None = None) -> ParsedAnswer:
    text = json.dumps({"facts": list(facts)}, ensure_ascii=False)
    return parse_facts(text, conversation, target_numbers=[asked or len(conversation)], categories=SLUGS)


def one(conversation: list[Turn], raw: dict[str, Any]) -> tuple[Candidate, tuple[str, ...]]:
    """The only candidate of an answer with one fact, and what was repaired."""
    found = told(conversation, raw)
    assert found.refusals == ()
    return found.candidates[0], found.repairs
