"""The official client over both transports, in both generations of the protocol."""

import json
from contextlib import AbstractAsyncContextManager
from typing import Any, Literal

import pytest
from mcp import Client
from mcp_types import TextContent, TextResourceContents

from muniment.faces.mcp.caller import create_caller
from muniment.faces.mcp.schemas import list_tools
from muniment.memory import bootstrap
from muniment.memory.config.settings import load_settings
from muniment.memory.domain.scope import Scope
from tests.engine import note
from tests.mcp.conftest import GENERATIONS, Generation, Person, SharedService, connect_http, connect_stdio

pytestmark = pytest.mark.xdist_group("mcp")  # one service for all
Transport = Literal["stdio", "http"]


def connect(
    service: SharedService, transport: Transport, generation: Generation, person: Person
) -> AbstractAsyncContextManager[Client]:
    """A client of the user ana through the planner, who may write."""
    if transport == "http":
        return connect_http(service.url, service.token(agents=("planner",)), generation, person)
    environment = service.environment | {"MUNIMENT_TENANT": service.tenant}
    arguments = ("--user", "ana", "--agent", "planner", "--write")
    return connect_stdio(environment, *arguments, generation=generation, person=person)


async def read(client: Client, uri: str) -> Any:
    """The value of a resource."""
    (content,) = (await client.read_resource(uri)).contents
    assert isinstance(content, TextResourceContents)
    return json.loads(content.text)


@pytest.mark.parametrize("generation", GENERATIONS)
@pytest.mark.parametrize("transport", ["stdio", "http"])
async def test_official_client(service: SharedService, transport: Transport, generation: Generation) -> None:
    """It lists what there is, remembers and forgets after a yes, searches with progress, and reads the resources."""
    person, seen = Person(), list[float]()

    async def note_progress(progress: float, total: float | None, message: str | None) -> None:
        seen.append(progress)

    async with connect(service, transport, generation, person) as client:
        assert (client.protocol_version == "2026-07-28") is (generation != "legacy")
        settings = load_settings({})
        caller = create_caller(settings, Scope(owner="ana"), "planner", may_write=True)
        assert (await client.list_tools()).tools == list_tools(settings, caller)
        assert {one.uri for one in (await client.list_resources()).resources} == {
            "memory://profile",
            "memory://changes",
        }
        (template,) = (await client.list_resource_templates()).resource_templates
        assert template.uri_template == "memory://memory/{id}"

        kept = await client.call_tool("memory.remember", {"text": "I want to run a marathon"})
        assert kept.structured_content
        assert kept.structured_content["written"]
        assert person.questions == ["Remember “I want to run a marathon”?"]
        (change,) = kept.structured_content["changes"]
        found = await client.call_tool("memory.query", {"query": "marathon"}, progress_callback=note_progress)
        assert seen == [0, 1]
        assert found.structured_content
        (hit,) = found.structured_content["results"]
        assert hit["text"].startswith("[goals] ")
        assert isinstance(found.content[0], TextContent)
        assert found.content[0].text.startswith("<recalled-memory>")

        memory = await read(client, f"memory://memory/{hit['id']}")
        assert memory["id"] == change["id"]
        assert [one["id"] for one in (await read(client, "memory://changes"))["changes"]] == [change["id"]]
        assert (await read(client, "memory://profile"))["rev"] == memory["rev"]

        person.answer = ("decline", None)
        refused = await client.call_tool("memory.forget", {"id": hit["id"]})
        assert refused.structured_content == {"written": False}
        person.answer = ("accept", {"yes": True})
        forgotten = await client.call_tool("memory.forget", {"id": hit["id"]})
        assert forgotten.structured_content
        assert forgotten.structured_content["written"]
        assert person.questions[-1] == f"Forget “{memory['text']}”?"
        nothing = await client.call_tool("memory.query", {"query": "marathon"})
        assert nothing.structured_content
        assert nothing.structured_content["results"] == []


@pytest.mark.parametrize("transport", ["stdio", "http"])
async def test_the_memory_of_a_project(service: SharedService, transport: Transport) -> None:
    """Who works on a shared project reads its memory beside the own, and who names none does not."""
    settings = load_settings(service.environment)
    atlas = Scope(owner="atlas", tenant=service.tenant, owner_type="project")
    async with bootstrap.open_shares(settings) as shares:
        await shares.grant_share(atlas, Scope(owner="ana", tenant=service.tenant), by="root")
    async with bootstrap.create_memory(settings) as memory:
        await memory.ingest(atlas, [note("The team meets on Mondays", "tasks")])
    token = service.token(agents=("planner",))
    environment = service.environment | {"MUNIMENT_TENANT": service.tenant}
    for project in ("atlas", None):
        if transport == "http":
            headers = {"X-Muniment-Project": project} if project else {}
            connection = connect_http(service.url, token, headers=headers)
        else:
            named = ("--project", project) if project else ()
            connection = connect_stdio(environment, "--user", "ana", "--agent", "planner", *named)
        async with connection as client:
            found = await client.call_tool("memory.query", {"query": "When does the team meet?"})
            assert found.structured_content
            results = found.structured_content["results"]
            assert [one.get("of") for one in results] == (["project"] if project else [])


async def test_the_profile(service: SharedService) -> None:
    """What always holds of the user is in the profile of an agent that may read it, and not in another's."""
    with service.client(service.token()) as ana:
        assert ana.post("/memories", json={"text": "I live in Rome"}).status_code == 201
    async with connect_http(service.url, service.token(agents=("supervisor",))) as client:
        assert "[profile] The user lives in Rome" in (await read(client, "memory://profile"))["profile"]
    async with connect_http(service.url, service.token(agents=("planner",))) as client:
        assert (await read(client, "memory://profile"))["profile"] == []
