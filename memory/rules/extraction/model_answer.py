"""Turns a model's answer to the extraction prompt into candidates: repairs what is certain and refuses the rest."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeGuard

from muniment.memory.domain.memory import TRUST_RANK, Fact, FactKind
from muniment.memory.domain.turn import Candidate, Turn
from muniment.memory.errors import BadExtraction
from muniment.memory.rules.dates import mentions
from muniment.memory.rules.extraction import repair
from muniment.memory.rules.extraction.evidence.bearing import Support, contains_quote, find_support
from muniment.memory.rules.extraction.evidence.citation import choose_words, has_own_words
from muniment.memory.rules.extraction.evidence.clause_signs import drop_unknown_kin
from muniment.memory.rules.extraction.gate import validate_candidate
from muniment.memory.rules.extraction.support import is_supported, measure_overlap
from muniment.memory.rules.language import tokens
from muniment.memory.rules.language.json_finder import find_json
from muniment.memory.rules.language.lazy_regex import lazy_compile
from muniment.memory.rules.language.tokens import normalize_text
from muniment.memory.rules.statements import predicates
from muniment.memory.rules.statements.predicates import CATEGORIES, choose_fact_category, correct_category

_MIN_CONFIDENCE = 0.5
_MIN_EVIDENCE = 0.5
_LONGEST_NAME = 80  # characters
_CONFIDENCE = 0.8  # of an answer that names none
_MAX_IMPORTANCE: dict[FactKind, int] = {"constraint": 5, "identity": 4, "relationship": 4}  # 3 of the other kinds
_IMPORTANCE: dict[FactKind, int] = {"identity": 3, "relationship": 3, "constraint": 4}
# The values of these predicates may paraphrase the turn: no meat, no longer married, in short.
_PARAPHRASED_PREDICATES = frozenset({"diet", "marital_status", "nationality", "response_style", "answer_language"})
_UNKNOWN = (None, "", "null", "none", "n/a", "unknown")


def make_object_schema(**properties: Any) -> dict[str, Any]:
    """The JSON schema of an object with exactly these properties, all of them required."""
    return {"type": "object", "additionalProperties": False, "required": list(properties), "properties": properties}


def make_list_schema(items: Any) -> dict[str, Any]:
    """The JSON schema of a list of such items."""
    return {"type": "array", "items": items}


_TEXT = {"type": "string"}
_FACT_SCHEMA = make_object_schema(
    statement=_TEXT, about=_TEXT, attribute=_TEXT, value=_TEXT, category=_TEXT, quote=_TEXT, turn={"type": "integer"}
)
_SHORT_FACT_SCHEMA = make_object_schema(statement=_TEXT, category=_TEXT, quote=_TEXT)
FACTS_SCHEMA = make_object_schema(facts=make_list_schema(_FACT_SCHEMA))
SHORT_FACTS_SCHEMA = make_object_schema(facts=make_list_schema(_SHORT_FACT_SCHEMA))
# The keys of former prompts, which an operator's own prompt may still ask for.
_FORMER_KEYS = {"about": "subject", "attribute": "predicate", "value": "object", "turn": "turns"}
_KIND_OF_CATEGORY = {category: kind for kind, category in reversed(CATEGORIES.items())}


@dataclass(frozen=True, slots=True, kw_only=True)
class UncertainFact:
    """A candidate in other words than those that it cites: the embedder has to find the two alike."""

    candidate: Candidate
    support: Support


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedAnswer:
    """The candidates of an answer with `total` facts, and the repairs and refusals, one entry for each such fact."""

    candidates: tuple[Candidate, ...] = ()
    uncertain: tuple[UncertainFact, ...] = ()
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
    defer: bool = False,
) -> ParsedAnswer:
    """The candidates of an answer about `turns`, which are numbered from 1; a fact must name one of `target_numbers`.

    Statements longer than `max_chars` are cut at a sentence. A fact in other words than the turn's is refused, or with
    `defer` uncertain. Raises BadExtraction when the answer is not in form."""
    facts = find_json(text, "facts").get("facts")
    if not isinstance(facts, list):
        raise BadExtraction("The model's answer has no list of facts.")
    candidates: list[Candidate] = []
    repairs: list[str] = []
    refusals: list[str] = []
    uncertain: list[UncertainFact] = []
    for fact in facts:
        answer_fact = _AnswerFact(
            fact if isinstance(fact, dict) else {}, turns, target_numbers, frozenset(categories), max_chars
        )
        try:
            candidate, support = answer_fact.build_candidate()
        except _RefusalError as reason:
            refusals.append(str(reason))
            continue
        if support.need != "none" and not defer:
            refusals.append("not in the turn")
        else:
            if support.need == "none":
                candidates.append(candidate)
            else:
                uncertain.append(UncertainFact(candidate=candidate, support=support))
            repairs += ["; ".join(answer_fact.repairs)] if answer_fact.repairs else []
    return ParsedAnswer(
        candidates=tuple(candidates),
        uncertain=tuple(uncertain),
        total=len(facts),
        repairs=tuple(repairs),
        refusals=tuple(refusals),
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

    def build_candidate(self) -> tuple[Candidate, Support]:
        """The candidate of the fact, and what bears it. Raises _RefusalError with the reason."""
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
        subject = predicates.normalize_subject(self._read_text("about"), main.actor)
        subject = predicates.find_person_name(subject, persons, f"{statement}\n{main.text}")
        kind = self._read_text("kind") or _KIND_OF_CATEGORY.get(self._read_text("category"), "note")
        name = predicates.normalize_predicate(kind, self._read_text("attribute") or kind, subject)
        if kind.casefold() not in predicates.KINDS:
            self.repairs.append("unknown kind")
        value = self._read_text("value").rstrip(" .。")
        is_whole = value in ("", statement)
        statement = self._repair_statement(statement, main, subject, persons, timeless=name.predicate == "birthday")
        if not is_whole and not _shares_words(value, f"{statement}\n{main.text}"):
            self.repairs.append("value")
            is_whole = True
        value = statement if is_whole else value
        value = repair.repair_dates(value, main.at, f"{statement}\n{main.text}").strip(" .。")
        candidate = Candidate(
            text=statement,
            category=self._resolve_category(name),
            fact=self._build_fact(name, value, subject, persons, statement),
            importance=self._read_importance(name),
            confidence=confidence,
            trust=min((turn.source for turn in self._support), key=TRUST_RANK.__getitem__),
            event_time=self._resolve_event_time(statement, main, name),
            turns=tuple(turn.id for turn in self._support),
            actor=main.actor,
            role=main.role,
        )
        valid = self._validate_fact(candidate)
        return valid, self._find_words(valid, "" if name.predicate in _PARAPHRASED_PREDICATES else value, main)

    def _find_words(self, candidate: Candidate, value: str, main: Turn) -> Support:
        """What bears the candidate. Raises _RefusalError where nothing does."""
        subject = candidate.fact.subject if candidate.fact else predicates.USER
        text = repair.name_speaker(candidate.text, main.actor)
        if not has_own_words(self._support):
            if subject.startswith(predicates.USER) or repair.is_about_user(text):
                raise _RefusalError("not the user's words")
            if not is_supported(candidate.text, value, self._turns, self._support, main.at):
                raise _RefusalError("not in the turn")
            return Support()
        persons = candidate.fact.persons if candidate.fact else ()
        names = [*persons] if subject.startswith(predicates.USER) else [subject, *persons]
        words = choose_words(self._turns, self._support, self._read_text("quote"))
        support = find_support(text, value, words, names=names)
        is_foreign = tokens.has_cjk(text) != any(tokens.has_cjk(each) for each in words.cited)
        if is_foreign and not is_supported(candidate.text, value, self._turns, self._support, main.at):
            raise _RefusalError("not in the turn")
        if support.fault is None:
            return support
        is_others = not subject.startswith(predicates.USER) and not repair.is_about_user(text)
        if is_others and is_supported(candidate.text, value, self._turns, self._support, main.at):
            return Support()  # what a pasted document says of others; its trust is weighed later
        raise _RefusalError(support.fault)

    def _build_fact(
        self, name: predicates.PredicateName, value: str, subject: str, persons: tuple[str, ...], statement: str
    ) -> Fact:
        negated = self._raw.get("negated") is True or name.negated
        if "negated" not in self._raw:
            negated = negated or repair.is_denial(statement)
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
        given = self._read("turn")
        raw_numbers = given if isinstance(given, list) else [given]
        numbers = {int(n) for n in raw_numbers if _is_finite(n) and float(n).is_integer()}
        valid = sorted(n for n in numbers if 1 <= n <= len(self._turns))
        # Of several turns to read a model may name the wrong one; of one, it names it or another that is shown.
        is_named = len(target_numbers) == 1 and not set(valid).isdisjoint(target_numbers)
        if not valid or not (is_named or any(self._has_evidence(self._turns[n - 1]) for n in valid)):
            bearing = [n for n in sorted(target_numbers) if self._has_evidence(self._turns[n - 1])]
            if bearing:
                if given is not None or "quote" not in self._raw:  # the short form asks for no number
                    self.repairs.append("no supporting turn")
                valid = bearing[:1]
        return tuple(self._turns[n - 1] for n in valid) if set(valid) & set(target_numbers) else ()

    def _has_evidence(self, turn: Turn) -> bool:
        """Whether the turn has the quote, or half of the statement's words."""
        quote = self._read_text("quote")
        if quote and contains_quote(quote, turn.text):
            return True
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
        agreed = repair.repair_agreement(text)
        if agreed != text:
            self.repairs.append("agreement")
        text = drop_unknown_kin(agreed, "\n".join(turn.text for turn in self._turns), persons) if own else agreed
        if text != agreed:
            self.repairs.append("relation")
        if repair.has_open_pronoun(text):
            raise _RefusalError("pronoun")
        dated = text if timeless else repair.repair_dates(text, main.at, main.text)
        if dated != text:
            self.repairs.append("relative date")
        return dated

    def _resolve_category(self, name: predicates.PredicateName) -> str:
        label = self._read_text("category")
        if label in self._categories:
            own = correct_category(name.kind, name.predicate, label)
            return own if own in self._categories else label
        plain = label.casefold().replace(" ", "_")
        category = plain if plain in self._categories else choose_fact_category(name.kind, name.predicate)
        if category not in self._categories or (plain not in self._categories and name.kind == "note"):
            raise _RefusalError("unknown category")
        self.repairs.append("unknown category")
        return category

    def _read_importance(self, name: predicates.PredicateName) -> int:
        """The importance within what the kind allows: only a limit is vital."""
        if "importance" not in self._raw:
            return _IMPORTANCE.get(name.kind, 2)
        raw = self._raw.get("importance")
        value = round(raw) if _is_finite(raw) else 2
        clamped = min(_MAX_IMPORTANCE.get(name.kind, 3), max(1, value))
        if clamped != raw:
            self.repairs.append("importance")
        return clamped

    def _read_confidence(self) -> float:
        if "confidence" not in self._raw:
            return _CONFIDENCE
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

    def _read(self, key: str) -> object:
        return self._raw.get(key, self._raw.get(_FORMER_KEYS.get(key, key)))

    def _read_text(self, key: str) -> str:
        value = self._read(key)
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


def _shares_words(value: str, text: str) -> bool:
    """Whether a value has a word or a character of the text, or is in another language."""
    lexemes, own = tokens.get_lexeme_set(value), frozenset(tokens.extract_lexemes(text))
    is_foreign = tokens.has_cjk(value) != tokens.has_cjk(text)
    return is_foreign or not lexemes or measure_overlap(lexemes, own, text) > 0


def _is_finite(value: object) -> TypeGuard[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
