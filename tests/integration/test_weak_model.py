"""The benchmark of a weak model's answers: its bars, over the real path."""

from __future__ import annotations

import pytest

from benchmarks import weak_model
from tests.engine import settings


@pytest.mark.timeout(120)
async def test_wrong_answers_stay_out_and_right_ones_come_in(database_url: str) -> None:
    """With the default embedder: at most 3 of 60 wrong ones, at least 54 of 60 right ones, no hostile one."""
    tuned = settings(database_url).model_copy(update={"embedder": "bge-small-en-v1.5-int8"})
    report = await weak_model.measure(weak_model.load_cases(), tuned)
    counts = {sort: parts["all"] for sort, parts in report["counts"].items()}
    assert counts["wrong"]["cases"] == counts["right"]["cases"] == 60
    assert counts["wrong"]["active"] <= 3
    assert counts["right"]["active"] >= 54
    assert counts["hostile"]["active"] == 0
