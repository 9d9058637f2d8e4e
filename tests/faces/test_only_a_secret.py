"""A text of which redaction leaves nothing is no memory, at whatever door it comes in."""

from __future__ import annotations

from dataclasses import replace

import pytest

from muniment.memory.client import Memory
from muniment.memory.domain.memory import Kind
from muniment.memory.domain.query import ListRequest
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import Candidate, Turn
from muniment.memory.errors import OnlySecret
from tests.engine import NOON, engine
from tests.faces.conftest import Muniment

KEY = "sk-" + "proj4Hq8Zt2Lw9Xc5Vb7Nm3Kd6Jf1Gs0Pa"
SECRETS = [KEY, f"{KEY}.", f"{KEY} / {KEY}", f"「{KEY}」"]
ANA = Scope(owner="ana")


async def count(memory: Memory) -> int:
    return (await memory.list_page(ANA, ListRequest(limit=1))).total


@pytest.mark.parametrize("text", SECRETS)
async def test_nothing_is_left_to_remember(database_url: str, text: str) -> None:
    """`remember`, an edit, a relation and a candidate refuse it with OnlySecret, which says what it was and not how it
    reads; nothing is kept."""
    async with engine(database_url) as memory:
        with pytest.raises(OnlySecret, match="an API key, which is not kept") as refusal:
            await memory.remember(ANA, text)
        assert "sk-" not in str(refusal.value)
        assert await count(memory) == 0
        receipt = await memory.remember(ANA, "The deployment runs on Kubernetes")
        (change,) = receipt.changes
        with pytest.raises(OnlySecret):
            await memory.edits.change_memory(ANA, str(change.after.id), text=text)
        turn = Turn.make(session="s", key="1", role="user", text=text, at=NOON)
        kinds: tuple[Kind, ...] = ("episodic", "semantic")
        for kind in kinds:
            candidate = Candidate(text=text, category="activity", kind=kind, turns=(turn.id,))
            with pytest.raises(OnlySecret):
                await memory.keep_candidates(ANA, [candidate], [turn])
        assert await count(memory) == 1


async def test_among_other_candidates_it_is_counted_with_its_reason(database_url: str) -> None:
    """What says more than a secret is kept without it."""
    async with engine(database_url) as memory:
        turn = Turn.make(session="s", key="1", role="user", text=KEY, at=NOON)
        secret = Candidate(text=KEY, category="activity", kind="episodic", turns=(turn.id,))
        kayak = replace(secret, text=f"The kayak shop has {KEY}")
        receipt = await memory.keep_candidates(ANA, [secret, kayak], [turn])
        assert (len(receipt.changes), receipt.refused) == (1, ("a secret",))


def test_the_command_line_says_so(muniment: Muniment) -> None:
    """The exit code is that of a wrong argument, and nothing is kept."""
    told = muniment("remember", KEY)
    assert (told.code, told.out) == (2, "")
    assert "nothing of it was kept: it has an API key" in told.err
    assert KEY not in told.err
    assert muniment("list", "--json").json["total"] == 0
