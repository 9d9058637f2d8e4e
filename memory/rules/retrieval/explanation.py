"""The text of a verdict: one sentence that says why a memory is not in an answer."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from muniment.memory.domain.query import Ruling

_SENTENCES: Mapping[Ruling, str] = {
    "in the answer": "It is in the answer, at place {place} of {of}.",
    "other space or unknown": "No memory of this space has this id: it is of another space, or unknown.",
    "not yet known": "It was not known yet at revision {as_of}: it came with revision {created}.",
    "not allowed": "Agent {agent} may not read {category}; it may read {allowed}.",
    "soft-deleted": "It was forgotten on {since}.",
    "superseded": "Another memory took its place.",
    "pending": "It waits for a person's yes.",
    "rejected": "A person said no to it.",
    "expired": "It was to last until {until}.",
    "out of reach": "It is found in its {reach} {place} alone, and the query is made from {here}.",
    "filtered": "The filter {filter} asks for {wanted}; it has {has}.",
    "no match": "No channel finds it: {meaning}, and none of its words ({words}) is asked for ({asked}).",
    "below threshold": "Its relevance is {relevance:.3f}, the threshold is {threshold:.3f}.",
    "far below the best": "Its relevance is {relevance:.3f}, less than {cut_share:.0%} of the best hit's {best:.3f}.",
    "no more alike than the rest": (
        "It has none of the query's telling words, and its cosine is {cosine:.3f}: {least_cosine:.3f} tells a memory "
        "from the others of this space."
    ),
    "near-duplicate": "It says the same as {twin}, which comes before it: {text}",
    "beyond candidates": (
        "It would come at place {place}, but only the best {candidates} by meaning and words are ranked."
    ),
    "beyond top_k": "It comes at place {place}, and {top_k} were asked for.",
    "over budget": "It needs {needed} tokens, and {left} of {budget} were left.",
}


def explain_ruling(reason: Ruling, facts: Mapping[str, Any]) -> str:
    """Return the reason with the facts behind it, which are those of `Verdict.facts`."""
    values = {name: _format_value(value) for name, value in facts.items()}
    if reason == "soft-deleted" and facts.get("until"):
        return f"It was forgotten on {values['since']}; it can be restored until {values['until']}."
    if reason == "superseded" and facts.get("by"):
        return f"{values['by']} took its place" + (f": {facts['text']}" if "text" in facts else ".")
    if reason == "below threshold" and facts["relevance"] >= facts["threshold"]:
        gate, relevance = facts["gate"], facts["relevance"]
        return f"Nothing is relevant: not even the best reaches {gate:.3f}, and this has {relevance:.3f}."
    if reason == "over budget" and facts["needed"] <= facts["left"]:
        return f"Longer ones before it used up the budget of {facts['budget']} tokens."
    return _SENTENCES[reason].format(**values, meaning=_explain_meaning(facts))


def _explain_meaning(facts: Mapping[str, Any]) -> str:
    cosine = facts.get("cosine")
    if cosine is None:
        return "it has no vector of this embedder"
    if cosine > facts["floor"]:
        return "the embedder does not know its script"
    return f"its cosine is {cosine:.3f}, and meaning counts from {facts['floor']:.3f} on"


def _format_value(value: Any) -> Any:
    if isinstance(value, datetime):
        return f"{value:%Y-%m-%d %H:%M} UTC"
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value)) or "none"
    return "nothing" if value is None else value
