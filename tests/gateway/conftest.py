"""The gateway in this process and as an installed program, each on a database of the test's own."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from muniment.faces.gateway.app import create_app
from muniment.faces.http.server import create_service
from muniment.memory import bootstrap
from muniment.memory.bootstrap import Tokens, open_tokens
from muniment.memory.client import Memory
from muniment.memory.config.settings import Settings, load_settings
from tests.http.conftest import Serving, make_environment

NOON_MS = 1_777_896_000_000
ALL = ["current_chat", "resources", "all_user_memory"]


@dataclass
class Client:
    """A user of the gateway in an application and a project, who asks it over HTTP."""

    http: httpx.AsyncClient
    key: str
    user: str = "ana"
    app: str = "default"
    project: str = "default"
    clock: list[int] = field(default_factory=lambda: [NOON_MS])

    @property
    def identity(self) -> dict[str, Any]:
        return {"user_id": self.user, "user_key": self.key, "app_id": self.app, "project_id": self.project}

    def within(self, app: str = "default", project: str = "default") -> Client:
        """The same user in another application or project."""
        return replace(self, app=app, project=project)

    def search_body(self, query: str, chat: str = "c1", *scopes: str, top_k: int = 8) -> dict[str, Any]:
        wanted = [*(scopes or ALL)]
        return self.identity | {"conversation_id": chat, "query": query, "scope": wanted, "top_k": top_k}

    def add_body(self, *said: str, chat: str = "c1") -> dict[str, Any]:
        """The user's and the assistant's words by turns, each a second after the other."""
        messages = []
        for number, text in enumerate(said):
            self.clock[0] += 1000
            role = "assistant" if number % 2 else "user"
            sender = "beaver" if number % 2 else self.user
            messages.append({"sender_id": sender, "role": role, "timestamp": self.clock[0], "content": text})
        return self.identity | {"session_id": f"chat:{chat}", "messages": messages}

    def flush_body(self, chat: str = "c1") -> dict[str, Any]:
        return self.identity | {"session_id": f"chat:{chat}"}

    async def post(self, path: str, body: Any) -> httpx.Response:
        return await self.http.post(f"/memories/{path}", json=body)

    async def search(self, query: str, chat: str = "c1", *scopes: str, top_k: int = 8) -> list[dict[str, Any]]:
        answer = await self.post("search", self.search_body(query, chat, *scopes, top_k=top_k))
        assert answer.status_code == 200, answer.text
        results: list[dict[str, Any]] = answer.json()["results"]
        return results

    async def add(self, *said: str, chat: str = "c1") -> dict[str, Any]:
        answer = await self.post("add", self.add_body(*said, chat=chat))
        assert answer.status_code == 200, answer.text
        result: dict[str, Any] = answer.json()
        return result

    async def flush(self, chat: str = "c1") -> str:
        answer = await self.post("flush", self.flush_body(chat))
        assert answer.status_code == 200, answer.text
        return str(answer.json()["status"])


@dataclass
class Host:
    """The gateway in this process."""

    memory: Memory
    tokens: Tokens
    issuer: Tokens
    http: httpx.AsyncClient
    settings: Settings

    async def make_client(self, user: str = "ana", **grant: Any) -> Client:
        """A user with a key as `muniment gateway user create` makes it."""
        given = {"tenant": "default", "agents": ("supervisor",)} | grant
        token, _ = await self.issuer.issue_token(owner=user, **given)
        return Client(self.http, token.get_secret_value(), user)


@asynccontextmanager
async def open_host(settings: Settings) -> AsyncIterator[Host]:
    async with (
        bootstrap.open_memory(settings) as memory,
        open_tokens(settings) as tokens,
        open_tokens(settings, as_owner=True) as issuer,
        httpx.AsyncClient(
            transport=httpx.ASGITransport(create_app(create_service(memory.engine.settings, memory, tokens))),
            base_url="http://gateway",
        ) as client,
    ):
        yield Host(memory, tokens, issuer, client, settings)


@pytest.fixture
async def host(database_url: str, tmp_path: Path) -> AsyncIterator[Host]:
    async with open_host(load_settings(make_environment(database_url, tmp_path))) as opened:
        yield opened


@pytest.fixture
async def ana(host: Host) -> Client:
    return await host.make_client()


@pytest.fixture
def gateway_process(database_url: str, tmp_path: Path) -> Iterator[Serving]:
    """`muniment gateway` without a worker."""
    serving = Serving(
        make_environment(database_url, tmp_path / "home"), tmp_path / "log", ("--no-worker",), command="gateway"
    )
    serving.tenant = "default"
    try:
        yield serving
    finally:
        if hasattr(serving, "process") and serving.process.poll() is None:
            serving.process.kill()
            serving.process.wait()
    assert "Traceback" not in serving.log
