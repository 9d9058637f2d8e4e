"""An id that comes from outside: its text will do, and anything else is told from a memory that is not there."""

from collections.abc import Awaitable, Callable
from typing import Any
from uuid import uuid4

import pytest

from muniment.memory.client import Memory
from muniment.memory.domain.query import Query
from muniment.memory.errors import BadInput, NotFound
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


async def test_an_id_may_be_text(database_url: str) -> None:
    async with engine(database_url) as memory:
        await memory.remember(WHO, "I live in Porto")
        [one] = await memory.list(WHO)
        for call in ONE.values():
            assert await call(memory, str(one.id)) is not None
        with pytest.raises(NotFound):
            await memory.get(WHO, one.id)
        assert not await memory.list(WHO, states=["active", "soft_deleted"])


async def test_what_is_no_id_is_told_without_being_shown(database_url: str) -> None:
    async with engine(database_url) as memory:
        for name, call in ONE.items():
            with pytest.raises(BadInput, match=r"^memory_id: a UUID or its text wanted, text of 15 characters given$"):
                await call(memory, "hunter2-hunter2")
            with pytest.raises(BadInput, match="int given"):
                await call(memory, 5)
            if name not in {"history", "traces"}:  # of which None is the whole space
                with pytest.raises(BadInput, match="NoneType given"):
                    await call(memory, None)
        with pytest.raises(NotFound):
            await memory.forget(WHO, str(uuid4()))
