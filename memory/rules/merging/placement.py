"""Candidates as they may be stored: without secrets, and where their caller places them."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Any

from muniment.memory.domain.memory import name_place
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import Candidate, Placement
from muniment.memory.errors import BadInput
from muniment.memory.rules.language.tokens import normalize_text
from muniment.memory.rules.merging.aliases import sanitize_aliases
from muniment.memory.rules.redaction.redact import Redactor

MAX_SOURCE_CHARS = 300  # it is shown with every answer
_FACT_TEXTS = ("subject", "predicate", "object", "location", "topic")


def sanitize_candidate(candidate: Candidate, redactor: Redactor) -> Candidate:
    """Return a candidate with every text in it redacted. Raises BadInput for an alias or a source that cannot be
    kept."""
    sanitize, fact = redactor.sanitize_text, candidate.fact
    if fact is not None:
        texts: dict[str, Any] = {name: sanitize(said) for name in _FACT_TEXTS if (said := getattr(fact, name))}
        persons, entities = tuple(map(sanitize, fact.persons)), tuple(map(sanitize, fact.entities))
        fact = replace(fact, persons=persons, entities=entities, **texts)
    return replace(
        candidate,
        text=sanitize(candidate.text),
        fact=fact,
        context=sanitize(candidate.context) if candidate.context else None,
        aliases=sanitize_aliases(candidate.aliases, redactor) if candidate.aliases else (),
        tags=tuple(map(sanitize, candidate.tags)),
        actor=sanitize(candidate.actor) if candidate.actor else None,
        source=sanitize_source(candidate.source, redactor),
    )


def sanitize_source(source: str | None, redactor: Redactor) -> str | None:
    """Return the name or address of a source as it may be stored, on one line. Raises BadInput for an empty and a long
    one."""
    if source is None:
        return None
    safe = " ".join(normalize_text(redactor.sanitize_text(source)).split())
    if not 0 < len(safe) <= MAX_SOURCE_CHARS:
        raise BadInput(f"source: 1 to {MAX_SOURCE_CHARS} characters wanted, {len(safe):,} given")
    return safe


def check_placement(placement: Placement, scope: Scope, now: datetime, redactor: Redactor) -> Placement:
    """Return a placement as it may be stored. Raises BadInput for an unknown reach, one to a place that the scope does
    not name, a source that cannot be kept, and an end that is over."""
    name_place(placement.reach, scope.project, scope.session)
    if placement.expires_at is not None and placement.expires_at <= now:
        raise BadInput("expires_at: is over already")
    return replace(placement, source=sanitize_source(placement.source, redactor))


def place_candidates(candidates: tuple[Candidate, ...], placement: Placement) -> tuple[Candidate, ...]:
    """Return candidates with the placement that their caller gives them."""
    return tuple(
        replace(each, reach=placement.reach, source=placement.source, expires_at=placement.expires_at)
        for each in candidates
    )
