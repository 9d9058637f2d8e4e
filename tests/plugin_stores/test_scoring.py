"""The one formula (P-76), and what its parts are."""

from __future__ import annotations

from datetime import timedelta

import pytest

from muniment.memory.config.settings import load_settings
from muniment.plugin.stores.scoring import (
    Weights,
    compute_score,
    list_query_terms,
    make_weights,
    measure_keywords,
    measure_recency,
    scale_cosine,
    score_item,
)
from tests.plugin_stores.items import START, ask, make_item

PROFILE = load_settings({}).find_profile("bge-small-en-v1.5-int8")


def test_the_weights_are_those_of_the_settings() -> None:
    """P-76: `0.55 semantic + 0.35 keyword + 0.10 recency`."""
    assert make_weights(load_settings({}).plugin) == Weights(
        semantic=0.55, keyword=0.35, recency=0.10, half_life_days=30
    )


@pytest.mark.parametrize(
    ("meaning", "lexemes", "days", "total"),
    [
        (1.0, {"auth", "refactor"}, 0, 1.0),
        (0.5, {"auth"}, 30, 0.55 * 0.5 + 0.35 * 0.5 + 0.10 * 0.5),
        (0.0, set(), 0, 0.10),
        (None, {"auth", "refactor"}, 0, 1.0),
        (None, {"auth"}, 30, (0.35 * 0.5 + 0.10 * 0.5) / 0.45),
    ],
)
def test_the_formula(meaning: float | None, lexemes: set[str], days: float, total: float) -> None:
    """P-76; without vectors the other two weights are rescaled."""
    score = compute_score(
        terms=("auth", "refactor"),
        lexemes=lexemes,
        meaning=meaning,
        at=START + timedelta(days=days),
        changed_at=START,
        weights=Weights(),
    )
    assert score.total == pytest.approx(total)
    assert ("semantic" in score.parts) == (meaning is not None)


def test_recency_halves() -> None:
    """P-75."""
    assert measure_recency(START, START, 30) == 1
    assert measure_recency(START + timedelta(days=60), START, 30) == pytest.approx(0.25)
    assert measure_recency(START - timedelta(days=60), START, 30) == 1


def test_keywords_are_the_share_of_the_terms_of_a_query() -> None:
    assert measure_keywords(list_query_terms("the auth refactors"), {"auth"}) == 0.5
    assert measure_keywords(list_query_terms("and or the"), {"auth"}) == 0
    many = [f"word{number}" for number in range(30)]
    assert measure_keywords(many, many[:6]) == 0.5  # of a long message twelve words are all


def test_a_cosine_means_what_the_profile_says() -> None:
    """From the floor to the ceiling; a text that the model cannot read is not compared."""
    assert scale_cosine(PROFILE.floor, PROFILE, "a", "b") == 0
    assert scale_cosine(PROFILE.ceiling, PROFILE, "a", "b") == 1
    assert scale_cosine(-1, PROFILE, "a", "b") == 0
    assert scale_cosine(0.9, PROFILE, "认证", "auth") is None
    assert scale_cosine(None, PROFILE, "a", "b") is None


def test_what_is_only_new_is_not_relevant() -> None:
    assert not score_item(make_item("Lunch is at noon."), ask("auth refactor"), Weights()).is_relevant
