"""The quick look at the characters of an import lets nothing pass that cannot be stored."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import example, given, strategies as st

from muniment.memory import codec
from muniment.memory.domain.scope import Scope

TEXTS = st.text(st.sampled_from("aé水\0\\u\ud800\udc00"), max_size=6)
VALUES = st.recursive(
    TEXTS | st.integers() | st.none(),
    lambda one: st.lists(one, max_size=3) | st.dictionaries(TEXTS, one, max_size=3),
    max_leaves=6,
)


@given(st.lists(VALUES, max_size=3))
@example([{"a": "\0"}])
@example([{"a\0": 1}])
@example([{"a": [{"b": ["\0"]}]}])
@example([{"a": "\ud800"}])
def test_what_passes_is_sound(values: list[object]) -> None:
    """Wherever a NUL or half a character stands."""
    assert not codec.is_surely_storable(values) or codec.is_storable(values)


@pytest.mark.parametrize("value", [datetime.now(UTC).tzinfo, {1: "a"}, 2**70, "a\\u0000"])
def test_what_is_in_doubt_does_not(value: object) -> None:
    """What is no JSON, or looks as if it had a NUL, is left to the look at each text."""
    assert not codec.is_surely_storable([{"a": value}])


def test_an_ordinary_row_passes() -> None:
    """Otherwise the look would be for nothing."""
    assert codec.is_surely_storable([{"text": "Zoë wants 水", "tags": [], "confidence": 1.0, "fact": None}])


@pytest.mark.parametrize("name", ["owner", "tenant"])
def test_nobody_is_not_a_user_called_none(name: str) -> None:
    """All who have no name would share that one's memory."""
    with pytest.raises(TypeError):
        Scope(**{"owner": "ana", name: None})  # type: ignore[arg-type]
