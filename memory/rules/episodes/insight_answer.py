"""What a model sees of a person becomes insights: short, in the third person, of low weight, never pinned."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

from muniment.memory.domain.ids import TurnId
from muniment.memory.domain.memory import Memory
from muniment.memory.domain.turn import Candidate, Turn
from muniment.memory.errors import BadExtraction
from muniment.memory.rules.extraction import repair
from muniment.memory.rules.extraction.model_answer import ParsedAnswer
from muniment.memory.rules.extraction.validate import validate_candidate
from muniment.memory.rules.language.json_finder import find_json
from muniment.memory.rules.language.normalize import normalize_text

CATEGORY = "relationship_dynamic"
INSIGHTS_SCHEMA: dict[str, Any] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["insights"],
    "properties": {
        "insights": {
            "type": "array",
            "items": {
                "type": "object",
                "additionalProperties": False,
                "required": ["summary", "tags", "importance"],
                "properties": {
                    "summary": {"type": "string"},
                    "tags": {"type": "array", "items": {"type": "string"}},
                    "importance": {"type": "integer"},
                },
            },
        }
    },
}
_MOST = 3
_TAGS = 3
_TAG_CHARS = 40
_CONFIDENCE = 0.7  # inferred, not said


def parse_insights(
    text: str, turns: Sequence[TurnId], *, categories: Collection[str], max_chars: int = 280
) -> ParsedAnswer:
    """The insights of an answer, at most 3; each rests on `turns`. Raises BadExtraction when the answer is not in form."""
    found = find_json(text, "insights")["insights"]
    if not isinstance(found, list):
        raise BadExtraction("The model's answer has no list of insights.")
    candidates: list[Candidate] = []
    repaired: list[str] = []
    refused: list[str] = []
    for raw in found:
        one, told, reason = _parse_insight(
            raw if isinstance(raw, dict) else {}, tuple(turns), frozenset(categories), max_chars
        )
        if one is None or len(candidates) == _MOST:
            refused.append(reason or f"more than {_MOST} insights")
            continue
        candidates.append(one)
        repaired += [told] if told else []
    return ParsedAnswer(
        candidates=tuple(candidates), total=len(found), repairs=tuple(repaired), refusals=tuple(refused)
    )


def build_snippet(turns: Sequence[Turn], most: int) -> list[dict[str, str]]:
    """The end of what was said in at most so many characters; the first turn that does not fit loses its beginning."""
    told: list[dict[str, str]] = []
    for turn in (one for one in reversed(turns) if one.role in ("user", "assistant")):
        if most <= 0:
            break
        told.append({"role": turn.role, "text": turn.text[-most:]})
        most -= len(turn.text)
    return told[::-1]


def select_recent(memories: Sequence[Memory], *, activities: int, facts: int) -> tuple[list[Memory], list[Memory]]:
    """The latest of what happened and of what was stated, newest first; what strangers wrote shows nothing of a person."""
    own = sorted((one for one in memories if one.trust in ("user", "agent")), key=lambda one: one.created_at)[::-1]
    happened = [one for one in own if one.kind == "episodic" or (one.kind == "semantic" and one.category == "activity")]
    stated = [one for one in own if one.kind == "semantic" and one.category != "activity"]
    return happened[:activities], stated[:facts]


def _parse_insight(
    raw: dict[str, Any], turns: tuple[TurnId, ...], categories: frozenset[str], max_chars: int
) -> tuple[Candidate | None, str | None, str | None]:
    """The candidate and how it was repaired, or the reason of refusal."""
    said = raw.get("summary")
    text = " ".join(normalize_text(said).split()).rstrip(".。") if isinstance(said, str) else ""
    # "I" may be the person or the assistant here.
    told = text if repair.FIRST_PERSON.search(text) else repair.repair_wording(text, subject="user", persons=())
    tags = raw.get("tags")
    words = (
        [normalize_text(tag).strip()[:_TAG_CHARS] for tag in tags if isinstance(tag, str)]
        if isinstance(tags, list)
        else []
    )
    importance = raw.get("importance")
    # A semantic text is held to the third person; so is an insight.
    kept, reason = validate_candidate(
        Candidate(
            text=told,
            category=CATEGORY,
            importance=importance if isinstance(importance, int) and 1 <= importance <= 5 else 2,
            confidence=_CONFIDENCE,
            trust="agent",
            tags=tuple(filter(None, words))[:_TAGS],
            turns=turns,
            role="assistant",
        ),
        categories=categories,
        max_chars=max_chars,
    )
    if kept is None or repair.has_open_pronoun(kept.text):
        return None, None, reason or "pronoun"
    why = ["pronoun"] * (told != text) + ["too long"] * (len(told) > max_chars)
    return replace(kept, kind="insight"), "; ".join(why) or None, None
