"""Delta debugging without a model: what is asked, how often, and how sure the answer is."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from math import log2
from time import process_time

import pytest
from hypothesis import given, strategies as st

from muniment.memory.errors import BadExtraction, BadInput
from muniment.memory.rules.bisection.judgement import parse_judgement
from muniment.memory.rules.bisection.minimal_set import SearchResult, find_causes
from muniment.memory.rules.bisection.reply_pattern import parse_pattern

SHOWN = 30
Oracle = Callable[[frozenset[int]], bool]


def search(count: int, runs: int, oracle: Oracle) -> tuple[SearchResult, int]:
    """The result of a search whose replies an oracle gives, and how many it took."""
    steps, replies = find_causes(count, runs), 0
    subset = next(steps)
    while True:
        replies += 1
        try:
            subset = steps.send(oracle(subset))
        except StopIteration as end:
            return end.value, replies


@given(st.integers(1, 60), st.data())
def test_the_minimal_set_of_a_deterministic_model(count: int, data: st.DataObject) -> None:
    """The minimal set in all, with at most 3 log2(n) + 6 calls for one cause."""
    causes = data.draw(st.frozensets(st.integers(0, count - 1), min_size=1, max_size=4))
    found, replies = search(count, 1, causes.issubset)
    assert (found.outcome, found.sets) == ("found", (tuple(sorted(causes)),))
    if len(causes) == 1:
        assert replies <= 3 * log2(max(2, count)) + 6


@given(st.frozensets(st.integers(0, 29), min_size=1, max_size=4))
def test_each_statement_that_suffices_is_named(causes: frozenset[int]) -> None:
    found, _ = search(SHOWN, 1, lambda shown: bool(causes & shown))
    assert sorted(found.sets) == [(each,) for each in sorted(causes)]


@given(st.integers(0, 12), st.randoms(use_true_random=False))
def test_a_model_of_any_kind_ends(count: int, draw: random.Random) -> None:
    """Also one whose replies follow no rule: a set that is named suffices and has nothing to spare."""
    said: dict[frozenset[int], bool] = {}

    def oracle(shown: frozenset[int]) -> bool:
        return said.setdefault(shown, draw.random() < 0.5)

    found, _ = search(count, 1, oracle)
    for each in found.sets:
        assert oracle(frozenset(each))
        assert len(each) == 1 or not any(oracle(frozenset(each) - {one}) for one in each)


@pytest.mark.parametrize("noise", ["coin", "silent"])
@pytest.mark.parametrize("causes", [1, 2, 3])
def test_a_model_that_answers_at_random_half_of_the_time(noise: str, causes: int) -> None:
    """Right in at least nine of ten with K = 5, and the rest is not certain: a wrong set is named in one of a hundred
    at most."""
    draw, outcomes = random.Random(causes), Counter[str]()
    for _ in range(200):
        needed = frozenset(draw.sample(range(SHOWN), causes))

        def oracle(shown: frozenset[int], needed: frozenset[int] = needed) -> bool:
            if draw.random() < 0.5:
                return noise == "coin" and draw.random() < 0.5
            return needed <= shown

        found, _ = search(SHOWN, 5, oracle)
        is_right = found.sets == (tuple(sorted(needed)),)
        outcomes["right" if is_right else "wrong" if found.sets else found.outcome] += 1
    assert outcomes["right"] >= 180
    assert outcomes["wrong"] <= 2


def test_what_no_statement_decides_is_told() -> None:
    draw = random.Random(3)
    assert search(SHOWN, 1, lambda _: True)[0].outcome == "unaided"
    assert search(SHOWN, 1, lambda _: False)[0].outcome == "not reproduced"
    assert search(0, 1, lambda _: False)[0].outcome == "not reproduced"
    assert search(SHOWN, 5, lambda _: draw.random() < 0.5)[0].outcome == "not certain"


@pytest.mark.parametrize(
    ("pattern", "reply", "fits"),
    [
        ("Blue Door", "Go to the  BLUE\ndoor!", True),
        ("blue|red", "a red one", True),
        ("moved to * in May", "You moved to Porto in May.", True),
        ("moved to * in May", "In May you moved to Porto.", False),
        (r"5 \* 3", "5 * 3 is 15", True),
        (r"5 \* 3", "5 and 3", False),
        ("里斯本", "你住在里斯本。", True),
        ("\\", "a \\ b", True),
    ],
)
def test_a_pattern(pattern: str, reply: str, fits: bool) -> None:
    assert parse_pattern(pattern).matches(reply) is fits


@pytest.mark.parametrize("pattern", ["", "  ", "*", "a|", "|a", "a| |b", "x" * 1_001])
def test_a_pattern_that_fits_everything_is_refused(pattern: str) -> None:
    with pytest.raises(BadInput, match="expect"):
        parse_pattern(pattern)


def test_a_hostile_pattern_takes_no_time() -> None:
    """It is read in linear time, whatever stands in it."""
    pattern = parse_pattern("|".join(["*a" * 20 + "b"] * 20))
    before = process_time()
    assert not pattern.matches("a" * 100_000)
    assert process_time() - before < 1


def test_a_judgement_is_yes_or_no() -> None:
    assert parse_judgement('So: {"yes": true}')
    assert not parse_judgement('{"yes": false}')
    with pytest.raises(BadExtraction):
        parse_judgement('{"yes": "perhaps"}')
    with pytest.raises(BadExtraction):
        parse_judgement("yes")
