"""Drafts of statements, as the rules of both languages make them, and what the English rules share."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from muniment.memory.domain.memory import Fact, FactKind
from muniment.memory.rules.language.clause import Clause
from muniment.memory.rules.language.lazy_regex import lazy_compile
from muniment.memory.rules.statements.filing import choose_fact_category


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
        confidence=confidence,
        timeless=timeless,
    )


Build = Callable[[re.Match[str], Clause], Iterator[Draft]]
Rule = tuple[re.Pattern[str], Build]

ADV = (
    r"(?:(?:really|absolutely|also|just|still|actually|always|usually|generally|mostly|honestly|truly|especially"
    r"|particularly|totally|currently|now|both|do|definitely|mainly|simply|officially|proudly|recently|only|even|very"
    r"|much)\s+){0,4}"
)
AM = r"i(?:'?m|\s+am)\s+" + ADV
WAS = r"(?:i(?:'?m|\s+am)|i've\s+been|i\s+have\s+been)\s+" + ADV
ENDED = lazy_compile(r"\s+(?:any\s?more|any\s+longer)$", re.IGNORECASE)
_OPENING = r"^(?:a|an|the|some|any|my|all|lots\s+of|a\s+lot\s+of|most)\s+"

# Verbs that say nothing about a person's goals.
IDLE = lazy_compile(
    r"(?:kill|strangle|murder|punch|slap|disappear|vanish|know|ask|say|tell|talk|hear|understand|make\s+sure|thank"
    r"|share|show|mention|discuss|chat|let|be\s+(?:sure|clear|honest|able|there|with)|go\s+(?:home|to\s+bed|now)|sleep"
    r"|cry|scream|die|get\s+back|come|point|clarify|see\s+(?:if|how|what|whether|you)|check|try|do|believe|think|feel"
    r"|keep\s+(?:going|doing|up)|add|apologi[sz]e|admit|give\s+up|find\s+out|figure\s+out|remember|use|respond|reply"
    r"|start\s+by|work\s+on\s+(?:it|that)|move\s+on|stop|play|spread|express|capture|help|support|stay|take\s+"
    r"(?:a\s+break|breaks)|find\s+(?:a|some|the)\s+(?:way|time|balance)|make\s+(?:it|a\s+difference)|lend|up"
    r"|take\s+a\s+look|look|work\s+(?:in\s+the\s+future|on\s+it)|keep)\b",
    re.IGNORECASE,
)


def strip_article(words: str) -> str:
    """The words without a leading article or quantity."""
    return re.sub(_OPENING, "", words, flags=re.IGNORECASE)


def match_rule(rule: Rule, text: str, clause: Clause) -> list[Draft]:
    """The drafts that a rule makes of a text of the clause; none where it does not match."""
    pattern, build = rule
    match = pattern.match(text)
    if match is None:
        return []
    captured = " ".join(group for group in match.groups() if group)
    return [replace(draft, source=text, captured=captured) for draft in build(match, clause)]


def make_rule(pattern: str, build: Build) -> Rule:
    """A rule: a pattern for the start of a clause, in any case, and the function that makes the drafts of its match."""
    return lazy_compile(pattern, re.IGNORECASE), build
