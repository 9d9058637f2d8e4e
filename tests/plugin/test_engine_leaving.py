"""What leaves a thread of a host beside an engine, in a real database."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest_asyncio

from muniment.chain.host import Host
from muniment.chain.values import Identity, Message, TurnContext
from muniment.memory.client import Memory
from muniment.memory.domain.scope import Scope
from muniment.plugin.opening import open_plugin
from tests.engine import engine as open_engine
from tests.plugin.hosts import DAY

SAID = (
    Message(role="user", text="I am allergic to walnuts.", id="1", at=DAY),
    Message(role="assistant", text="I will remember that.", id="2", at=DAY),
    Message(role="user", text="Tell me a story.", id="3", at=DAY),
)


@pytest_asyncio.fixture
async def memory(database_url: str) -> AsyncIterator[Memory]:
    async with open_engine(database_url) as opened:
        yield opened


async def test_what_leaves_is_recorded_and_built(memory: Memory) -> None:
    """P-49: the messages are turns of the session, built once; the same again changes nothing, and `off` holds."""
    found = memory.engine.settings
    settings = found.model_copy(
        update={"plugin": found.plugin.model_copy(update={"enabled": True, "store": "engine", "recall_seconds": 20.0})}
    )
    scope = Scope(owner="ana")
    async with open_plugin(settings, memory=memory) as plugin, Host([plugin], before_seconds=30) as host:
        context = TurnContext(turn_id="4", identity=Identity(user="ana", session="one"), messages=SAID, at=DAY)
        for _ in range(2):
            assert await host.compact(context, SAID)
            session = await memory.sessions.get(scope, "one")
            assert [turn.text for turn in session.turns] == [message.text for message in SAID]
            assert session.session.built_to >= 2
            assert [each.text for each in await memory.list(scope)] == ["The user is allergic to walnuts"]
        quiet = replace(context, identity=Identity(user="ana", session="two"))
        asked = Message(role="user", text="/memory off", id="5", at=DAY)
        assert (await host.prepare(replace(quiet, messages=(asked,)))).reply
        assert await host.compact(quiet, [Message(role="user", text="I live in Rome.", id="6", at=DAY)])
        assert len(await memory.list(scope)) == 1
