"""What is found by itself, and whether it passes the gates of the settings: what a person asked to keep always does."""

from __future__ import annotations

from dataclasses import replace

from muniment.memory.config.schema import FindGates
from muniment.memory.domain.memory import is_note
from muniment.memory.domain.turn import Candidate, Extraction

OPEN_GATES = FindGates(
    fallback="rules", least_importance=1, least_confidence=0.0, canonical="preferred", relations=True, events="all"
)


def hold_finds(extraction: Extraction, gates: FindGates, *, has_model: bool) -> Extraction:
    """Return an extraction without the finds that the gates hold back; they are among its refusals, with the reason."""
    waits = gates.fallback == "wait" and has_model and extraction.found_by == "rules"
    held = {
        each: reason
        for each in extraction.candidates
        if each.text not in extraction.requested_texts
        and (reason := "waits for the model" if waits else find_gate(each, gates)) is not None
    }
    kept = tuple(each for each in extraction.candidates if each not in held)
    return replace(extraction, candidates=kept, refusals=(*extraction.refusals, *held.items()))


def find_gate(candidate: Candidate, gates: FindGates) -> str | None:
    """Return the reason why a find is left; None for one that passes."""
    fact = candidate.fact
    if candidate.importance < gates.least_importance:
        return "low importance"
    if candidate.confidence < gates.least_confidence:
        return "low confidence"
    if gates.canonical == "required" and candidate.kind == "semantic" and (fact is None or is_note(fact)):
        return "no canonical statement"
    if fact is not None and fact.kind == "relationship" and not gates.relations:
        return "relations are left"
    if fact is not None and fact.kind == "event":
        if gates.events == "none":
            return "events are left"
        if gates.events == "dated" and candidate.event_time is None:
            return "events without a time are left"
    return None
