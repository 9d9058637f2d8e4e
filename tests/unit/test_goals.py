"""Goals in many wordings: the same work stays one procedure, and staging never becomes production."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import pytest
from hypothesis import given, strategies as st

from muniment.memory.rules.procedures.goals import (
    has_same_steps,
    is_distinct,
    is_part_of,
    is_rewording,
    is_same_goal,
    merge_wordings,
    reaches_goal,
    renew_goal,
    split_wordings,
)
from muniment.memory.rules.procedures.procedure import Procedure, flatten_text

LINE = st.text(max_size=200).map(flatten_text).filter(bool)
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
        place = next((n for n, one in enumerate(known) if reaches_goal(new, one)), None)
        if place is None:
            known.append(new)
            continue
        before = known[place].goal
        known[place] = Procedure(goal=renew_goal(goal, before), steps=steps)
        named = {one for one in ("staging", "production") if one in before}
        assert named <= {one for one in ("staging", "production") if one in known[place].goal}
    for one in known:
        assert not ("staging" in one.goal and "production" in one.goal)
        assert not any(is_distinct(a, b) for a, b in combinations(split_wordings(one.goal), 2))


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
    """In one of its wordings and against none; what says less, or that something else is done, only by the same
    steps."""
    found = Procedure(goal=known, steps=ONE)
    assert reaches_goal(Procedure(goal=new, steps=ONE), found) is same_way
    assert reaches_goal(Procedure(goal=new, steps=OTHER), found) is other_way


def test_a_near_goal_may_say_much_more() -> None:
    """Not less, but by the same steps, and nothing that contradicts a wording; without a near meaning none of it."""
    short, long = (
        Procedure(goal="Deploy the release", steps=ONE),
        Procedure(goal="Deploy the shop release to the production cluster in Frankfurt", steps=OTHER),
    )
    assert reaches_goal(long, short, is_near=True)
    assert not reaches_goal(long, short)
    assert not reaches_goal(short, long, is_near=True)
    assert reaches_goal(replace(short, steps=OTHER), long, is_near=True)
    both = replace(short, goal="Deploy the release / Deploy the release to staging")
    assert not reaches_goal(long, both, is_near=True)


def test_wordings_outlive_other_steps() -> None:
    """The newest first; one that says more of the same stays before one that says less."""
    both = renew_goal("Pull the tables out of b.pdf", "Extract the tables from a.pdf")
    assert both == "Pull the tables out of b.pdf / Extract the tables from a.pdf"
    assert (
        renew_goal("Extract the tables from c.pdf", both)
        == "Extract the tables from c.pdf / Pull the tables out of b.pdf"
    )
    assert renew_goal("Deploy release 2.5", "Deploy release 2.4 to production") == "Deploy release 2.4 to production"
    assert renew_goal("Deploy it to staging", "Deploy it to production") == "Deploy it to staging"


@pytest.mark.parametrize(
    ("a", "b", "same"),
    [
        ("Convert report.pdf into a format that the portal accepts",
            "Convert invoice.pdf into a format the portal accepts", True),
        ("Deploy release 2.4 to production", "Deploy release 2.5 to production", True),
        ("Deploy release 2.4 to production", "Deploy release 2.4 to staging", False),
        ("把报告转换成PDF格式", "把新报告转换成PDF格式", True),
        ("把报告转换成PDF格式", "部署新版本到生产环境", False),
        ("Convert a.pdf", "Convert b.pdf", True),
        ("Deploy the shop release to the production cluster", "Deploy the shop release to the staging cluster", False),
        ("Upload the invoices to the tax portal", "Upload the receipts to the tax portal", False),
        ("Upload the invoices to the tax portal", "Send the invoices to the tax portal", True),
        ("2.4", "2.5", False),
    ],
)  # fmt: skip
def test_goals_are_one_but_for_what_differs_each_time(a: str, b: str, same: bool) -> None:
    """Files, versions and numbers do not count; another place to deploy to does."""
    assert is_same_goal(a, b) is same


@pytest.mark.parametrize(
    ("a", "b", "same"),
    [
        ("Extract the tables from scan.pdf", "Pull the tables out of invoice.pdf", True),
        ("Deploy release 2.4 to production", "Roll out release 2.4 to production", True),
        ("Run the nightly backup of the shop database", "Back up the shop database nightly", True),
        ("把报告转换成PDF格式", "把这份报告改成PDF", True),
        ("Deploy release 2.4 to production", "Deploy release 2.4 to staging", False),
        ("Delete the old backups", "Delete the old logs", False),
        ("Translate the contract to German", "Translate the contract to French", False),
        ("Build the docs", "Release the app", False),
        ("Enable the firewall", "Disable the firewall", False),
        ("Deploy", "Deploy it", False),
        ("把报告转换成PDF格式", "把合同转换成PDF格式", False),
    ],
)
def test_a_goal_may_be_said_in_another_way(a: str, b: str, same: bool) -> None:
    """What is done may be in other words, or more of them; what it is done to may not."""
    assert is_rewording(a, b) is same


def test_a_goal_may_be_a_part_of_another() -> None:
    """One that only says more; not one of a single word, nor one that says something else."""
    assert is_part_of("Deploy the release", "Deploy the new release to production")
    assert not is_part_of("Deploy", "Deploy the release")
    assert not is_part_of("Deploy to staging", "Deploy to production")


def test_steps_are_the_same_but_for_what_the_goal_names() -> None:
    """A file of the goal is another one each time; what is in no goal makes another procedure."""
    scan = Procedure(goal="Read scan.pdf", steps=("Call parse with path=scan.pdf, host=prod-1",))
    bill = Procedure(goal="Get at bill-2.pdf", steps=("Call  parse with path=bill-2.pdf, host=prod-1",))
    other = Procedure(goal="Read scan.pdf", steps=("Call parse with path=scan.pdf, host=prod-2",))
    assert has_same_steps(scan, replace(bill, steps=("call parse with path=bill-2.pdf, host=prod-1",)))
    assert not has_same_steps(scan, other)
    assert not has_same_steps(scan, replace(scan, steps=scan.steps * 2))


@given(st.lists(LINE, min_size=1, max_size=5))
def test_a_goal_keeps_its_wordings(wordings: list[str]) -> None:
    """The newest first, each once, within a line; it is read back as they were."""
    goal = ""
    for one in wordings:
        goal = merge_wordings(one, goal) if goal else one
    first, *more = split_wordings(goal)
    assert goal.startswith(wordings[-1])
    assert not any(is_same_goal(one, wordings[-1]) for one in more) or " / " in wordings[-1]
    assert len(goal) <= 160 or goal == wordings[-1]
    assert first
