"""What a sentence says of a correction and of what a fact follows from, so that no note repeats it."""

from __future__ import annotations

import re
from collections.abc import Collection
from datetime import datetime

from muniment.memory.rules.dates import mentions
from muniment.memory.rules.extraction import classify, gate
from muniment.memory.rules.extraction.notes import CLAUSES, names_details
from muniment.memory.rules.language.lazy_regex import lazy_compile
from muniment.memory.rules.statements.parse import find_contrasts, has_changed_condition

_PAST = lazy_compile(r"\b(?:\w+ed|was|were|got|had|made|took|came|did|read|heard|saw|found)\b|[了过]", re.IGNORECASE)
_TURNS_OUT = lazy_compile(r"\b(?:turns|turned) out\b|原来|(?:查|问|看)(?:出来|清楚)?了", re.IGNORECASE)
# What a fact follows from, and tells as well: of an age the birthday that has just been.
_IMPLIED = {"age": lazy_compile(r"\bjust\b.*\bbirthday\b|\bbirthday was\b|刚.{0,4}过.{0,2}生日", re.IGNORECASE)}
_CJK = lazy_compile(r"[\u3400-\u9fff]")


def drop_empty_clauses(sentence: str, predicates: Collection[str]) -> str:
    """The sentence of some facts without the clauses that say nothing beside them: that something was wrong, and what
    a fact of one of these predicates follows from."""
    implied = [_IMPLIED[predicate] for predicate in predicates if predicate in _IMPLIED]
    clauses = [part for part in CLAUSES.split(sentence) if part.strip()]
    told = [part for part in clauses if not gate.CUE.fullmatch(part) and not any(each.search(part) for each in implied)]
    if len(told) == len(clauses):
        return sentence
    return ("，" if _CJK.search(sentence) else ", ").join(part.strip(" ,，;；.。") for part in told)


def is_corrected_by(sentence: str) -> bool:
    """Whether a sentence puts something right in so many words: `it's Rowan, not Rowena`, `turns out …`."""
    cue = any(gate.CUE.fullmatch(part) for part in CLAUSES.split(sentence) if part.strip())
    return cue or bool(find_contrasts(sentence) or _TURNS_OUT.search(sentence))


def explains_correction(words: str, at: datetime) -> bool:
    """Whether words beside a correction say only how it came about: what happened, with no name, number or date, and
    nothing that a category knows."""
    if names_details(words) or mentions.find_mentions(words, at) or not _PAST.search(words):
        return False
    return classify.choose_category(words) == classify.DOUBTFUL and not has_changed_condition(words)
