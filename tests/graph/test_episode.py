"""Episodes in the graph: captured after the reply by the thread's own count, behind every fact, and never in its
way."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from muniment.memory.client import Conversation, Memory
from muniment.memory.domain.plan import Receipt
from muniment.memory.domain.scope import Scope
from muniment.memory.errors import StoreDown
from muniment.testing.fakes import FixedClock
from tests.graph.conftest import Talk, last

ASKED = "What about renting a car in Spain?"


async def episodes(talk: Talk) -> list[str]:
    found = await talk.memory.list(Scope(owner="ana", tenant=talk.settings.tenant))
    return [one.text for one in found if "episode" in one.tags]


async def test_three_turns_and_ten_minutes(talk: Callable[..., Talk], clock: FixedClock) -> None:
    """Then the count begins anew; facts come before the episode in another thread's header."""
    ana = talk()
    await ana.say(ASKED)
    clock.advance(600)
    state = await ana.say("Thanks!")
    assert (state["untold"], await episodes(ana)) == (2, [])
    state = await ana.say("I live in Lisbon.")
    assert (state["untold"], state["told_at"]) == (0, clock.now().isoformat())
    assert await episodes(ana) == ["On 2026-05-04 the user asked about renting a car in Spain"]
    header = (await ana.say("Hello!", thread="b"))["header"].splitlines()
    assert "Lisbon" in header[1]
    assert header[2] == "- +created: [Activity] On 2026-05-04 the user asked about renting a car in Spain (imp=1)"


async def test_until_then_memory_is_not_asked(
    talk: Callable[..., Talk], clock: FixedClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One look for twelve turns in twenty minutes; one that fails is no failure of the turn."""
    looks: list[Scope] = []

    async def look(self: Memory, scope: Scope) -> Receipt:
        looks.append(scope)
        raise StoreDown

    monkeypatch.setattr(Conversation, "capture", look)
    ana = talk()
    states: list[dict[str, Any]] = []
    for _ in range(12):
        states.append(await ana.say(ASKED))
        clock.advance(100)
    assert len(looks) == 1
    assert not any(state["unwritten"] for state in states)
    assert "unavailable" not in last(states[-1])
