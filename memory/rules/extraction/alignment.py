"""Aligns the candidates of a model with those of the rules, so that one fact of a turn has one key."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from muniment.memory.domain.memory import Fact
from muniment.memory.domain.turn import Candidate
from muniment.memory.rules.language import tokens
from muniment.memory.rules.language.lazy_regex import lazy_compile
from muniment.memory.rules.statements.parse import parse_statement
from muniment.memory.rules.statements.possession import has_other_owner

_DENIAL = lazy_compile(r"\b(?:not|no|never|cannot|without|stopped|quit)\b|n't\b|[不没别无]", re.IGNORECASE)
_MIN_SIMILARITY = 0.6  # of all their words
_MIN_CONTAINMENT = 0.7  # of the shorter one's words


def align_candidates(candidates: Sequence[Candidate], references: Sequence[Candidate]) -> tuple[Candidate, ...]:
    """The candidates; one that says the same as a reference gets the kind, predicate and object of its fact.

    Both are of one turn, where nearly the same words are the same fact. A candidate that several references state in
    parts is left out."""
    return tuple(
        _align_candidate(candidate, references)
        for candidate in candidates
        if not _is_sum_of_parts(candidate, references)
    )


def _is_sum_of_parts(candidate: Candidate, references: Sequence[Candidate]) -> bool:
    """Whether several references together state the candidate: `good with QGIS and Rhino` is two skills."""
    fact = candidate.fact
    if fact is None:
        return False
    whole = tokens.get_lexeme_set(fact.object)
    parts = {
        tokens.get_lexeme_set(other.fact.object)
        for other in references
        if other.fact and other.fact.attribute == fact.attribute and other.fact.negated == fact.negated
    }
    within = [part for part in parts if part < whole]
    return len(within) > 1 and frozenset().union(*within) == whole


def _align_candidate(candidate: Candidate, references: Sequence[Candidate]) -> Candidate:
    fact = candidate.fact
    if fact is None or any(other.fact and other.fact.key == fact.key for other in references):
        return candidate
    best = max(((_score_similarity(candidate, other), n) for n, other in enumerate(references)), default=(0.0, 0))
    match = references[best[1]].fact if best[0] else None
    if match is None:
        return candidate
    return replace(
        candidate,
        fact=replace(
            fact,
            kind=match.kind,
            predicate=match.predicate,
            object=match.object,
            subject=match.subject,
            single=match.single,
            negated=match.negated,
        ),
    )


def _score_similarity(candidate: Candidate, other: Candidate) -> float:
    """The similarity of two candidates in [0, 1]; 0.0 if they are not the same fact."""
    new, old = candidate.fact, other.fact
    if (
        new is None
        or old is None
        or not _has_same_subject(new, old)
        or _has_negation(candidate) != _has_negation(other)
    ):
        return 0.0
    if has_other_owner(parse_statement(candidate.text), parse_statement(other.text)):
        return 0.0
    a, b = tokens.get_lexeme_set(candidate.text), tokens.get_lexeme_set(other.text)
    if (
        not a
        or not b
        or not (
            tokens.extract_numbers(candidate.text) <= tokens.extract_numbers(other.text)
            or tokens.extract_numbers(other.text) <= tokens.extract_numbers(candidate.text)
        )
    ):
        return 0.0
    alike, within = len(a & b) / len(a | b), len(a & b) / min(len(a), len(b))
    c, d = tokens.get_lexeme_set(new.object), tokens.get_lexeme_set(old.object)
    return alike if alike >= _MIN_SIMILARITY or (within >= _MIN_CONTAINMENT and c and d and (c <= d or d <= c)) else 0.0


def _has_negation(candidate: Candidate) -> bool:
    return _DENIAL.search(candidate.text) is not None


def _has_same_subject(new: Fact, old: Fact) -> bool:
    """Whether two facts are about one person: a relation and a name may be one, the user and another are not."""
    return new.subject.casefold() == old.subject.casefold() or (
        "user" not in (new.subject, old.subject) and "user's" in (new.subject[:6], old.subject[:6])
    )
