"""Two extractors and one fact: what a model found in a turn gets the key of what the rules found in it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from muniment.memory.domain.memory import Fact
from muniment.memory.domain.turn import Candidate
from muniment.memory.rules.language import tokens as words
from muniment.memory.rules.language.lazy_regex import late
from muniment.memory.rules.statements.parse import read
from muniment.memory.rules.statements.possession import other_owner

_DENIAL = late(r"\b(?:not|no|never|cannot|without|stopped|quit)\b|n't\b|[不没别无]", re.IGNORECASE)
_ALIKE = 0.6  # of all their words
_WITHIN = 0.7  # of the shorter one's words


def align(found: Sequence[Candidate], known: Sequence[Candidate]) -> tuple[Candidate, ...]:
    """The found candidates; one that says what a known one says is about the same thing in the same words of the key.

    Both are of one turn: there, nearly the same words are the same fact, whatever they are filed under. What is known
    in parts, thing by thing, is left out."""
    return tuple(_aligned(one, known) for one in found if not _in_parts(one, known))


def _in_parts(one: Candidate, known: Sequence[Candidate]) -> bool:
    """Whether several known ones say together what this one says: `good with QGIS and Rhino` is two skills."""
    fact = one.fact
    if fact is None:
        return False
    whole = words.lexeme_set(fact.object)
    parts = {
        words.lexeme_set(other.fact.object)
        for other in known
        if other.fact and other.fact.attribute == fact.attribute and other.fact.negated == fact.negated
    }
    within = [part for part in parts if part < whole]
    return len(within) > 1 and frozenset().union(*within) == whole


def _aligned(one: Candidate, known: Sequence[Candidate]) -> Candidate:
    fact = one.fact
    if fact is None or any(other.fact and other.fact.key == fact.key for other in known):
        return one
    same = max(((_same(one, other), n) for n, other in enumerate(known)), default=(0.0, 0))
    match = known[same[1]].fact if same[0] else None
    if match is None:
        return one
    return replace(
        one,
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


def _same(one: Candidate, other: Candidate) -> float:
    """How alike two candidates are, 0.0 where they are not the same fact."""
    new, old = one.fact, other.fact
    if new is None or old is None or not _same_subject(new, old) or _denies(one) != _denies(other):
        return 0.0
    if other_owner(read(one.text), read(other.text)):
        return 0.0
    a, b = words.lexeme_set(one.text), words.lexeme_set(other.text)
    if (
        not a
        or not b
        or not (
            words.numbers(one.text) <= words.numbers(other.text) or words.numbers(other.text) <= words.numbers(one.text)
        )
    ):
        return 0.0
    alike, within = len(a & b) / len(a | b), len(a & b) / min(len(a), len(b))
    c, d = words.lexeme_set(new.object), words.lexeme_set(old.object)
    return alike if alike >= _ALIKE or (within >= _WITHIN and c and d and (c <= d or d <= c)) else 0.0


def _denies(one: Candidate) -> bool:
    return _DENIAL.search(one.text) is not None


def _same_subject(new: Fact, old: Fact) -> bool:
    """A relation and the name of whoever has it may be one person; the user is nobody else."""
    return new.subject.casefold() == old.subject.casefold() or (
        "user" not in (new.subject, old.subject) and "user's" in (new.subject[:6], old.subject[:6])
    )
