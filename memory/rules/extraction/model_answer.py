"""A model's answer to the extraction prompt becomes candidates: repaired where that is certain, else refused."""

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
from muniment.memory.rules.dates import mentions as dates
from muniment.memory.rules.extraction import repair
from muniment.memory.rules.extraction.draft import CATEGORIES
from muniment.memory.rules.extraction.support import share, supported
from muniment.memory.rules.extraction.validate import validate
from muniment.memory.rules.language import tokens as words
from muniment.memory.rules.language.json_finder import find
from muniment.memory.rules.language.lazy_regex import late
from muniment.memory.rules.language.normalize import clean
from muniment.memory.rules.statements import predicates

_SURE = 0.5
_EVIDENT = 0.5
_LONGEST_NAME = 80  # characters
# What one of few words stands for may be said in others: no meat, no longer married, in short.
_TOLD_OTHERWISE = frozenset({"diet", "marital_status", "nationality", "response_style", "answer_language"})
_UNKNOWN = (None, "", "null", "none", "n/a", "unknown")
FACTS: dict[str, Any] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["facts"],
    "properties": {
        "facts": {
            "type": "array",
            "items": {
                "type": "object",
                "additionalProperties": False,
                "required": [
                    "statement", "kind", "predicate", "object", "subject", "negated", "single", "event_time", "persons",
                    "entities", "location", "topic", "category", "importance", "confidence", "turns",
                ],
                "properties": {
                    "statement": {"type": "string"},
                    "kind": {"type": "string", "enum": list(CATEGORIES)},
                    "predicate": {"type": "string"},
                    "object": {"type": "string"},
                    "subject": {"type": "string"},
                    "negated": {"type": "boolean"},
                    "single": {"type": "boolean"},
                    "event_time": {"type": ["string", "null"]},
                    "persons": {"type": "array", "items": {"type": "string"}},
                    "entities": {"type": "array", "items": {"type": "string"}},
                    "location": {"type": ["string", "null"]},
                    "topic": {"type": ["string", "null"]},
                    "category": {"type": "string"},
                    "importance": {"type": "integer"},
                    "confidence": {"type": "number"},
                    "turns": {"type": "array", "items": {"type": "integer"}},
                },
            },
        }
    },
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What an answer came to: `found` facts, one entry in `repaired` or `refused` for each that was not right at once."""

    candidates: tuple[Candidate, ...] = ()
    found: int = 0
    repaired: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()


class _Refused(Exception):
    """The fact cannot be kept; the message is the reason."""


def read(
    text: str, turns: Sequence[Turn], *, asked: Collection[int], categories: Collection[str], most: int = 280
) -> Reading:
    """The candidates of an answer about `turns` (the first one has number 1), of which `asked` were to be read.

    Statements longer than `most` characters are cut at a sentence. Raises BadExtraction when the answer is not in form."""
    facts = find(text, "facts").get("facts")
    if not isinstance(facts, list):
        raise BadExtraction("The model's answer has no list of facts.")
    candidates: list[Candidate] = []
    repaired: list[str] = []
    refused: list[str] = []
    for fact in facts:
        one = _Fact(fact if isinstance(fact, dict) else {}, turns, asked, frozenset(categories), most)
        try:
            candidates.append(one.candidate())
        except _Refused as reason:
            refused.append(str(reason))
        else:
            repaired += ["; ".join(one.repaired)] if one.repaired else []
    return Reading(candidates=tuple(candidates), found=len(facts), repaired=tuple(repaired), refused=tuple(refused))


class _Fact:
    """One fact of the answer on its way to a candidate; `repaired` says what had to be put right."""

    def __init__(
        self, raw: dict[str, Any], turns: Sequence[Turn], asked: Collection[int], categories: frozenset[str], most: int
    ) -> None:
        self._raw = raw
        self._turns = turns
        self._categories = categories
        self._most = most
        self.repaired: list[str] = []
        self._support = self._supporting(asked)

    def candidate(self) -> Candidate:
        """The candidate, or _Refused with the reason."""
        said = self._text("statement").rstrip(" .。")
        if not said:
            raise _Refused("no statement")
        if not self._support:
            raise _Refused("no supporting turn")
        confidence = self._confidence()
        if confidence < _SURE:
            raise _Refused("low confidence")
        main = self._speaker()
        persons = self._names("persons")
        subject = self._subject(said, main, persons)
        name = predicates.name(self._text("kind"), self._text("predicate"), subject)
        if self._text("kind").casefold() not in predicates.KINDS:
            self.repaired.append("unknown kind")
        statement = self._statement(said, main, subject, persons, timeless=name.predicate == "birthday")
        value = repair.timing(self._text("object") or statement, main.at, f"{statement}\n{main.text}").strip(" .。")
        found = Candidate(
            text=statement,
            category=self._category(name),
            fact=self._fact(name, value, subject, persons),
            importance=self._importance(),
            confidence=confidence,
            trust=min((one.source for one in self._support), key=TRUST_RANK.__getitem__),
            event_time=self._when(statement, main, name),
            turns=tuple(turn.id for turn in self._support),
            actor=main.actor,
            role=main.role,
        )
        kept = self._valid(found)
        thing = "" if name.predicate in _TOLD_OTHERWISE else value
        if not supported(kept.text, thing, self._turns, self._support, main.at):
            raise _Refused("not in the turn")
        return kept

    def _fact(self, name: predicates.Name, value: str, subject: str, persons: tuple[str, ...]) -> Fact:
        negated = self._raw.get("negated") is True or name.negated
        single = self._raw.get("single") is True if name.single is None else name.single
        return Fact(
            kind=name.kind,
            predicate=name.predicate,
            object=value,
            subject=subject,
            persons=persons,
            entities=self._names("entities"),
            location=self._text("location") or None,
            topic=self._text("topic") or None,
            single=single,
            negated=negated,
        )

    def _supporting(self, asked: Collection[int]) -> tuple[Turn, ...]:
        """The turns that the fact names; none unless one that was to be read is among them."""
        named = self._raw.get("turns")
        numbers = {int(n) for n in named if _finite(n) and float(n).is_integer()} if isinstance(named, list) else set()
        valid = sorted(n for n in numbers if 1 <= n <= len(self._turns))
        if not valid and len(asked) == 1 and self._evident(self._turns[min(asked) - 1]):
            self.repaired.append("no supporting turn")
            valid = sorted(asked)
        return tuple(self._turns[n - 1] for n in valid) if set(valid) & set(asked) else ()

    def _evident(self, turn: Turn) -> bool:
        """Whether the one turn that was to be read has half of the statement's words."""
        bare = dates.without(repair.wording(self._text("statement"), subject="user", persons=()), turn.at)
        return bare != "" and share(words.lexeme_set(bare), frozenset(words.lexemes(turn.text)), turn.text) >= _EVIDENT

    def _speaker(self) -> Turn:
        """The turn that says it: the last one of a person, or the last one."""
        return next((one for one in reversed(self._support) if one.role == "user"), self._support[-1])

    def _subject(self, said: str, main: Turn, persons: tuple[str, ...]) -> str:
        subject = predicates.subject(self._text("subject"), main.actor)
        return predicates.by_name(subject, persons, f"{said}\n{main.text}")

    def _statement(self, said: str, main: Turn, subject: str, persons: tuple[str, ...], *, timeless: bool) -> str:
        # The "I" of a tool or of a pasted page is somebody else.
        own = main.role == "user" and main.source == "user"
        text = repair.wording(said, subject=subject, persons=persons) if own else said
        if text != said:
            self.repaired.append("pronoun")
        if repair.pronoun(text):
            raise _Refused("pronoun")
        dated = text if timeless else repair.timing(text, main.at, main.text)
        if dated != text:
            self.repaired.append("relative date")
        return dated

    def _category(self, name: predicates.Name) -> str:
        said = self._text("category")
        if said in self._categories:
            return said
        plain = said.casefold().replace(" ", "_")
        known = plain if plain in self._categories else CATEGORIES[name.kind]
        if known not in self._categories or (plain not in self._categories and name.kind == "note"):
            raise _Refused("unknown category")
        self.repaired.append("unknown category")
        return known

    def _importance(self) -> int:
        said = self._raw.get("importance")
        value = round(said) if _finite(said) else 2
        clamped = min(5, max(1, value))
        if clamped != said:
            self.repaired.append("importance")
        return clamped

    def _confidence(self) -> float:
        said = self._raw.get("confidence")
        value = float(said) if _finite(said) else 0.7
        if 1 < value <= 100 and value > 5:
            value /= 100
        clamped = min(1.0, max(0.0, value))
        if clamped != said:
            self.repaired.append("confidence")
        return clamped

    def _when(self, statement: str, main: Turn, name: predicates.Name) -> datetime | None:
        """The date that the statement names; else the one that the model gives."""
        if name.kind == "identity":
            return None
        told = dates.resolve(statement, main.at)
        given = self._raw.get("event_time")
        if told or given in _UNKNOWN:
            return told
        try:
            when = datetime.fromisoformat(str(given))
        except ValueError:
            self.repaired.append("event time")
            return None
        return when if when.tzinfo else when.replace(tzinfo=main.at.tzinfo)

    def _valid(self, found: Candidate) -> Candidate:
        kept, reason = validate(found, categories=self._categories, max_chars=self._most)
        if kept is None:
            raise _Refused(reason or "invalid")
        if len(found.text) > self._most:
            self.repaired.append("too long")
        return kept

    def _text(self, key: str) -> str:
        value = self._raw.get(key)
        return " ".join(clean(value).split()) if isinstance(value, str) and value.casefold() not in _UNKNOWN else ""

    def _names(self, key: str) -> tuple[str, ...]:
        value = self._raw.get(key)
        some = [value] if isinstance(value, str) else value if isinstance(value, list) else []
        named = (" ".join(clean(one).split()) for one in some if isinstance(one, str))
        own = late(r"(?:the\s+)?user|用户|i|me", re.IGNORECASE)
        return tuple(
            dict.fromkeys(one for one in named if one and len(one) <= _LONGEST_NAME and not own.fullmatch(one))
        )


def _finite(value: object) -> TypeGuard[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
