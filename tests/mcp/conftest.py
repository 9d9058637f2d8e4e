"""The service with MCP, and the official client over both transports and in both generations of the protocol."""

import asyncio
import sys
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, Literal, TextIO
from uuid import uuid4

import httpx
import httpx2
import pytest
from mcp import Client, StdioServerParameters
from mcp.client import ClientRequestContext
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import ElicitRequestParams, ElicitResult

from tests.conftest import Clones
from tests.http.conftest import PROGRAM, Serving, make_environment

Generation = Literal["legacy", "2026-07-28"]
GENERATIONS: tuple[Generation, ...] = ("legacy", "2026-07-28")
Answer = tuple[Literal["accept", "decline", "cancel"], dict[str, Any] | None]
YES: Answer = ("accept", {"yes": True})


class Person:
    """Who answers the questions of a client, and what was asked."""

    def __init__(self, answer: Answer = YES) -> None:
        self.answer, self.questions = answer, list[str]()
        self.hesitates = False

    async def reply(self, context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult:
        self.questions.append(params.message)
        if self.hesitates:
            await asyncio.Event().wait()
        action, content = self.answer
        return ElicitResult(action=action, content=content)


class SharedService(Serving):
    """A service that several tests use one after the other, each as a tenant of its own."""

    def connect(self, token: str | None) -> httpx.Client:
        """A client of what no OpenAPI describes."""
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        return httpx.Client(base_url=self.url, headers=headers, timeout=30)


@pytest.fixture(scope="package")
def shared_service(clones: Clones, template: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SharedService]:
    """A service whose MCP may write."""
    folder = tmp_path_factory.mktemp("mcp")
    (folder / "serve.yaml").write_text("serve: {mcp_write: true}\n")
    for database_url in clones.make(template):
        environment = make_environment(database_url, folder / "home")
        environment["MUNIMENT_CONFIG"] = str(folder / "serve.yaml")
        service = SharedService(environment, folder / "log", ("--no-worker",))
        service.start()
        yield service
        code = service.stop()
        assert "Traceback" not in service.log
        assert code == 0


@pytest.fixture
def service(shared_service: SharedService) -> SharedService:
    """The service, with a tenant for this test."""
    shared_service.tenant = uuid4().hex
    return shared_service


@asynccontextmanager
async def connect_http(
    url: str,
    token: str,
    generation: Generation = "2026-07-28",
    person: Person | None = None,
    headers: Mapping[str, str] | None = None,
) -> AsyncIterator[Client]:
    """A client of the service."""
    async with httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}", **(headers or {})}, timeout=30) as http:
        transport = streamable_http_client(f"{url}/mcp", http_client=http)
        async with Client(transport, mode=generation, elicitation_callback=person.reply if person else None) as client:
            yield client


@asynccontextmanager
async def connect_stdio(
    environment: dict[str, str],
    *arguments: str,
    program: Sequence[str] = (PROGRAM,),
    errors: TextIO = sys.stderr,
    generation: Generation = "2026-07-28",
    person: Person | None = None,
) -> AsyncIterator[Client]:
    """A client of a process of its own."""
    command, *before = program
    server = StdioServerParameters(command=command, args=[*before, "mcp", *arguments], env=environment)
    transport = stdio_client(server, errlog=errors)
    async with Client(transport, mode=generation, elicitation_callback=person.reply if person else None) as client:
        yield client
