"""What is refused, alike for what exists and what does not."""

from typing import Any
from uuid import uuid4

import httpx
import pytest
from mcp import MCPError
from mcp_types import TextContent

from tests.http.test_endpoints import keep
from tests.http.test_refusals import refuse
from tests.mcp.conftest import GENERATIONS, Generation, Person, SharedService, connect_http
from tests.mcp.raw import RawClient

pytestmark = pytest.mark.xdist_group("mcp")  # one service for all
HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}},
}


def greet(client: httpx.Client, **headers: str) -> httpx.Response:
    """The answer to the handshake of the older generation."""
    accept = {"Accept": "application/json, text/event-stream"}
    return client.post("/mcp", json=HELLO, headers=accept | headers)


def test_tokens(service: SharedService) -> None:
    """A token that is none is refused with 401, one that does not say whose memory it is, or which agent, with 403."""
    expired, revoked = service.token(days=-1), service.token()
    service.revoke_all()
    for token in (None, "x", f"mun_{'a' * 43}", expired, revoked):
        with service.connect(token) as client:
            refuse(greet(client), 401)
    grants: tuple[dict[str, Any], ...] = ({"owner": None}, {"agents": ("planner", "stylist")}, {"agents": ("nobody",)})
    for grant in grants:
        with service.connect(service.token(**grant)) as client:
            assert "muniment token create" in str(refuse(greet(client), 403)["message"])
    with service.connect(service.token()) as client:
        assert greet(client).status_code == 200
        refuse(greet(client, Origin="http://evil.example"), 403)
        assert greet(client, Origin="http://localhost:6274").status_code == 200
        assert refuse(client.get("/mcp"), 405)


def test_sessions(service: SharedService) -> None:
    """A session answers no token but its own, and says of another's what it says of none."""
    with service.connect(service.token()) as ana, service.connect(service.token(owner="bo")) as bo:
        session = greet(ana).headers["mcp-session-id"]
        ping = {"jsonrpc": "2.0", "id": 2, "method": "ping"}
        accept = {"Accept": "application/json, text/event-stream"}
        own, others, none = (
            client.post("/mcp", json=ping, headers=accept | {"Mcp-Session-Id": id_})
            for client, id_ in ((ana, session), (bo, session), (bo, uuid4().hex))
        )
        assert own.status_code == 200
        assert others.status_code == none.status_code == 404
        assert others.text == none.text


def test_many_sessions(service: SharedService) -> None:
    """A token has 20 sessions; a new one ends the one that was used longest ago, and nobody else's."""
    accept = {"Accept": "application/json, text/event-stream"}
    ping = {"jsonrpc": "2.0", "id": 2, "method": "ping"}
    with service.connect(service.token()) as ana, service.connect(service.token()) as other:

        def is_open(client: httpx.Client, session: str) -> bool:
            return client.post("/mcp", json=ping, headers=accept | {"Mcp-Session-Id": session}).status_code == 200

        others = greet(other).headers["mcp-session-id"]
        sessions = [greet(ana).headers["mcp-session-id"] for _ in range(20)]
        assert all(is_open(ana, session) for session in sessions)
        assert is_open(ana, sessions[0])
        left = {"Mcp-Session-Id": sessions.pop()}
        assert ana.delete("/mcp", headers=left).status_code == 200
        sessions += [greet(ana).headers["mcp-session-id"] for _ in range(2)]
        assert [is_open(ana, session) for session in sessions] == [number != 1 for number in range(21)]
        assert is_open(other, others)


@pytest.mark.parametrize("generation", GENERATIONS)
async def test_what_a_token_permits(service: SharedService, generation: Generation) -> None:
    """Memories of other users, tenants and categories are as missing ones, and a token to read has no tool to write."""
    with service.client(service.token()) as ana:
        goal, city = (
            keep(ana, "I want to run a marathon", category="goals"),
            keep(ana, "I live in Rome", category="profile"),
        )
    grants: tuple[dict[str, Any], ...] = ({"owner": "bo"}, {"tenant": "other"}, {"agents": ("planner",)})
    for grant in grants:
        async with connect_http(service.url, service.token(**grant), generation, Person()) as client:
            said = set()
            for id_ in (city["id"], str(uuid4())):
                with pytest.raises(MCPError) as missing:
                    await client.read_resource(f"memory://memory/{id_}")
                (content,) = (await client.call_tool("memory.forget", {"id": id_})).content
                assert isinstance(content, TextContent)
                said.add((missing.value.code, missing.value.message, content.text))
            assert len(said) == 1
            found = await client.call_tool("memory.query", {"query": "Rome", "threshold": 0})
            assert "Rome" not in str(found)
            assert "Rome" not in str(await client.read_resource("memory://changes"))
    async with connect_http(service.url, service.token(agents=("planner",)), generation) as client:
        own = f"memory://memory/{goal['id']}"
        assert str(goal["id"]) in str(await client.read_resource(own))
        denied = [
            str((await client.call_tool("memory.query", arguments)).content)
            for name in ("profile", "nothing")
            for arguments in ({"query": "x", "categories": [name]}, {"query": "x", "filters": {"category": name}})
        ]
        assert len(set(denied)) == 1
        assert "Denied" in denied[0]
    async with connect_http(service.url, service.token(scopes=("read",)), generation, Person()) as client:
        assert [tool.name for tool in (await client.list_tools()).tools] == ["memory.query"]
        for tool in ("memory.remember", "memory.nothing"):
            with pytest.raises(MCPError, match="Unknown tool"):
                await client.call_tool(tool, {"text": "I live in Oslo"})


def test_arguments(service: SharedService) -> None:
    """An argument that is not valid is an answer that the model can read; it names no user and no agent."""
    wrong: tuple[dict[str, Any], ...] = (
        {}, {"query": None}, {"query": "x", "top_k": 0}, {"query": "x", "top_k": True}, {"query": "x", "return": "all"},
        {"query": "x", "filters": {"user_id": "bo"}}, {"query": "x", "filters": []}, {"query": "x", "user": "bo"},
        {"query": "x", "agent": "stylist"}, {"query": "x\x00"}, {"query": "x", "as_of": "soon"},
        {"query": "x", "as_of": "999"}, {"query": "x", "categories": "goals"}, {"query": "x", "threshold": 2},
    )  # fmt: skip
    with RawClient(service.url, service.token()) as client:
        for arguments in wrong:
            answer = client.call("memory.query", **arguments)
            assert answer.get("isError"), (arguments, answer)
            assert answer["content"][0]["text"].startswith(("BadInput: ", "Denied: "))
        assert not client.call("memory.query", query="x", as_of="0").get("isError")
