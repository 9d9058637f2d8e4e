"""How confident memory is that what stands before a model holds what a message asks for: a number from 0 to 1."""

from __future__ import annotations

from muniment.nodes.entry import QUESTION_CHARS, find_stems, is_question
from muniment.nodes.state import State
from muniment.nodes.written_calls import CONFIDENCE

LOW = 0.5  # below it a model is told to call memory_query
_RELEVANCE_SHARE = 0.6  # of the best memory's relevance; the rest is of the question's words
_MAX_MESSAGES = 20  # of the thread that are looked at for these words


def measure_confidence(state: State, text: str) -> float:
    """The confidence for a message of the turn; 1 for one that asks nothing.

    It is made of the relevance of the best memory that was recalled, and of the share of the question's words that
    what was recalled, the profile and the conversation have."""
    if not is_question(text):
        return 1.0
    asked = set(state.get("asked", ()))
    thread = [str(each.text) for each in state["messages"][-_MAX_MESSAGES:] if each.id not in asked]
    known = [state.get("stable", ""), state.get("header", ""), *state.get("bullets", ()), *thread]
    stems = find_stems(text[:QUESTION_CHARS])
    covered = len(stems & find_stems("\n".join(known))) / len(stems) if stems else 1.0
    return round(_RELEVANCE_SHARE * state.get("relevance", 0.0) + (1 - _RELEVANCE_SHARE) * covered, 2)


def format_confidence(state: State) -> str:
    """The line that names it to a model; empty where nothing is asked."""
    confidence = state.get("confidence", 1.0)
    return f"{CONFIDENCE} {confidence:.2f}" if confidence < 1 else ""
