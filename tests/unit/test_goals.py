"""Goals in many wordings: the same work stays one procedure, and staging never becomes production."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given, strategies as st

from muniment.memory.rules.goals import apart, goals, reaches, renewed
from muniment.memory.rules.procedure import Procedure

ORDERS = st.sampled_from(
    [
        f"{verb} release 2.{n} {place}".strip()
        for verb in ("Deploy", "Roll out")
        for n in (4, 5)
        for place in ("", "to staging", "to production")
    ]
)
ONE = ("Call deploy with env=prod",)
OTHER = ("Call check", "Call deploy with env=prod")


@given(st.lists(st.tuples(ORDERS, st.sampled_from([ONE, OTHER]))))
def test_a_goal_never_holds_two_places(work: list[tuple[str, tuple[str, ...]]]) -> None:
    """However often and in whatever words it is reached: its wordings agree, and what was named is not forgotten."""
    known: list[Procedure] = []
    for goal, steps in work:
        new = Procedure(goal=goal, steps=steps)
        place = next((n for n, one in enumerate(known) if reaches(new, one)), None)
        if place is None:
            known.append(new)
            continue
        before = known[place].goal
        known[place] = Procedure(goal=renewed(goal, before), steps=steps)
        named = {one for one in ("staging", "production") if one in before}
        assert named <= {one for one in ("staging", "production") if one in known[place].goal}
    for one in known:
        assert not ("staging" in one.goal and "production" in one.goal)
        assert not any(apart(a, b) for a, b in combinations(goals(one.goal), 2))


@pytest.mark.parametrize(
    ("new", "known", "same_way", "other_way"),
    [
        ("Deploy release 2.5 to production", "Deploy release 2.4 to production", True, True),
        ("Deploy release 2.5 to production", "Deploy the release", True, True),
        ("Deploy the release", "Deploy release 2.4 to production", True, False),
        ("Roll out the release to staging", "Roll out the release / Deploy release 2.4 to production", False, False),
        ("Extract the tables from a.pdf", "Pull the tables out of b.pdf / Extract the tables from c.pdf", True, True),
        ("Send the quarterly sales report", "Translate the quarterly sales report", True, False),
        ("把报告转换成PDF格式", "把新报告转换成PDF格式", True, True),
        ("Book the train to Lisbon", "Deploy the release", False, False),
    ],
)
def test_a_path_reaches_a_known_goal(new: str, known: str, same_way: bool, other_way: bool) -> None:
    """In one of its wordings and against none; what says less, or that something else is done, only by the same steps."""
    found = Procedure(goal=known, steps=ONE)
    assert reaches(Procedure(goal=new, steps=ONE), found) is same_way
    assert reaches(Procedure(goal=new, steps=OTHER), found) is other_way


def test_wordings_outlive_other_steps() -> None:
    """The newest first; one that says more of the same stays before one that says less."""
    both = renewed("Pull the tables out of b.pdf", "Extract the tables from a.pdf")
    assert both == "Pull the tables out of b.pdf / Extract the tables from a.pdf"
    assert (
        renewed("Extract the tables from c.pdf", both) == "Extract the tables from c.pdf / Pull the tables out of b.pdf"
    )
    assert renewed("Deploy release 2.5", "Deploy release 2.4 to production") == "Deploy release 2.4 to production"
    assert renewed("Deploy it to staging", "Deploy it to production") == "Deploy it to staging"
