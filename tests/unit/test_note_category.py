"""Which category a note gets, and that a doubtful one gets none that is always in context."""

from __future__ import annotations

from time import perf_counter

import pytest

from benchmarks import notes
from muniment.memory.rules.extraction.classify import choose_category


def test_unseen_sentences_are_filed_by_what_they_are_about() -> None:
    """Nine in ten of the sentences that were written after the rules, and hardly one wrongly in every context."""
    for figures in notes.measure()["unseen"].values():
        assert figures["right"] >= 0.9
        assert figures["in_context"] <= 0.04


@pytest.mark.parametrize(
    ("sentence", "category"),
    [
        ("I carry an EpiPen because of nuts", "constraints"),
        ("My sister is allergic to nuts", "relationships"),
        ("I never eat nuts because my sister is allergic to them", "constraints"),
        ("never tell my wife about the surprise", "constraints"),
        ("I’m allergic to wool", "constraints"),
        ("我对花生过敏", "constraints"),
        ("我妈妈对花生过敏", "relationships"),
        ("千万别告诉我妈", "constraints"),
    ],
)
def test_whose_constraint_it_is(sentence: str, category: str) -> None:
    """Only what binds the user is a constraint."""
    assert choose_category(sentence) == category


@pytest.mark.parametrize(
    "sentence", ["", "…", "the kettle hums", "Never mind", "it cannot be helped", "水开了", "0 0 0"]
)
def test_in_doubt_it_is_an_activity(sentence: str) -> None:
    """A sentence without a telling word is no profile and no constraint."""
    assert choose_category(sentence) == "activity"


def test_time_is_linear() -> None:
    """A sentence of any length is read in less than 20 ms, and its words count only up to a limit."""
    for words in ("I never fly with my sister ", "我喜欢吃辣的", "a-", "my ", "会"):
        choose_category(words)
        seconds = []
        for _ in range(3):  # others take the processor in between: the least is that of the reading
            started = perf_counter()
            choose_category(words * 100_000)
            seconds.append(perf_counter() - started)
        assert min(seconds) < 0.02
