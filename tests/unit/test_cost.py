"""What a request costs: never guessed too low, and given back only when it was surely free."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from muniment.memory.config.schema import Price
from muniment.memory.errors import (
    BadExtraction,
    BadInput,
    BadModelAnswer,
    ModelError,
    ModelRateLimited,
    ModelTimeout,
    ModelUnavailable,
    MunimentError,
)
from muniment.memory.rules.policy import cost
from muniment.memory.rules.retrieval import render

PRICES = {"mini": Price(input=0.25, output=2.0)}
COUNTS = st.integers(0, 10_000_000)


def test_a_price_is_per_million_tokens() -> None:
    """A million tokens in and half a million out of a model for 0.25 and 2.00 cost 1.25."""
    made = cost.calculate_charge("extract", "mini", 1_000_000, 500_000, PRICES)
    assert (made.micros, made.purpose, made.model) == (1_250_000, "extract", "mini")
    assert cost.calculate_charge("extract", "mini", 1, 0, PRICES).micros == 1
    assert cost.calculate_charge("extract", "local", 1_000_000, 1_000_000, PRICES).micros == 0


@given(COUNTS, COUNTS, COUNTS, COUNTS)
def test_more_tokens_never_cost_less(asked: int, said: int, more: int, extra: int) -> None:
    """And nothing costs less than nothing."""
    little = cost.calculate_charge("reply", "mini", asked, said, PRICES).micros
    assert 0 <= little <= cost.calculate_charge("reply", "mini", asked + more, said + extra, PRICES).micros


@given(st.lists(st.text(), max_size=5), st.integers(1, 4000))
def test_an_estimate_holds_every_text_and_the_longest_answer(texts: list[str], answer: int) -> None:
    """Whatever is asked, the reservation is not below it."""
    made = cost.estimate_charge("reply", "mini", texts, answer, PRICES)
    assert made.input_tokens >= sum(map(render.count_tokens, texts))
    assert made.output_tokens == answer
    assert made == cost.calculate_charge("reply", "mini", made.input_tokens, answer, PRICES)


@pytest.mark.parametrize(
    ("error", "free"),
    [
        (ModelRateLimited(retry_after=1.0), True),
        (ModelUnavailable(status=500), True),
        (ModelUnavailable(status=401), True),
        (ModelError(status=400), True),
        (ModelUnavailable(sent=False), True),
        (ModelTimeout(sent=False), True),
        (BadInput("a tool's name"), True),
        (ModelUnavailable(sent=True), False),
        (ModelUnavailable(), False),
        (ModelTimeout(), False),
        (ModelTimeout(status=504), False),
        (BadModelAnswer("refused"), False),
        (BadExtraction(), False),
    ],
)
def test_only_what_was_surely_free_is_given_back(error: MunimentError, free: bool) -> None:
    """A status of failure or nothing sent; not a lost answer, and not one that cannot be used."""
    assert cost.is_unbilled(error) is free
