"""The words of a check file: what they match, in linear time, and which texts are nearest to them."""

from __future__ import annotations

from datetime import UTC, datetime
from time import perf_counter
from typing import Any
from uuid import uuid4

import pytest
from pydantic import ValidationError

from muniment.faces.check.words import FoundWords, MemoryWords, Words
from muniment.memory.domain.ids import MemoryId
from muniment.memory.domain.memory import StoredMemory

NOW = datetime(2026, 5, 4, tzinfo=UTC)


@pytest.mark.parametrize(
    ("given", "text", "wanted"),
    [
        ("porto", "The user lives in Porto", True),
        ("lives  in", "The user lives\nin Porto", True),
        ("PORTO", "The user lives in Ｐorto", True),
        ("Lisbon", "The user lives in Porto", False),
        ("住在", "用户住在上海", True),
        ({"exact": "The user lives in Porto"}, "The user  lives in Porto", True),
        ({"exact": "the user lives in Porto"}, "The user lives in Porto", False),
        ({"exact": "Porto"}, "The user lives in Porto", False),
        ({"pattern": "*lives in*"}, "The user lives in Porto", True),
        ({"pattern": "the user * porto"}, "The user lives in Porto", True),
        ({"pattern": "lives in*"}, "The user lives in Porto", False),
        ({"pattern": "the user*user lives*"}, "The user lives in Porto", False),
        ({"pattern": "a*a"}, "a", False),
        ({"pattern": "*b*a*"}, "ab", False),
        ({"any": ["Lisbon", "Porto"]}, "The user lives in Porto", True),
        ({"any": ["Lisbon", "Rome"]}, "The user lives in Porto", False),
    ],
)
def test_matches(given: Any, text: str, wanted: bool) -> None:
    """`contains`, `any` and `pattern` ignore case, width and runs of spaces; `exact` is the text as it stands."""
    assert Words.model_validate(given).matches(text) is wanted


@pytest.mark.parametrize(
    "given", ["", " ", {}, {"contains": "a", "exact": "b"}, {"pattern": "*"}, {"any": []}, 3, None]
)
def test_refused(given: Any) -> None:
    """Words that every text would have are refused, and so are two ways at once."""
    with pytest.raises(ValidationError):
        Words.model_validate(given)


def test_takes_linear_time() -> None:
    """A pattern on which a backtracking matcher would take for ever takes no longer than reading the text."""
    words = Words.model_validate({"pattern": "*a" * 200 + "b"})
    began = perf_counter()
    assert not words.matches("a" * 200_000)
    assert perf_counter() - began < 1


def make_memory(text: str, **more: Any) -> StoredMemory:
    return StoredMemory(
        id=MemoryId(uuid4()), kind="semantic", category="profile", text=text, created_at=NOW, updated_at=NOW, **more
    )


def test_of_a_memory() -> None:
    """Category, kind, trust and pin have to be right, too."""
    memory = make_memory("The user lives in Porto", pinned=True)
    right = {"contains": "Porto", "category": "profile", "kind": "semantic", "trust": "user", "pinned": True}
    assert MemoryWords.model_validate(right).matches_memory(memory)
    wrong: dict[str, Any] = {"category": "goals", "kind": "episodic", "trust": "tool", "pinned": False}
    for name, value in wrong.items():
        assert not MemoryWords.model_validate(right | {name: value}).matches_memory(memory), name
    assert FoundWords.model_validate(right).describe() == (
        '"Porto" (category profile, kind semantic, trust user, pinned True)'
    )


def test_nearest() -> None:
    """The texts that share most with the words come first, whatever the language."""
    texts = ["用户住在上海", "The user lives in Porto", "The user likes sailing"]
    assert Words.model_validate("lives in Lisbon").sort_nearest(texts)[0] == texts[1]
    assert Words.model_validate("住在北京").sort_nearest(texts)[0] == texts[0]
