"""A statement on its way from a clause to a candidate."""

from __future__ import annotations

from dataclasses import dataclass

from muniment.memory.domain.memory import Fact, FactKind

CATEGORIES: dict[FactKind, str] = {
    "identity": "profile",
    "skill": "profile",
    "experience": "profile",
    "preference": "preferences",
    "relationship": "relationships",
    "goal": "goals",
    "constraint": "profile",
    "event": "event",
    "note": "activity",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A statement with its fact; `timeless` keeps a date as said, as in a birthday."""

    text: str
    fact: Fact
    category: str
    importance: int = 2
    confidence: float = 0.9
    timeless: bool = False


def make_draft(
    kind: FactKind,
    predicate: str,
    value: str,
    text: str,
    *,
    category: str | None = None,
    importance: int = 2,
    confidence: float = 0.9,
    subject: str = "user",
    persons: tuple[str, ...] = (),
    entities: tuple[str, ...] = (),
    location: str | None = None,
    topic: str | None = None,
    single: bool = False,
    negated: bool = False,
    timeless: bool = False,
) -> Draft:
    """A draft in the category of its kind unless another is named."""
    fact = Fact(
        kind=kind,
        predicate=predicate,
        object=value,
        subject=subject,
        persons=persons,
        entities=entities,
        location=location,
        topic=topic,
        single=single,
        negated=negated,
    )
    return Draft(
        text=text,
        fact=fact,
        category=category or CATEGORIES[kind],
        importance=importance,
        confidence=confidence,
        timeless=timeless,
    )
