"""An id that comes from outside: its text will do, and anything else is told from a memory that is not there."""

import json
import re
from collections.abc import Awaitable, Callable
from typing import Any
from uuid import uuid4

import pytest

from muniment.memory.client import Memory
from muniment.memory.domain.query import Query
from muniment.memory.errors import BadInput, NotFound
from muniment.memory.payload import encode_answer
from tests.engine import engine, scope

WHO = scope("ana")
ONE: dict[str, Callable[[Memory, Any], Awaitable[Any]]] = {
    "why_not": lambda memory, given: memory.why_not(WHO, "supervisor", given, Query(text="Porto")),
    "get": lambda memory, given: memory.get(WHO, given),
    "related": lambda memory, given: memory.find_related(WHO, given),
    "history": lambda memory, given: memory.history(WHO, given),
    "pin": lambda memory, given: memory.pin(WHO, given),
    "forget": lambda memory, given: memory.forget(WHO, given),
    "restore": lambda memory, given: memory.restore(WHO, given),
    "traces": lambda memory, given: memory.admin.find_traces(WHO, given),
    "erase": lambda memory, given: memory.admin.erase(WHO, given),
}


@pytest.mark.parametrize("length", [36, 8])
async def test_an_id_may_be_text(database_url: str, length: int) -> None:
    """The whole text, or what a bullet shows of it."""
    async with engine(database_url) as memory:
        await memory.remember(WHO, "I live in Porto")
        [one] = await memory.list(WHO)
        for call in ONE.values():
            assert await call(memory, f" {str(one.id)[:length].upper()} ") is not None
        with pytest.raises(NotFound):
            await memory.get(WHO, one.id)
        assert not await memory.list(WHO, states=["active", "soft_deleted"])


async def test_what_is_no_id_is_told_without_being_shown(database_url: str) -> None:
    async with engine(database_url) as memory:
        for name, call in ONE.items():
            with pytest.raises(
                BadInput,
                match=r"^memory_id: an id or the first 4 or more digits of one wanted, text of 15 characters given$",
            ):
                await call(memory, "hunter2-hunter2")
            with pytest.raises(BadInput, match="int given"):
                await call(memory, 5)
            if name not in {"history", "traces"}:  # of which None is the whole space
                with pytest.raises(BadInput, match="NoneType given"):
                    await call(memory, None)
        with pytest.raises(NotFound):
            await memory.forget(WHO, str(uuid4()))


async def test_bullets_show_the_shortest_id_that_is_unambiguous(database_url: str) -> None:
    """Eight digits, and more where another memory of the space, also a forgotten one, begins alike."""
    ids = [f"{digits}-4000-8000-000000000000" for digits in ("5eed1e57-aaaa", "5eed1e57-aabb", "0ddba11e-1111")]
    texts = ("has a cello from Cremona", "sold a drum kit to a church", "repairs violins with Vera on Mondays")
    async with engine(database_url) as memory:
        await memory.load(scope("bo"), [{"text": f"The user {text}", "category": "activity"} for text in texts])
        exported = json.dumps(list(await memory.export(scope("bo"))), default=str)
        for one, id_ in zip(reversed(await memory.list(scope("bo"))), ids, strict=True):
            exported = exported.replace(str(one.id), id_)
        await memory.load(WHO, json.loads(exported))
        query = Query(text="instruments", threshold=0.0)
        shown = [hit["id"] for hit in encode_answer(await memory.query(WHO, "supervisor", query))["results"]]
        assert sorted(shown) == ["0ddba11e", "5eed1e57-aaa", "5eed1e57-aab"]
        assert [str((await memory.get(WHO, one)).id) for one in sorted(shown)] == [ids[2], ids[0], ids[1]]
        with pytest.raises(BadInput, match=re.escape(f"ambiguous: {ids[0]}, {ids[1]}")):
            await memory.get(WHO, "5eed1e57")
        await memory.forget(WHO, ids[0])
        shown = [hit["id"] for hit in encode_answer(await memory.query(WHO, "supervisor", query))["results"]]
        assert sorted(shown) == ["0ddba11e", "5eed1e57-aab"]
        with pytest.raises(NotFound, match="an id that begins with 5eed1e58"):
            await memory.get(WHO, "5eed1e58")
