"""Turns a model's answer to the extraction prompt into candidates: repairs what is certain and refuses the rest."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeGuard

from muniment.memory.domain.memory import TRUST_RANK, Fact
from muniment.memory.domain.turn import Candidate, Turn
from muniment.memory.errors import BadExtraction
from muniment.memory.rules.dates import mentions
from muniment.memory.rules.extraction import repair
from muniment.memory.rules.extraction.draft import CATEGORIES
from muniment.memory.rules.extraction.support import is_supported, measure_overlap
from muniment.memory.rules.extraction.validate import validate_candidate
from muniment.memory.rules.language import tokens
from muniment.memory.rules.language.json_finder import find_json
from muniment.memory.rules.language.lazy_regex import lazy_compile
from muniment.memory.rules.language.normalize import normalize_text
from muniment.memory.rules.statements import predicates

_MIN_CONFIDENCE = 0.5
_MIN_EVIDENCE = 0.5
_LONGEST_NAME = 80  # characters
# The values of these predicates may paraphrase the turn: no meat, no longer married, in short.
_PARAPHRASED_PREDICATES = frozenset({"diet", "marital_status", "nationality", "response_style", "answer_language"})
_UNKNOWN = (None, "", "null", "none", "n/a", "unknown")


def make_object_schema(**properties: Any) -> dict[str, Any]:
    """The JSON schema of an object with exactly these properties, all of them required."""
    return {"type": "object", "additionalProperties": False, "required": list(properties), "properties": properties}


def make_list_schema(items: Any) -> dict[str, Any]:
    """The JSON schema of a list of such items."""
    return {"type": "array", "items": items}


_TEXT, _TEXTS, _OPTIONAL = {"type": "string"}, make_list_schema({"type": "string"}), {"type": ["string", "null"]}
_FACT_SCHEMA = make_object_schema(
    statement=_TEXT,
    kind=_TEXT | {"enum": list(CATEGORIES)},
    predicate=_TEXT,
    object=_TEXT,
    subject=_TEXT,
    negated={"type": "boolean"},
    single={"type": "boolean"},
    event_time=_OPTIONAL,
    persons=_TEXTS,
    entities=_TEXTS,
    location=_OPTIONAL,
    topic=_OPTIONAL,
    category=_TEXT,
    importance={"type": "integer"},
    confidence={"type": "number"},
    turns=make_list_schema({"type": "integer"}),
)
FACTS_SCHEMA = make_object_schema(facts=make_list_schema(_FACT_SCHEMA))


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedAnswer:
    """The candidates of an answer with `total` facts, and the repairs and refusals, one entry for each such fact."""

    candidates: tuple[Candidate, ...] = ()
    total: int = 0
    repairs: tuple[str, ...] = ()
    refusals: tuple[str, ...] = ()


class _RefusalError(Exception):
    """The fact is refused; the message is the reason."""


def parse_facts(
    text: str,
    turns: Sequence[Turn],
    *,
    target_numbers: Collection[int],
    categories: Collection[str],
    max_chars: int = 280,
) -> ParsedAnswer:
    """The candidates of an answer about `turns`, which are numbered from 1; a fact must name one of `target_numbers`.

    Statements longer than `max_chars` are cut at a sentence. Raises BadExtraction when the answer is not in form."""
    facts = find_json(text, "facts").get("facts")
    if not isinstance(facts, list):
        raise BadExtraction("The model's answer has no list of facts.")
    candidates: list[Candidate] = []
    repairs: list[str] = []
    refusals: list[str] = []
    for fact in facts:
        answer_fact = _AnswerFact(
            fact if isinstance(fact, dict) else {}, turns, target_numbers, frozenset(categories), max_chars
        )
        try:
            candidates.append(answer_fact.build_candidate())
        except _RefusalError as reason:
            refusals.append(str(reason))
        else:
            repairs += ["; ".join(answer_fact.repairs)] if answer_fact.repairs else []
    return ParsedAnswer(
        candidates=tuple(candidates), total=len(facts), repairs=tuple(repairs), refusals=tuple(refusals)
    )


class _AnswerFact:
    """One fact of the answer; `repairs` lists what `build_candidate` corrected."""

    def __init__(
        self,
        raw: dict[str, Any],
        turns: Sequence[Turn],
        target_numbers: Collection[int],
        categories: frozenset[str],
        max_chars: int,
    ) -> None:
        self._raw = raw
        self._turns = turns
        self._categories = categories
        self._max_chars = max_chars
        self.repairs: list[str] = []
        self._support = self._find_support(target_numbers)

    def build_candidate(self) -> Candidate:
        """The candidate of the fact. Raises _RefusalError with the reason."""
        statement = self._read_text("statement").rstrip(" .。")
        if not statement:
            raise _RefusalError("no statement")
        if not self._support:
            raise _RefusalError("no supporting turn")
        confidence = self._read_confidence()
        if confidence < _MIN_CONFIDENCE:
            raise _RefusalError("low confidence")
        main = next((turn for turn in reversed(self._support) if turn.role == "user"), self._support[-1])
        persons = self._read_names("persons")
        subject = predicates.normalize_subject(self._read_text("subject"), main.actor)
        subject = predicates.find_person_name(subject, persons, f"{statement}\n{main.text}")
        name = predicates.normalize_predicate(self._read_text("kind"), self._read_text("predicate"), subject)
        if self._read_text("kind").casefold() not in predicates.KINDS:
            self.repairs.append("unknown kind")
        statement = self._repair_statement(statement, main, subject, persons, timeless=name.predicate == "birthday")
        value = self._read_text("object") or statement
        value = repair.repair_dates(value, main.at, f"{statement}\n{main.text}").strip(" .。")
        candidate = Candidate(
            text=statement,
            category=self._resolve_category(name),
            fact=self._build_fact(name, value, subject, persons),
            importance=self._read_importance(),
            confidence=confidence,
            trust=min((turn.source for turn in self._support), key=TRUST_RANK.__getitem__),
            event_time=self._resolve_event_time(statement, main, name),
            turns=tuple(turn.id for turn in self._support),
            actor=main.actor,
            role=main.role,
        )
        valid = self._validate_fact(candidate)
        thing = "" if name.predicate in _PARAPHRASED_PREDICATES else value
        if not is_supported(valid.text, thing, self._turns, self._support, main.at):
            raise _RefusalError("not in the turn")
        return valid

    def _build_fact(self, name: predicates.PredicateName, value: str, subject: str, persons: tuple[str, ...]) -> Fact:
        negated = self._raw.get("negated") is True or name.negated
        single = self._raw.get("single") is True if name.single is None else name.single
        return Fact(
            kind=name.kind,
            predicate=name.predicate,
            object=value,
            subject=subject,
            persons=persons,
            entities=self._read_names("entities"),
            location=self._read_text("location") or None,
            topic=self._read_text("topic") or None,
            single=single,
            negated=negated,
        )

    def _find_support(self, target_numbers: Collection[int]) -> tuple[Turn, ...]:
        """The turns that the fact names; none unless a target turn is among them."""
        raw_numbers = self._raw.get("turns")
        numbers = (
            {int(n) for n in raw_numbers if _is_finite(n) and float(n).is_integer()}
            if isinstance(raw_numbers, list)
            else set()
        )
        valid = sorted(n for n in numbers if 1 <= n <= len(self._turns))
        if not valid and len(target_numbers) == 1 and self._has_evidence(self._turns[min(target_numbers) - 1]):
            self.repairs.append("no supporting turn")
            valid = sorted(target_numbers)
        return tuple(self._turns[n - 1] for n in valid) if set(valid) & set(target_numbers) else ()

    def _has_evidence(self, turn: Turn) -> bool:
        """Whether the turn has half of the statement's words."""
        bare = mentions.remove_dates(
            repair.repair_wording(self._read_text("statement"), subject="user", persons=()), turn.at
        )
        return (
            bare != ""
            and measure_overlap(tokens.get_lexeme_set(bare), frozenset(tokens.extract_lexemes(turn.text)), turn.text)
            >= _MIN_EVIDENCE
        )

    def _repair_statement(
        self, statement: str, main: Turn, subject: str, persons: tuple[str, ...], *, timeless: bool
    ) -> str:
        # The "I" of a tool or of a pasted page is another person.
        own = main.role == "user" and main.source == "user"
        text = repair.repair_wording(statement, subject=subject, persons=persons) if own else statement
        if text != statement:
            self.repairs.append("pronoun")
        if repair.has_open_pronoun(text):
            raise _RefusalError("pronoun")
        dated = text if timeless else repair.repair_dates(text, main.at, main.text)
        if dated != text:
            self.repairs.append("relative date")
        return dated

    def _resolve_category(self, name: predicates.PredicateName) -> str:
        label = self._read_text("category")
        if label in self._categories:
            return label
        plain = label.casefold().replace(" ", "_")
        category = plain if plain in self._categories else CATEGORIES[name.kind]
        if category not in self._categories or (plain not in self._categories and name.kind == "note"):
            raise _RefusalError("unknown category")
        self.repairs.append("unknown category")
        return category

    def _read_importance(self) -> int:
        raw = self._raw.get("importance")
        value = round(raw) if _is_finite(raw) else 2
        clamped = min(5, max(1, value))
        if clamped != raw:
            self.repairs.append("importance")
        return clamped

    def _read_confidence(self) -> float:
        raw = self._raw.get("confidence")
        value = float(raw) if _is_finite(raw) else 0.7
        if 1 < value <= 100 and value > 5:
            value /= 100
        clamped = min(1.0, max(0.0, value))
        if clamped != raw:
            self.repairs.append("confidence")
        return clamped

    def _resolve_event_time(self, statement: str, main: Turn, name: predicates.PredicateName) -> datetime | None:
        """The date in the statement, else the date of the model; None for an identity."""
        if name.kind == "identity":
            return None
        date = mentions.resolve_date(statement, main.at)
        raw_time = self._raw.get("event_time")
        if date or raw_time in _UNKNOWN:
            return date
        try:
            when = datetime.fromisoformat(str(raw_time))
        except ValueError:
            self.repairs.append("event time")
            return None
        return when if when.tzinfo else when.replace(tzinfo=main.at.tzinfo)

    def _validate_fact(self, candidate: Candidate) -> Candidate:
        valid, reason = validate_candidate(candidate, categories=self._categories, max_chars=self._max_chars)
        if valid is None:
            raise _RefusalError(reason or "invalid")
        if len(candidate.text) > self._max_chars:
            self.repairs.append("too long")
        return valid

    def _read_text(self, key: str) -> str:
        value = self._raw.get(key)
        return (
            " ".join(normalize_text(value).split())
            if isinstance(value, str) and value.casefold() not in _UNKNOWN
            else ""
        )

    def _read_names(self, key: str) -> tuple[str, ...]:
        value = self._raw.get(key)
        values = [value] if isinstance(value, str) else value if isinstance(value, list) else []
        names = (" ".join(normalize_text(name).split()) for name in values if isinstance(name, str))
        own = lazy_compile(r"(?:the\s+)?user|用户|i|me", re.IGNORECASE)
        return tuple(
            dict.fromkeys(name for name in names if name and len(name) <= _LONGEST_NAME and not own.fullmatch(name))
        )


def _is_finite(value: object) -> TypeGuard[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
