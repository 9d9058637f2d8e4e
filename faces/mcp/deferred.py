"""The endpoint of MCP, made at its first request: its library takes a third of the time in which a service starts."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from pydantic import SecretBytes
from starlette.types import Receive, Scope, Send

from muniment.memory.client import Memory

if TYPE_CHECKING:
    from muniment.faces.mcp.endpoint import McpEndpoint

PATH = "/mcp"
METHODS = ("POST", "DELETE")  # no stream of the server's own: it never begins to speak


class DeferredEndpoint:
    """An application that makes the endpoint when it is asked for the first time. It answers while `run` is open."""

    def __init__(self, make: Callable[[], McpEndpoint]) -> None:
        self._make = make
        self._wanted, self._ended = asyncio.Event(), asyncio.Event()
        self._opened: asyncio.Future[McpEndpoint] | None = None

    @asynccontextmanager
    async def run(self) -> AsyncIterator[None]:
        """Hold the endpoint while the context is open. Once only."""
        opened = self._opened = asyncio.get_running_loop().create_future()
        keeper = asyncio.create_task(self._hold_endpoint(opened))
        keeper.add_done_callback(lambda _: _pass_failure(keeper, opened))
        try:
            yield
        finally:
            self._ended.set()
            self._wanted.set()
            await asyncio.wait({keeper})  # its failure was that of the requests

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request by the endpoint. Raises what the endpoint raises."""
        if self._opened is None:
            raise RuntimeError("the endpoint of MCP is asked outside of `run`")
        self._wanted.set()
        endpoint = await asyncio.shield(self._opened)  # a client that leaves takes the endpoint from no other
        await endpoint(scope, receive, send)

    async def _hold_endpoint(self, opened: asyncio.Future[McpEndpoint]) -> None:
        """Make the endpoint when it is wanted, and keep it open: a task of its own, since its sessions end in the one
        in which they begin."""
        await self._wanted.wait()
        if self._ended.is_set():
            return
        endpoint = await asyncio.to_thread(self._make)
        async with endpoint.run():
            opened.set_result(endpoint)
            await self._ended.wait()


def _pass_failure(keeper: asyncio.Task[None], opened: asyncio.Future[McpEndpoint]) -> None:
    """Let requests that wait for an endpoint which could not be made fail as it did."""
    if opened.done():
        return
    if keeper.cancelled() or (error := keeper.exception()) is None:
        opened.cancel()
    else:
        opened.set_exception(error)


def make_endpoint(memory: Memory, key: SecretBytes, ending: asyncio.Event) -> McpEndpoint:
    """Return the endpoint. Blocking: its library is imported."""
    from muniment.faces.mcp.endpoint import McpEndpoint  # noqa: PLC0415 - the module's docstring says why

    return McpEndpoint(memory, key, ending)
