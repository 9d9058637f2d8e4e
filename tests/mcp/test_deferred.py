"""The endpoint of MCP is made at its first request, once, and its failure is that of the request."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, cast

import pytest

from muniment.faces.mcp.deferred import DeferredEndpoint
from muniment.memory.errors import BadConfig


class Endpoint:
    """Counts what is asked of it, and in which task it opens and closes."""

    made = 0

    def __init__(self) -> None:
        Endpoint.made += 1
        self.thread, self.asked, self.tasks = threading.get_ident(), 0, list[Any]()

    @asynccontextmanager
    async def run(self) -> AsyncIterator[None]:
        self.tasks.append(asyncio.current_task())
        yield
        self.tasks.append(asyncio.current_task())

    async def __call__(self, *_: Any) -> None:
        self.asked += 1


async def ask(endpoint: DeferredEndpoint) -> None:
    await endpoint({}, cast("Any", None), cast("Any", None))


async def test_requests_at_once_get_one_endpoint() -> None:
    Endpoint.made, made = 0, list[Any]()

    def make() -> Any:
        made.append(Endpoint())
        return made[0]

    deferred = DeferredEndpoint(make)
    async with deferred.run():
        assert Endpoint.made == 0
        first = asyncio.create_task(ask(deferred))
        await asyncio.sleep(0)
        first.cancel()  # a client that leaves meanwhile
        await asyncio.gather(*(ask(deferred) for _ in range(20)))
    (endpoint,) = made
    assert endpoint.asked == 20
    assert endpoint.thread != threading.get_ident()
    begin, end = endpoint.tasks
    assert begin is end


async def test_nobody_asks() -> None:
    Endpoint.made = 0
    async with DeferredEndpoint(cast("Any", Endpoint)).run():
        pass
    assert Endpoint.made == 0


async def test_what_cannot_be_made_fails_the_request() -> None:
    def make() -> Any:
        raise BadConfig("no such extra")

    deferred = DeferredEndpoint(make)
    async with deferred.run():
        for _ in range(2):
            with pytest.raises(BadConfig):
                await asyncio.wait_for(ask(deferred), 5)


def test_the_service_is_loaded_without_the_library() -> None:
    code = "import sys; import muniment.faces.http.server; sys.exit('mcp' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
