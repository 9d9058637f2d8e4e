"""Drafts of statements, as the rules of both languages make them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import product

from muniment.memory.domain.memory import Fact, FactKind
from muniment.memory.rules.language.clause import Clause
from muniment.memory.rules.statements.predicates import choose_fact_category


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A statement and its fact. Dates in a `timeless` statement, such as a birthday, stay as the person wrote them.

    `source` are the words that a rule read, and `captured` those of them that are no part of its pattern."""

    text: str
    fact: Fact
    category: str
    importance: int = 2
    confidence: float = 0.9
    timeless: bool = False
    source: str = ""
    captured: str = ""


def make_draft(
    kind: FactKind,
    predicate: str,
    value: str,
    text: str,
    *,
    category: str | None = None,
    importance: int = 2,
    subject: str = "user",
    persons: tuple[str, ...] = (),
    entities: tuple[str, ...] = (),
    location: str | None = None,
    topic: str | None = None,
    single: bool = False,
    negated: bool = False,
    timeless: bool = False,
) -> Draft:
    """A draft with its fact; without `category` in that of its kind and predicate."""
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
        category=category or choose_fact_category(kind, predicate),
        importance=importance,
        timeless=timeless,
    )


Build = Callable[[re.Match[str], Clause], Iterator[Draft]]
Rule = tuple[re.Pattern[str], Build]


def match_rules(rules: Iterable[Rule], forms: Iterable[str], clause: Clause) -> list[Draft]:
    """The drafts of the first rule that reads one of the forms of the clause; none where no rule does."""
    for (pattern, build), form in product(rules, forms):
        if match := pattern.match(form):
            captured = " ".join(group for name, group in match.groupdict().items() if group and name != "neg")
            if drafts := [replace(draft, source=form, captured=captured) for draft in build(match, clause)]:
                return drafts
    return []
