"""What is forgotten by itself, and when a space has its turn."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from itertools import pairwise
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import given, strategies as st

from muniment.memory.config.settings import load_settings
from muniment.memory.domain.ids import MemoryId
from muniment.memory.domain.maintenance import RetentionTerms
from muniment.memory.domain.memory import StoredMemory
from muniment.memory.domain.scope import Scope
from muniment.memory.rules.policy.retention import (
    build_terms,
    describe_reason,
    find_last_touch,
    find_lifetime,
    hash_terms,
    is_forgettable,
)
from muniment.memory.rules.policy.schedule import compute_stagger, find_slot_start
from tests.engine import NOON

DAYS = timedelta(days=1)
SETTINGS = load_settings({"HOME": "/nonexistent"})
ANA = Scope(owner="ana")


def ruled(**changed: Any) -> RetentionTerms:
    forgetting = SETTINGS.forgetting.model_copy(update=changed)
    return build_terms(forgetting, SETTINGS.session_ledger, SETTINGS.categories)


def memory(days: float = 0, category: str = "goals", **more: Any) -> StoredMemory:
    """A memory that nobody has touched for so many days."""
    at = NOON - timedelta(days=days)
    return StoredMemory(
        id=MemoryId(uuid4()), kind="semantic", category=category, text="-", created_at=at, updated_at=at, **more
    )


@pytest.mark.parametrize(
    ("one", "gone"),
    [
        (memory(60), True),
        (memory(60 - 1e-6), False),
        (memory(60, importance=1), True),
        (memory(60, importance=3), False),
        (memory(180, importance=3), True),  # has faded to 2
        (memory(359, importance=4), False),
        (memory(360, importance=4), True),
        (memory(9_999, importance=5), False),
        (memory(60, pinned=True), False),
        (memory(60, "profile"), False),  # always in context
        (memory(60, state="superseded"), False),
        (memory(60, state="pending"), False),
        (memory(60, last_accessed_at=NOON - timedelta(days=59)), False),
        (memory(60, last_accessed_at=NOON - timedelta(days=300)), True),
        (replace(memory(300), created_at=NOON - 59 * DAYS), False),  # was so long ago, and was told lately
        (memory(60, "gone_from_the_settings"), True),
    ],
)
def test_what_is_forgotten(one: StoredMemory, gone: bool) -> None:
    """Untouched long enough, less important than the bound, not pinned, not always in context."""
    assert is_forgettable(ANA, one, ruled(), NOON) is gone


def test_days_of_their_own() -> None:
    """A category may be forgotten sooner, or never."""
    own = ruled(categories={"tasks": 30, "knowledge": None})
    assert is_forgettable(ANA, memory(30, "tasks"), own, NOON)
    assert not is_forgettable(ANA, memory(59, "goals"), own, NOON)
    assert find_lifetime(ANA, memory(9_999, "knowledge"), own) is None
    assert (
        find_lifetime(ANA, memory(9_999, "profile", run_id="r"), ruled(categories={"profile": 1}, scopes={"run": 1}))
        is None
    )


def test_a_run_is_forgotten_whatever_its_importance() -> None:
    """What belongs to a run goes after its days, but not what is pinned or never goes; what belongs to none stays."""
    own = ruled(scopes={"run": 7}, categories={"knowledge": None})
    assert is_forgettable(ANA, memory(7, importance=5, run_id="r"), own, NOON)
    assert not is_forgettable(ANA, memory(6, importance=1, run_id="r"), own, NOON)
    assert not is_forgettable(ANA, memory(7, importance=1), own, NOON)
    assert not is_forgettable(ANA, memory(7, run_id="r", pinned=True), own, NOON)
    assert not is_forgettable(ANA, memory(7, "knowledge", run_id="r"), own, NOON)
    assert not is_forgettable(ANA, memory(59, importance=5, run_id="r"), ruled(), NOON)
    assert is_forgettable(ANA, memory(7, importance=5, run_id="r"), ruled(scopes={"run": 7}, importance_below=1), NOON)
    kept = ruled(scopes={"user": 365})
    assert not is_forgettable(ANA, memory(364, importance=1), kept, NOON)
    assert is_forgettable(ANA, memory(365, importance=5), kept, NOON)


SAID = {"user": 400, "project": None, "agent": 90, "session": 200, "run": 7, "agent:scratch": 500, "agent:keeper": None,
        "user:eve": None, "project:atlas": 20}  # fmt: skip


@pytest.mark.parametrize(
    ("who", "of", "days"),
    [
        (ANA, {}, 400),
        (ANA, {"session_id": "s"}, 200),
        (ANA, {"session_id": "s", "run_id": "r"}, 7),
        (ANA, {"agent_id": "other"}, 90),
        (ANA, {"agent_id": "other", "session_id": "s"}, 90),
        (ANA, {"agent_id": "scratch"}, 400),  # the fewest days hold
        (ANA, {"agent_id": "keeper"}, 400),
        (Scope(owner="eve"), {}, 180),  # by its importance
        (Scope(owner="eve"), {"agent_id": "scratch"}, 500),
        (Scope(owner="eve"), {"agent_id": "keeper"}, 180),
        (Scope(owner="eve", owner_type="project"), {}, 180),
        (Scope(owner="atlas", owner_type="project"), {}, 20),
        (Scope(owner="atlas"), {}, 400),
        (Scope(owner="eve", owner_type="agent"), {}, 90),
        (Scope(owner="scratch", owner_type="agent"), {}, 500),
        (Scope(owner="keeper", owner_type="agent"), {}, 180),
        # A scope is who is asking, a memory what was filed: an agent that looks has nothing to do with its days.
        (Scope(owner="eve", agent="other", session="s", run="r"), {}, 180),
    ],
)
def test_scopes_have_days_of_their_own(who: Scope, of: dict[str, str], days: int) -> None:
    """Of all scopes that a memory belongs to the one with the fewest days decides, each by its name before its kind."""
    assert find_lifetime(who, memory(0, importance=3, **of), ruled(scopes=SAID)) == days * DAYS


def test_the_bounds_of_the_bound() -> None:
    """Nothing is less important than 1; everything is less important than 6."""
    assert not any(
        is_forgettable(ANA, memory(9_999, importance=n), ruled(importance_below=1), NOON) for n in range(1, 6)
    )
    assert all(is_forgettable(ANA, memory(60, importance=n), ruled(importance_below=6), NOON) for n in range(1, 6))


@given(days=st.integers(0, 2_000), importance=st.integers(1, 5), below=st.integers(1, 6), fade=st.integers(1, 400))
def test_the_moment_is_where_it_begins(days: int, importance: int, below: int, fade: int) -> None:
    """`lasts` is the first moment at which importance has faded below the bound, and from then on it stays so."""
    own = ruled(importance_below=below, fade_days=fade)
    one = memory(days, importance=importance)
    faded = importance if importance == 5 else max(1, importance - days // fade)
    assert is_forgettable(ANA, one, own, NOON) == (days >= own.untouched_days and faded < below)


def test_any_number_of_days_can_be_given() -> None:
    """A number beyond the calendar is as good as never."""
    endless = ruled(untouched_days=10**12, fade_days=10**12, scopes={"run": 10**12}, categories={"tasks": 10**12})
    for category in ("goals", "tasks"):
        assert not is_forgettable(ANA, memory(9_999, category, run_id="r"), endless, NOON)


def test_terms_are_told_apart() -> None:
    """The same days in another order are the same terms; a day more is not, wherever it is."""
    one = ruled(scopes={"user": 7, "run": None})
    assert hash_terms(one) == hash_terms(ruled(scopes={"run": None, "user": 7}))
    others = [ruled(scopes={"user": 8, "run": None}), ruled(scopes={"user": 7, "run": None}, fade_days=181),
              replace(one, turns=one.turns + DAYS), replace(one, categories={})]  # fmt: skip
    assert len({hash_terms(one), *map(hash_terms, others)}) == 5


def test_the_journal_says_how_long() -> None:
    """Whole days since the last touch."""
    one = memory(70, last_accessed_at=NOON - timedelta(days=61, hours=5))
    assert find_last_touch(one) == one.last_accessed_at
    assert describe_reason(one, NOON) == {"why": "untouched", "days": 61}


@given(now=st.timedeltas(-99_999 * DAYS, 99_999 * DAYS), hours=st.integers(1, 30))
def test_slots_follow_one_another(now: timedelta, hours: int) -> None:
    """Every moment is in one slot, and the next slot begins where it ends."""
    at, every = NOON + now, timedelta(hours=hours)
    start = find_slot_start(at, every)
    assert start <= at < start + every
    assert find_slot_start(start, every) == start
    assert find_slot_start(start + every, every) == start + every


def test_tenants_have_times_of_their_own() -> None:
    """Tenants are spread over the whole slot, the spaces of one of them over a tenth of it, always the same."""
    hour = timedelta(hours=1)
    spaces = [[compute_stagger(Scope(tenant=f"t{n}", owner=f"o{m}"), hour) for m in range(50)] for n in range(200)]
    assert spaces[7][3] == compute_stagger(Scope(tenant="t7", owner="o3"), hour)
    assert all(max(one) - min(one) < hour / 10 for one in spaces)
    assert all(max(one) - min(one) > hour / 20 for one in spaces)
    starts = sorted(min(one) for one in spaces)
    assert starts[0] < hour / 20
    assert hour * 0.85 < max(max(one) for one in spaces) < hour
    assert max(after - before for before, after in pairwise(starts)) < hour / 15
