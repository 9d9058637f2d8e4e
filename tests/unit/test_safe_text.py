"""A text that is marked as redacted is a plain text everywhere else, and is not redacted again."""

from __future__ import annotations

import copy
import json
import pickle
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import orjson
import psycopg
import pytest
from psycopg.adapt import Transformer

from muniment.memory.config.settings import load_settings
from muniment.memory.domain.ids import SafeText
from muniment.memory.domain.turn import Turn
from muniment.memory.rules.redaction.redact import Redactor

if TYPE_CHECKING:
    from collections.abc import Callable

SECRET = "my password is: hunter2"
SAFE = SafeText("the sea")
TURN = Turn.make(session="s", key="k", role="user", text=SAFE, at=datetime(2026, 1, 2, tzinfo=UTC))


@pytest.fixture
def redactor() -> Redactor:
    return Redactor(load_settings({}).redact)


def test_a_redacted_text_is_marked_and_holds_no_secret(redactor: Redactor) -> None:
    safe = redactor.sanitize_text(SECRET)
    assert isinstance(safe, SafeText)
    assert "hunter2" not in safe


def test_a_marked_text_is_not_redacted_again(monkeypatch: pytest.MonkeyPatch) -> None:
    texts: list[str] = []
    search = Redactor.sanitize_uncached

    def count_search(self: Redactor, text: str) -> str:
        texts.append(text)
        return search(self, text)

    monkeypatch.setattr(Redactor, "sanitize_uncached", count_search)
    redactor = Redactor(load_settings({}).redact)
    safe = redactor.sanitize_text(SECRET)
    assert redactor.sanitize_text(safe) is safe
    assert redactor.sanitize_text(SafeText(SECRET)) == SECRET  # the mark alone is trusted
    assert texts == [SECRET]


def test_a_part_of_a_marked_text_is_not_marked() -> None:
    for part in (SAFE[:3], SAFE.strip("t"), SAFE + "", f"{SAFE}", SAFE.lower()):
        assert type(part) is str


def test_the_mark_survives_replace() -> None:
    assert type(replace(TURN, role="assistant").text) is SafeText


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, lambda value: pickle.loads(pickle.dumps(value))])
def test_the_mark_survives_copies(duplicate: Callable[[Any], Any]) -> None:
    assert type(duplicate(TURN).text) is SafeText
    assert duplicate(SAFE) == SAFE


def test_a_marked_text_is_a_plain_text_in_json() -> None:
    assert orjson.dumps({"text": SAFE}) == b'{"text":"the sea"}'
    assert type(json.loads(json.dumps([SAFE]))[0]) is str


@pytest.mark.parametrize("style", [psycopg.adapt.PyFormat.TEXT, psycopg.adapt.PyFormat.BINARY])
def test_a_marked_text_is_a_plain_text_for_postgres(style: psycopg.adapt.PyFormat) -> None:
    sent, plain = Transformer(), Transformer()
    assert sent.dump_sequence([SAFE, [SAFE]], [style, style]) == plain.dump_sequence(
        ["the sea", ["the sea"]], [style] * 2
    )
    assert sent.types == plain.types
