"""Which threads hold what is erased: by their names, by the bytes of any checkpoint, or by what the last one says."""

from collections.abc import Callable

import psycopg
import pytest
from langchain_core.messages import HumanMessage

from muniment.graph.checkpointer import open_saver
from muniment.graph.erasure import erase_with_checkpoints, find_holding_threads
from muniment.graph.janitor import list_space_threads
from muniment.graph.turn import make_thread_key
from muniment.memory.domain.scope import Scope
from muniment.memory.errors import Denied
from muniment.nodes.state import Input, Who
from tests.graph.conftest import Talk

ANA, BEN = Scope(owner="ana"), Scope(owner="ben")
TEXT = "User is allergic to walnuts"


async def test_threads_that_hold_it(database_url: str, talk: Callable[..., Talk]) -> None:
    """Also where the ledger has forgotten that it was said; never another user's, whatever its name."""
    async with open_saver(database_url) as saver:
        speaking = talk(saver=saver)
        await speaking.say("Good morning to you.", thread="early")
        await speaking.say("I am allergic to walnuts.", thread="said")
        await speaking.say("Hello again.", thread="told")
        await speaking.say("Good morning.", thread="a", user="ben")
        await speaking.say("I am allergic to walnuts.", thread="b", user="ben")
        (held,) = [one for one in await speaking.memory.list(ANA) if "walnut" in one.text]
        traces = await speaking.memory.admin.find_traces(ANA, held.id)
        with psycopg.connect(database_url) as admin:
            admin.execute("delete from muniment.turns")

        def said(text: str) -> bool:
            return speaking.memory.admin.mentions(traces, text)

        assert await find_holding_threads(saver, ANA.space, (), traces.texts) == ["said", "told"]
        assert await find_holding_threads(saver, ANA.space, (), (), said) == ["said", "told"]
        assert await find_holding_threads(saver, ANA.space, (), ("lilac",), lambda _: False) == []
        named = await find_holding_threads(saver, ANA.space, ("early", "a", "b"))
        assert set(named) == {"early", *(make_thread_key(ANA.space, name) for name in ("early", "a", "b"))}
        assert await find_holding_threads(saver, BEN.space, (), traces.texts) == ["b"]


async def test_a_first_turn_that_was_cut_short(database_url: str, talk: Callable[..., Talk]) -> None:
    """Its thread is its speaker's, who may be the one whom nobody named a tenant for; what is said into somebody else's
    thread makes that nobody's but the owner's."""
    async with open_saver(database_url, tenant=talk().settings.tenant) as saver:
        speaking = talk(saver=saver)
        said = Input(messages=[HumanMessage("I am allergic to walnuts.")])
        for user, thread in (("ana", "cut"), ("ben", "other"), (None, "nobody")):
            await speaking.graph.ainvoke(
                said, speaking.config(thread), context=Who(user=user) if user else None, interrupt_before=["context"]
            )
        assert await list_space_threads(saver, ANA.space) == ["cut"]
        assert await find_holding_threads(saver, ANA.space, (), (), lambda text: "allergic to walnuts" in text) == [
            "cut"
        ]
        assert await list_space_threads(saver, Scope(owner="me").space) == []
        with pytest.raises(Denied):
            await speaking.say("Good morning.", thread="cut", user="ben")
        assert await speaking.memory.list(BEN) == []
        await speaking.say("Good morning to you.", thread="anas")
        with pytest.raises(Denied):
            await speaking.say("Hello, here is Ben.", thread="anas", user="ben")
        assert await list_space_threads(saver, BEN.space) == ["other"]
        assert (await erase_with_checkpoints(speaking.memory, [saver], ANA)).checkpoints["checkpoints"] > 2
        assert await list_space_threads(saver, ANA.space) == []
        assert await list_space_threads(saver, BEN.space) == ["other"]
