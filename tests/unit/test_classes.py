"""What one memory of a pair is to the other, and what is never merged away."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from muniment.memory.domain.consolidation import Judgement, PairClass
from muniment.memory.rules.merging.classes import Protection, classify_pair
from tests.engine import NOON
from tests.unit.test_consolidate import LATER, board, fact, found, memory, pair

HOME: dict[str, Any] = {"fact": fact("lives_in", "Porto", single=True)}


@pytest.mark.parametrize(
    ("older", "newer", "judgement", "wanted"),
    [
        ("The user grows tomatoes", "The user grows tomatoes.", "same", "duplicate"),
        ("The user grows tomatoes", "The user grows tomatoes on the roof", "same", "refinement"),
        ("用户种番茄", "用户在屋顶种番茄", "same", "refinement"),
        ("The user lives in Porto", "The user lives in Braga", "supersedes", "changed_value"),
        ("The user eats mushrooms", "The user does not eat mushrooms", "supersedes", "contradiction"),
        ("The user eats mushrooms", "The user does not eat mushrooms", "different", "contradiction"),
        ("The user's brother plays chess", "The user's sister plays chess", "different", "other_owner"),
        ("The user grows tomatoes", "The user repairs violins", "different", "unrelated"),
        ("The user grows tomatoes", "The user repairs violins", None, None),
    ],
)
def test_the_class_of_a_pair(older: str, newer: str, judgement: Judgement | None, wanted: PairClass | None) -> None:
    """It says why two are merged, or why they stay two."""
    assert classify_pair(pair(older, newer), judgement) == wanted


def test_two_times_and_two_speakers() -> None:
    """What happened at two times happened twice; what two people said is of two owners."""
    one: dict[str, Any] = {"kind": "episodic"}
    first = memory("The user met Ben", event_time=NOON, **one)
    second = memory("The user met Ben", event_time=NOON + timedelta(days=9), **one)
    assert classify_pair(pair(first, second), "different") == "other_time"
    ana, ben = (memory("The lamp is brass", actor_id=who) for who in ("ana", "ben"))
    assert classify_pair(pair(ana, ben), "different") == "other_owner"


@pytest.mark.parametrize("why", ["pinned", "important", "approved"])
def test_what_is_protected_stays(why: str) -> None:
    """The other one gives way to it; two that are protected stay two; a later value does not end it."""
    kept = memory("The user lives in Porto", trust="agent", **HOME)
    protected = {
        "pinned": replace(kept, pinned=True),
        "important": replace(kept, importance=5),
        "approved": kept,
    }[why]
    protection = Protection(importance_from=5, approved={kept.id} if why == "approved" else ())
    twin = memory("The user lives in Porto.", at=LATER, **HOME)
    table = board(protected, twin)
    table.protection = protection
    outcome, finding = table.apply_finding(found(pair(protected, twin), "same"))
    assert (outcome, finding.pair_class) == ("same", "duplicate")
    assert [one.id for one in table.members.memories.values() if one.state == "active"] == [protected.id]
    assert {change.meta["class"] for change in table.changes} == {"duplicate"}

    both = (protected, replace(twin, pinned=True))
    table = board(*both)
    table.protection = protection
    outcome, finding = table.apply_finding(found(pair(*both), "same"))
    assert (outcome, finding.judgement, finding.pair_class, table.changes) == ("distinct", "different", "duplicate", [])

    later = memory("The user lives in Braga", at=LATER, fact=fact("lives_in", "Braga", single=True))
    table = board(protected, later)
    table.protection = protection
    assert table.apply_finding(found(pair(protected, later), "supersedes"))[0] == "distinct"


def test_general_knowledge_is_not_lost_to_a_protected_memory_of_an_agent() -> None:
    """Both stay."""
    general = memory("The user lives in Porto", **HOME)
    theirs = memory("The user lives in Porto.", at=LATER, pinned=True, agent_id="a")
    table = board(general, theirs)
    assert table.apply_finding(found(pair(general, theirs), "same"))[0] == "distinct"
