"""Who and what has which part in what two memories tell: whence and whither, doing and done to."""

from __future__ import annotations

import pytest

from muniment.memory.rules.merging.consolidate import guard_judgement, judge_pair
from tests.unit.test_consolidate import LASTING, PROFILE, pair


@pytest.mark.parametrize(
    ("older", "newer", "taken"),
    [
        ("Rosa has berth 9 on the ferry from Split", "Rosa was moved to berth 4 on the ferry to Split", False),
        ("Rosa has berth 9 on the ferry to Split", "Rosa was moved to berth 4 on the ferry to Split", True),
        ("Rosa's ferry to Split is in dock 9", "Rosa's ferry from Split is in dock 4", False),
        ("The user's ferry to Split leaves at 9:15", "The user's ferry from Split leaves at 17:40", False),
        ("The user's ferry to Split is late", "The user's ferry from Split is cancelled", False),
    ],
)
def test_the_way_there_takes_no_place_of_the_way_back(older: str, newer: str, taken: bool) -> None:
    """Neither by the rules nor by a model: what comes from somewhere is not what goes there."""
    one = pair(older, newer)
    assert (
        judge_pair(one, PROFILE, LASTING)[0]
        == guard_judgement("supersedes", one, LASTING)
        == ("supersedes" if taken else "different")
    )
