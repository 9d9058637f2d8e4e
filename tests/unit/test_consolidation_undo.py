"""Whatever a consolidation decides, nothing is lost, and all of it can be taken back."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import uuid4

from hypothesis import given, settings, strategies as st

from muniment.memory.domain.consolidation import RunChange
from muniment.memory.domain.ids import TurnId
from muniment.memory.domain.memory import TRUST_RANK, StoredMemory, Trust
from muniment.memory.rules.merging.consolidate import (
    order_pair,
)
from muniment.memory.rules.merging.undo import plan_undo
from tests.engine import NOON
from tests.unit.test_consolidate import LATER, RUN, board, found, memory, pair

TEXTS = st.sampled_from(["The user likes tea", "The user likes tea.", "The user likes green tea", "The user has 2 cats",
                         "The user has 3 cats", "Tom likes tea", "The user does not like tea"])  # fmt: skip


TRUSTS: st.SearchStrategy[Trust] = st.sampled_from(["user", "tool", "document", "agent"])


@st.composite
def memories(draw: st.DrawFn) -> StoredMemory:
    return memory(
        draw(TEXTS),
        at=NOON + timedelta(days=draw(st.integers(0, 5))),
        category=draw(st.sampled_from(["activity", "profile"])),
        trust=draw(TRUSTS),
        pinned=draw(st.booleans()),
        importance=draw(st.integers(1, 5)),
        actor_id=draw(st.sampled_from([None, "ana", "ben"])),
        run_id=draw(st.sampled_from([None, None, "r", "s"])),
        agent_id=draw(st.sampled_from([None, None, "planner", "stylist"])),
        access_count=draw(st.integers(0, 3)),
        last_accessed_at=draw(st.sampled_from([None, NOON, LATER])),
        turns=(TurnId(uuid4()),),
    )


@settings(max_examples=150, deadline=None)
@given(st.lists(memories(), min_size=2, max_size=5), st.data())
def test_whatever_is_decided_nothing_is_lost_and_all_of_it_can_be_taken_back(
    known: list[StoredMemory], data: Any
) -> None:
    """A pin is never superseded, trust and importance never sink, no words of two people become one, each that gave way
    has an heir that is known wherever it was and as much in use, and taking back the steps gives the space as it
    was."""
    table = board(*known)
    for _ in range(4):
        older, newer = data.draw(st.permutations(known))[:2]
        table.apply_finding(
            found(pair(*order_pair(older, newer)), data.draw(st.sampled_from(["same", "supersedes", "different"])))
        )
    now = table.members.memories
    for before in known:
        after = now[before.id]
        assert after.text == before.text
        if after.state == "active":
            assert TRUST_RANK[after.trust] >= TRUST_RANK[before.trust]
            assert after.importance >= before.importance
            assert set(after.turns) >= set(before.turns)
        else:
            assert after.superseded_by is not None
            heir = now[after.superseded_by]
            assert {before.actor_id, heir.actor_id} != {"ana", "ben"}
            assert heir.pinned or not before.pinned
            assert heir.agent_id in (None, before.agent_id)
            assert heir.access_count >= before.access_count
            assert before.last_accessed_at is None or (heir.last_accessed_at or NOON) >= before.last_accessed_at
            assert TRUST_RANK[heir.trust] >= TRUST_RANK[before.trust] or before.trust != "user"
    lines = {one.id: [change for change in table.changes if change.after.id == one.id] for one in known}
    steps = [
        RunChange(
            before=one,
            now=now[one.id],
            journal_metas=tuple(change.meta | {"rev": n} for n, change in enumerate(lines[one.id])),
            is_untouched=True,
        )
        for one in known
        if lines[one.id]
    ]
    assert sum(one.access_count for one in now.values() if one.state == "active") == sum(
        one.access_count for one in known
    )
    back = plan_undo(steps, RUN)
    assert now | {change.after.id: change.after for change in back.changes} == {one.id: one for one in known}
    for one in back.access_transfers:
        assert (now[one.id].access_count - one.count, one.before) == next(
            (former.access_count, former.last_accessed_at) for former in known if former.id == one.id
        )
        assert now[one.id].last_accessed_at == one.at
    assert {id_ for some in back.separated_groups for id_ in some} == {one.now.id for one in steps}
