"""The gateway in this process, and a client of it over loopback: what the benchmarks of it share."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from muniment.faces.gateway.server import serve_requests
from muniment.faces.http.server import create_service, listen_on
from muniment.memory import bootstrap
from muniment.memory.bootstrap import Tokens
from muniment.memory.client import Memory
from muniment.memory.config import settings

UNLIMITED = 1_000_000  # requests a second: what is measured is the service, not its limits


def lift_limits(base: settings.Settings) -> settings.Settings:
    """The settings without a limit on the requests of a key."""
    serve = base.serve.model_copy(update={"requests_per_second": UNLIMITED, "burst": UNLIMITED})
    return base.model_copy(update={"serve": serve, "tenant": "default"})


class Connection:
    """A connection of a user to the gateway: a socket that sends bytes and reads an answer. It is opened again where
    the service has closed it."""

    def __init__(self, port: int, user: str, key: str) -> None:
        self._port, self._user, self._key = port, user, key
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def post(self, path: str, **fields: Any) -> dict[str, Any]:
        """Send a request in the application and project `default`, and return the answer. Raises OSError for one that
        is an error."""
        if self._streams is None or self._streams[0].at_eof():
            self._streams = await asyncio.open_connection("127.0.0.1", self._port)
        reader, writer = self._streams
        identity = {"user_id": self._user, "user_key": self._key, "app_id": "default", "project_id": "default"}
        body = json.dumps(identity | fields)
        writer.write(
            f"POST /memories/{path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(body)}\r\n\r\n{body}".encode()
        )
        head = (await reader.readuntil(b"\r\n\r\n")).lower()
        answer = await reader.readexactly(int(head.split(b"content-length: ")[1].split(b"\r\n")[0]))
        if b" 200 " not in head[:16]:
            raise OSError(answer.decode()[:200])
        found: dict[str, Any] = json.loads(answer)
        return found

    async def search(self, text: str, chat: str, *scopes: str, top_k: int = 10) -> list[dict[str, Any]]:
        """Return the results of a search."""
        found = await self.post("search", conversation_id=chat, query=text, scope=[*scopes], top_k=top_k)
        results: list[dict[str, Any]] = found["results"]
        return results


@asynccontextmanager
async def open_gateway(own: settings.Settings, memory: Memory) -> AsyncIterator[tuple[int, Tokens]]:
    """The gateway over an open memory: its port, and tokens that make keys."""
    async with bootstrap.open_tokens(own, as_owner=True) as tokens:
        listener = listen_on("127.0.0.1", 0)
        serving = asyncio.create_task(serve_requests(create_service(own, memory, tokens), listener))
        try:
            yield listener.getsockname()[1], tokens
        finally:
            serving.cancel()
            await asyncio.gather(serving, return_exceptions=True)


async def make_key(tokens: Tokens, own: settings.Settings, user: str) -> str:
    """Make a key for a user, as `muniment gateway user create` does."""
    token, _ = await tokens.issue_token(tenant=own.tenant, owner=user, agents=(own.gateway.agent,))
    return token.get_secret_value()
