"""Which threads hold what is erased: by their names, by the bytes of any checkpoint, or by what the last one says."""

from collections.abc import Callable

import psycopg

from muniment.graph.checkpointer import open_saver
from muniment.graph.erasing import holding
from muniment.graph.turn import thread_key
from muniment.memory.records import Scope
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
        traces = await speaking.memory.traces(ANA, held.id)
        with psycopg.connect(database_url) as admin:
            admin.execute("delete from muniment.turns")

        def said(text: str) -> bool:
            return speaking.memory.said_in(traces, text)

        assert await holding(saver, ANA.space, (), traces.texts) == ["said", "told"]
        assert await holding(saver, ANA.space, (), (), said) == ["said", "told"]
        assert await holding(saver, ANA.space, (), ("lilac",), lambda _: False) == []
        named = await holding(saver, ANA.space, ("early", "a", "b"))
        assert set(named) == {"early", *(thread_key(ANA.space, name) for name in ("early", "a", "b"))}
        assert await holding(saver, BEN.space, (), traces.texts) == ["b"]
