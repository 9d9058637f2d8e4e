"""The category that a fact is filed under, by its kind and predicate."""

from __future__ import annotations

from muniment.memory.domain.memory import FactKind

CATEGORIES: dict[FactKind, str] = {
    "identity": "profile",
    "skill": "knowledge",
    "experience": "history",
    "preference": "preferences",
    "relationship": "relationships",
    "goal": "goals",
    "constraint": "constraints",
    "event": "event",
    "note": "activity",
}
# What is something else than its kind says: an instrument or a game is a pastime, and a deadline passes.
_BY_PREDICATE = {"plays": "interests"}
_BY_PREFIX = {"deadline_of_": "tasks"}
# The kinds that may be filed under a category that is always in context. A constraint may, but for a deadline.
_KINDS_IN_CONTEXT: dict[str, frozenset[FactKind]] = {
    "profile": frozenset({"identity", "relationship", "note"}),
    "constraints": frozenset({"preference", "relationship", "note"}),
}


def choose_fact_category(kind: FactKind, predicate: str) -> str:
    """The category of facts of a kind and predicate."""
    for prefix, category in _BY_PREFIX.items():
        if predicate.startswith(prefix):
            return category
    return _BY_PREDICATE.get(predicate, CATEGORIES[kind])


def correct_category(kind: FactKind, predicate: str, category: str) -> str:
    """The category of a fact that was filed under `category`.

    A hard constraint is one wherever it was filed, so that no agent misses it. What is filed under a category that is
    always in context, but is of a kind that would only fill the context, is filed by what it is."""
    own = choose_fact_category(kind, predicate)
    is_misplaced = category in _KINDS_IN_CONTEXT and kind not in _KINDS_IN_CONTEXT[category]
    return own if own == "constraints" or is_misplaced else category
