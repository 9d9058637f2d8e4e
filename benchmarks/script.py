"""The conversation of `data/conversation.json`: what is said, what a memory has to make of it, and what a model
extracts."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

from muniment.memory.domain.memory import Role, Trust
from muniment.memory.domain.turn import Turn
from muniment.memory.rules.language.tokens import normalize_text
from muniment.memory.rules.redaction.redact import redact_secrets

DATA = Path(__file__).parent / "data" / "conversation.json"
What = Literal["fact", "correction", "contradiction", "repetition", "injected", "secret"]
WHATS: tuple[What, ...] = ("fact", "correction", "contradiction", "repetition", "injected", "secret")

_DEFAULTS: dict[str, Any] = {
    "subject": "user", "negated": False, "single": False, "event_time": None, "persons": [], "entities": [],
    "location": None, "topic": None, "importance": 3, "confidence": 0.9,
}  # fmt: skip
_WRAPS = {
    "fence": "```json\n{}\n```",
    "prose": "These are the facts:\n{}\nI left out the rest.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Keys:
    """How a statement is recognised in any words: one word of each group, and none of the others."""

    groups: tuple[tuple[str, ...], ...]
    without: tuple[str, ...] = ()

    @classmethod
    def read(cls, raw: Mapping[str, Any]) -> Keys:
        return cls(groups=tuple(tuple(group) for group in raw["keys"]), without=tuple(raw.get("not", ())))

    def match(self, text: str) -> bool:
        """Whether a memory with this text says it."""
        plain = " ".join(text.casefold().split())
        return all(any(word in plain for word in group) for group in self.groups) and not any(
            word in plain for word in self.without
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """One thing to expect of a turn. `of`: the fact that it corrects, denies or repeats. `gone`: what it replaces."""

    what: What
    id: str
    turn: str
    statement: str
    keys: Keys | None
    of: str | None = None
    gone: Keys | None = None
    fate: str = "kept"


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """One turn of the script; `answer` is what the model extracts of it, in the form that it is asked for."""

    id: str
    at: datetime
    role: Role
    text: str
    answer: tuple[dict[str, Any], ...] = ()
    wrap: str | None = None
    source: Trust | None = None
    path: str | None = None

    def turn(self, session: str) -> Turn:
        """The turn as the graph would record it."""
        return Turn.make(
            session=session,
            key=self.id,
            role=self.role,
            text=self.text,
            at=self.at,
            thread=session,
            source=self.source,
            path=self.path,
        )


class Script:
    """A conversation with what is expected of it; `reply` is the model, for a `ScriptedOpenAI`."""

    def __init__(self, raw: Mapping[str, Any]) -> None:
        self.turns = tuple(_said(one) for one in raw["turns"])
        self.expected = tuple(_resolved([found for one in raw["turns"] for found in _expected(one)]))
        self.also = tuple(Keys.read(one) for one in raw["also"])
        self.secrets = tuple(one.statement for one in self.expected if one.what == "secret")
        self._by_text = {_safe(one.text): one for one in self.turns}

    @classmethod
    def load(cls, path: Path = DATA) -> Script:
        return cls(json.loads(path.read_text(encoding="utf-8")))

    def of(self, what: What) -> tuple[Expected, ...]:
        """What is expected of one sort, in order."""
        return tuple(one for one in self.expected if one.what == what)

    def reply(self, body: Mapping[str, Any]) -> str:
        """The model's answer to a request for the facts of some turns, which may not be among what is scripted."""
        asked = json.loads(next(one["content"] for one in reversed(body["messages"]) if one["role"] == "user"))
        shown = {one["turn"]: self._by_text.get(one["text"]) for one in asked["conversation"]}
        numbers = {said.id: number for number, said in shown.items() if said}
        read = [shown[number] for number in asked["extract_from"]]
        facts = [
            {**_DEFAULTS, **fact, "turns": [numbers[one] for one in fact.get("turns", [said.id]) if one in numbers]}
            for said in read
            if said
            for fact in said.answer
        ]
        text = json.dumps({"facts": facts}, ensure_ascii=False)
        wrap = next((said.wrap for said in read if said and said.wrap), None)
        return _WRAPS[wrap].replace("{}", text) if wrap else text


def _said(raw: Mapping[str, Any]) -> Said:
    return Said(
        id=raw["id"],
        at=datetime.fromisoformat(raw["at"]),
        role=raw["role"],
        text=raw["text"],
        answer=tuple(raw.get("answer", ())),
        wrap=raw.get("wrap"),
        source=raw.get("source"),
        path=raw.get("path"),
    )


def _expected(raw: Mapping[str, Any]) -> list[Expected]:
    return [
        Expected(
            what=(what := next(name for name in WHATS if name in one)),
            id=one[what],
            turn=raw["id"],
            statement=one.get("statement") or one["text"],
            keys=Keys.read(one) if "keys" in one else None,
            of=one.get("of"),
            gone=Keys.read(one["gone"]) if "gone" in one else None,
            fate=one.get("fate", "kept"),
        )
        for one in raw.get("expect", ())
    ]


def _resolved(found: list[Expected]) -> list[Expected]:
    """A repetition is recognised by its fact's words; what a correction replaces is its fact, unless it says more."""
    keys = {one.id: one.keys for one in found if one.what == "fact"}
    out = []
    for one in found:
        known = keys.get(one.of) if one.of else None
        out.append(
            Expected(
                what=one.what,
                id=one.id,
                turn=one.turn,
                statement=one.statement,
                of=one.of,
                fate=one.fate,
                keys=one.keys or known,
                gone=one.gone or (known if one.what != "repetition" else None),
            )
        )
    return out


def _safe(text: str) -> str:
    """A turn's text as a model gets to see it."""
    return redact_secrets(normalize_text(text), email=False, phone=False, patterns=())[0]
