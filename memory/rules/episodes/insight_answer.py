"""Turns a model's observations about a person into insights: short, in the third person, of low importance."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

from muniment.memory.domain.memory import StoredMemory
from muniment.memory.domain.turn import Candidate, Turn
from muniment.memory.errors import BadExtraction
from muniment.memory.rules.extraction import repair
from muniment.memory.rules.extraction.evidence.clause_signs import find_kin
from muniment.memory.rules.extraction.evidence.details import find_names, has_other_details
from muniment.memory.rules.extraction.gate import validate_candidate
from muniment.memory.rules.extraction.model_answer import ParsedAnswer, make_list_schema, make_object_schema
from muniment.memory.rules.language import tokens
from muniment.memory.rules.language.json_finder import find_json
from muniment.memory.rules.language.lexicon import load_lexicon
from muniment.memory.rules.language.tokens import normalize_text
from muniment.memory.rules.provenance.quoted import strip_quoted

CATEGORY = "relationship_dynamic"
INSIGHTS_SCHEMA = make_object_schema(
    insights=make_list_schema(
        make_object_schema(
            summary={"type": "string"},
            memories=make_list_schema({"type": "integer"}),
            tags=make_list_schema({"type": "string"}),
            importance={"type": "integer"},
        )
    )
)
_PRIVATE = load_lexicon("bearing.en").get_words("private")
_PRIVATE_ZH = load_lexicon("bearing.zh").get_words("private")
_MOST = 3
_TAGS = 3
_TAG_CHARS = 40
_CONFIDENCE = 0.7  # an insight is inferred


def parse_insights(
    text: str, shown: Sequence[StoredMemory], *, categories: Collection[str], max_chars: int = 280
) -> ParsedAnswer:
    """The insights of an answer, at most 3, each with the turns of the memories that it cites by number from 1.

    An insight without such a memory, on a private matter or on somebody else is refused. Raises BadExtraction when the
    answer is not in form."""
    insights = find_json(text, "insights")["insights"]
    if not isinstance(insights, list):
        raise BadExtraction("The model's answer has no list of insights.")
    candidates: list[Candidate] = []
    repairs: list[str] = []
    refusals: list[str] = []
    for raw in insights:
        candidate, repair_note, reason = _parse_insight(
            raw if isinstance(raw, dict) else {}, shown, frozenset(categories), max_chars
        )
        if candidate is None or len(candidates) == _MOST:
            refusals.append(reason or f"more than {_MOST} insights")
            continue
        candidates.append(candidate)
        repairs += [repair_note] if repair_note else []
    return ParsedAnswer(
        candidates=tuple(candidates), total=len(insights), repairs=tuple(repairs), refusals=tuple(refusals)
    )


def build_snippet(turns: Sequence[Turn], most: int) -> list[dict[str, str]]:
    """The last messages within `most` characters, as role and text, oldest first; the first one is cut to fit.

    What a tool or a document says, also in a user's turn, is left out: an insight is not held as an instruction is."""
    snippet: list[dict[str, str]] = []
    for turn in reversed(turns):
        if turn.role not in ("user", "assistant") or turn.kind != "message" or turn.source not in ("user", "agent"):
            continue
        if most <= 0:
            break
        text = strip_quoted(turn).text if turn.role == "user" else turn.text
        if text:
            snippet.append({"role": turn.role, "text": text[-most:]})
            most -= len(text)
    return snippet[::-1]


def select_recent(
    memories: Sequence[StoredMemory], *, activities: int, facts: int
) -> tuple[list[StoredMemory], list[StoredMemory]]:
    """The latest events and the latest facts, newest first, without memories that a tool or a document states."""
    own = sorted(
        (memory for memory in memories if memory.trust in ("user", "agent")), key=lambda memory: memory.created_at
    )[::-1]
    happened = [
        memory
        for memory in own
        if memory.kind == "episodic" or (memory.kind == "semantic" and memory.category == "activity")
    ]
    stated = [memory for memory in own if memory.kind == "semantic" and memory.category != "activity"]
    return happened[:activities], stated[:facts]


def _parse_insight(
    raw: dict[str, Any], shown: Sequence[StoredMemory], categories: frozenset[str], max_chars: int
) -> tuple[Candidate | None, str | None, str | None]:
    """The candidate, its repairs, and the reason of refusal; the absent ones are None."""
    summary = raw.get("summary")
    text = " ".join(normalize_text(summary).split()).rstrip(".。") if isinstance(summary, str) else ""
    # "I" may be the person or the assistant.
    repaired = text if repair.FIRST_PERSON.search(text) else repair.repair_wording(text, subject="user", persons=())
    tags = raw.get("tags")
    words = (
        [normalize_text(tag).strip()[:_TAG_CHARS] for tag in tags if isinstance(tag, str)]
        if isinstance(tags, list)
        else []
    )
    importance = raw.get("importance")
    cited = _list_cited(raw.get("memories"), shown)
    turns = tuple(dict.fromkeys(turn for memory in cited for turn in memory.turns))
    if not cited:
        return None, None, "no memory of the user"
    if reason := _find_private_matter(repaired, cited):
        return None, None, reason
    # An insight is validated as a statement in the third person.
    candidate, reason = validate_candidate(
        Candidate(
            text=repaired,
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
    if candidate is None or repair.has_open_pronoun(candidate.text):
        return None, None, reason or "pronoun"
    repairs = ["pronoun"] * (repaired != text) + ["too long"] * (len(repaired) > max_chars)
    return replace(candidate, kind="insight"), "; ".join(repairs) or None, None


def is_own(memory: StoredMemory) -> bool:
    """Whether a memory tells of the user, and by the user's word or the assistant's."""
    return memory.trust in ("user", "agent") and (memory.fact is None or memory.fact.subject == "user")


def _list_cited(raw: object, shown: Sequence[StoredMemory]) -> list[StoredMemory]:
    """The user's own memories that an insight cites."""
    numbers = {n for n in raw if isinstance(n, int) and not isinstance(n, bool)} if isinstance(raw, list) else set()
    return [memory for n, memory in enumerate(shown, 1) if n in numbers and is_own(memory)]


def _find_private_matter(text: str, cited: Sequence[StoredMemory]) -> str | None:
    """Why an insight is none of the assistant's business: a private matter, or another person's."""
    own = "\n".join(memory.text for memory in cited)
    words = {part for run in tokens.split_runs(text) for part in (run, tokens.stem_word(run))}
    if not words.isdisjoint(_PRIVATE) or any(word in text for word in _PRIVATE_ZH):
        return "a private matter"
    if find_kin(text) or any(find_names(text)):
        return "about another person"
    return "not in the memories" if has_other_details(text, "", own, own, cited[0].updated_at) else None
