"""LangGraph's server with tokens: what two users, who are both logged in, can do to each other, on every endpoint."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from muniment import load_settings
from muniment.memory import bootstrap
from muniment.memory.domain.scope import Permission, Scope
from tests.graph.serving import served

TRIES = 60
CANARY = "Quetzalcoatlus"
ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
TIME = re.compile(r"\d{4}-\d{2}-\d{2}T[0-9:.+]+")
SAID = {"messages": [{"role": "user", "content": "What do I like?"}]}
RUN = {"assistant_id": "supervisor", "input": SAID}
# What a stranger sends to an endpoint, with the ids of the owner in place of their names; {} to any other.
BODIES: dict[str, list[dict[str, Any]]] = {
    "POST /assistants/search": [{"name": CANARY}, {"metadata": {"owner": "<space>"}}, {"graph_id": "supervisor"}],
    "POST /assistants/count": [{"name": CANARY}, {"metadata": {"owner": "<space>"}}, {}],
    "PATCH /assistants/{assistant_id}": [{"name": "x"}, {"metadata": {"owner": "<space>"}}],
    "POST /assistants/{assistant_id}/latest": [{"version": 1}],
    "POST /threads/search": [
        {}, {"ids": ["<thread_id>"]}, {"metadata": {"owner": "<space>"}}, {"values": {"space": "<space>"}},
        {"status": "idle"}, {"limit": 1000}, {"extract": {"a": "values.messages[0].content"}},
    ],
    "POST /threads/count": [{}, {"metadata": {"owner": "<space>"}}, {"values": {"space": "<space>"}}],
    "POST /threads/prune": [{"thread_ids": ["<thread_id>"]}, {"thread_ids": ["<thread_id>"], "strategy": "delete"}],
    "PATCH /threads/{thread_id}": [{"metadata": {"owner": "mine"}}, {"metadata": {"a": 1}}],
    "POST /threads/{thread_id}/state": [
        {"values": {"told_offline": True}}, {"values": {"space": "<space>"}, "as_node": "context"},
        {"values": {"messages": SAID["messages"]}, "as_node": "supervisor"}, {"checkpoint_id": "<checkpoint_id>"},
    ],
    "POST /threads/{thread_id}/state/checkpoint": [{"checkpoint": {"checkpoint_id": "<checkpoint_id>"}}],
    "POST /threads/{thread_id}/history": [{"limit": 100}, {"checkpoint": {"checkpoint_id": "<checkpoint_id>"}}],
    "POST /threads/{thread_id}/stream/events": [{"channels": ["values", "messages"], "since": 0}],
    "POST /threads/{thread_id}/runs/crons": [{"schedule": "0 0 1 1 *", **RUN}],
    "POST /runs/crons": [{"schedule": "0 0 1 1 *", **RUN, "assistant_id": "<assistant_id>"}],
    "POST /runs/crons/search": [{}, {"thread_id": "<thread_id>"}, {"assistant_id": "<assistant_id>"}],
    "POST /runs/crons/count": [{}, {"thread_id": "<thread_id>"}, {"assistant_id": "<assistant_id>"}],
    "PATCH /runs/crons/{cron_id}": [{"enabled": False}, {"metadata": {"owner": "<space>"}}, {"input": SAID}],
    "POST /runs/cancel": [{"thread_id": "<thread_id>", "run_ids": ["<run_id>"]}, {"status": "all"}],
    "POST /runs/batch": [[{**RUN, "assistant_id": "<assistant_id>"}]],  # type: ignore[list-item]  # a body that is a list
    "PUT /store/items": [{"namespace": ["a"], "key": "k", "value": {"v": 1}}],
    "DELETE /store/items": [{"namespace": ["a"], "key": "k"}],
    "POST /store/items/search": [{"namespace_prefix": []}, {"namespace_prefix": ["a"], "query": CANARY}],
    "POST /store/namespaces": [{}, {"suffix": ["a"]}, {"max_depth": 1}],
}  # fmt: skip
RUNS: list[dict[str, Any]] = [
    RUN,
    RUN | {"context": {"user": "ana"}},
    RUN | {"context": {"user": "ana", "tenant": "default"}},
    RUN | {"config": {"configurable": {"user": "ana", "langgraph_auth_user_id": "ana"}}},
    RUN | {"checkpoint_id": "<checkpoint_id>"},
    RUN | {"metadata": {"owner": "<space>"}, "multitask_strategy": "interrupt"},
    {"assistant_id": "supervisor", "command": {"resume": "yes"}},
    {"assistant_id": "supervisor", "command": {"update": {"space": "<space>"}}},
]
STATELESS = [{**RUN, "assistant_id": "<assistant_id>"}, RUN | {"context": {"user": "ana", "tenant": "default"}}]
QUERIES = {"GET /store/items": ["namespace=a&key=k"]}
OPEN = {"/", "/info", "/ok", "/metrics", "/docs", "/openapi.json"}
CLOSED = ("/internal", "/deploy")
# What is not there yet is made by these: what they answer of another's is checked apart.
MAKES = {"POST /threads/{thread_id}/commands", "POST /threads", "POST /assistants"}


@dataclass
class Server:
    """An address, and a token for each user."""

    address: str
    tokens: dict[str, str]

    def client(self, user: str | None) -> httpx.AsyncClient:
        headers = {"Authorization": f"Bearer {self.tokens[user]}"} if user else {}
        return httpx.AsyncClient(base_url=self.address, headers=headers, timeout=60)


async def issue_tokens(database_url: str, home: Path) -> dict[str, str]:
    settings = load_settings({"MUNIMENT_DATABASE_URL": database_url, "MUNIMENT_HOME": str(home)})
    wanted: dict[str, tuple[str | None, str, tuple[Permission, ...], tuple[str, ...]]] = {
        "ana": ("ana", "default", ("read", "write"), ()),
        "bob": ("bob", "default", ("read", "write"), ()),
        "namesake": ("ana", "globex", ("admin",), ()),
        "reader": ("ana", "default", ("read",), ()),
        "planner": ("ana", "default", ("read", "write"), ("planner",)),
        "service": (None, "default", ("admin",), ()),
    }
    tokens = {}
    async with bootstrap.open_tokens(settings, as_owner=True) as office:
        for name, (owner, tenant, scopes, agents) in wanted.items():
            token, _ = await office.issue_token(tenant=tenant, owner=owner, scopes=scopes, agents=agents)
            tokens[name] = token.get_secret_value()
        revoked, grant = await office.issue_token(tenant="default", owner="ana")
        await office.revoke_token(grant.id)
    return tokens | {"revoked": revoked.get_secret_value(), "unknown": f"mun_{'A' * 43}"}


@pytest.fixture
def server(database_url: str, tmp_path: Path) -> Iterator[Server]:
    tokens = asyncio.run(issue_tokens(database_url, tmp_path / "home"))
    with served(database_url, tmp_path) as address:
        yield Server(address, tokens)


async def post(client: httpx.AsyncClient, path: str, body: Any, method: str = "POST") -> Any:
    answer = await client.request(method, path, json=body)
    assert answer.status_code < 300, (path, answer.status_code, answer.text)
    return answer.json() if answer.content else None


async def settle(client: httpx.AsyncClient) -> dict[str, str]:
    """One of each thing that a user can have on the server, with the canary in it; their ids."""
    about = f"I like {CANARY}."
    thread = (await post(client, "/threads", {"metadata": {"title": CANARY}}))["thread_id"]
    run = {"assistant_id": "supervisor", "input": {"messages": [{"role": "user", "content": about}]}}
    await post(client, f"/threads/{thread}/runs/wait", run)
    runs, state = [(await client.get(f"/threads/{thread}/{part}")).json() for part in ("runs", "state")]
    assistant = await post(client, "/assistants", {"graph_id": "supervisor", "name": CANARY})
    cron = await post(client, f"/threads/{thread}/runs/crons", {"schedule": "0 0 1 1 *", **run})
    await post(client, "/store/items", {"namespace": ["a"], "key": "k", "value": {"v": CANARY}}, "PUT")
    return {
        "thread_id": thread,
        "run_id": runs[0]["run_id"],
        "checkpoint_id": state["checkpoint"]["checkpoint_id"],
        "assistant_id": assistant["assistant_id"],
        "cron_id": cron["cron_id"],
        "space": state["values"]["space"],
    }


async def snapshot(client: httpx.AsyncClient, ids: dict[str, str]) -> list[Any]:
    """All that a user has on the server."""
    thread = f"/threads/{ids['thread_id']}"
    paths = (thread, f"{thread}/history?limit=100", f"{thread}/runs", f"/assistants/{ids['assistant_id']}",
             f"/runs/crons/{ids['cron_id']}", "/store/items?namespace=a&key=k")  # fmt: skip
    found = [(await client.get(path)).json() for path in paths]
    listed = [await post(client, path, {}) for path in ("/threads/search", "/runs/crons/search", "/assistants/search")]
    return [*found, *listed, await post(client, "/store/items/search", {"namespace_prefix": []})]


def fill(template: Any, ids: dict[str, str]) -> Any:
    """The template with ids in place of their names."""
    return json.loads(re.sub(r"<(\w+)>", lambda name: ids[name[1]], json.dumps(template)))


def mix(path: str, ids: dict[str, str], own: dict[str, str], n: int) -> dict[str, str]:
    """The ids of a path: of one with several, each but the last is now and then the stranger's own."""
    names = re.findall(r"{(\w+)}", path)
    is_own = n % 3 == 2 and len(names) > 1
    return {name: own[name] if is_own and name != names[-1] else ids.get(name, "x") for name in names}


async def answer(client: httpx.AsyncClient, endpoint: str, ids: dict[str, str], own: dict[str, str], n: int) -> str:
    """What the n-th try of an endpoint is answered: the status and the text, without ids and times."""
    method, path = endpoint.split(" ")
    stateful, stateless = path.startswith("/threads/{thread_id}/runs"), path in {"/runs", "/runs/wait", "/runs/stream"}
    bodies = BODIES.get(endpoint) or (RUNS if stateful else STATELESS if stateless else [{}])
    queries = QUERIES.get(endpoint) or [""]
    place = mix(path, ids, own, n)
    url = re.sub(r"{(\w+)}", lambda name: place[name[1]], path)
    response = await client.request(
        method,
        url,
        json=None if method == "GET" else fill(bodies[n % len(bodies)], ids),
        params=fill(queries[n % len(queries)], ids) or None,
    )
    assert CANARY not in response.text, (endpoint, response.text)
    return f"{response.status_code} {TIME.sub('time', ID.sub('id', response.text))}"


async def list_endpoints(client: httpx.AsyncClient) -> Sequence[str]:
    paths = (await client.get("/openapi.json")).json()["paths"]
    verbs = ("get", "post", "put", "patch", "delete")
    found = [f"{verb.upper()} {path}" for path, methods in paths.items() for verb in methods if verb in verbs]
    return [each for each in found if each.split(" ")[1] not in OPEN and not each.split(" ")[1].startswith(CLOSED)]


@pytest.mark.timeout(900)
async def test_what_is_another_users_is_not_there(server: Server) -> None:
    """Whatever a stranger asks of a thread, run, assistant, cron or item is answered as if there were none, and changes
    none; also the same user's name of another tenant is a stranger."""
    async with server.client("ana") as ana, server.client("bob") as bob, server.client("namesake") as namesake:
        ids, own = await settle(ana), await settle_quietly(bob)
        before = await snapshot(ana, ids)
        assert CANARY in json.dumps(before)
        endpoints = await list_endpoints(bob)
        assert len(endpoints) >= 40
        for client, tries in ((bob, TRIES), (namesake, 3)):
            for endpoint in endpoints:
                if endpoint in MAKES:
                    continue
                for n in range(tries):
                    nothing = {name: str(uuid4()) for name in ids}
                    of_another = await answer(client, endpoint, ids, own, n)
                    of_nothing = await answer(client, endpoint, nothing, own, n)
                    assert of_another == of_nothing, (endpoint, n)
        await seize(bob, ids)
        await listen(server, ids)
        assert await snapshot(ana, ids) == before


async def settle_quietly(client: httpx.AsyncClient) -> dict[str, str]:
    """A thread of the stranger's own, with a run."""
    thread = (await post(client, "/threads", {}))["thread_id"]
    await post(client, f"/threads/{thread}/runs/wait", RUN)
    runs, state = [(await client.get(f"/threads/{thread}/{part}")).json() for part in ("runs", "state")]
    return {
        "thread_id": thread,
        "run_id": runs[0]["run_id"],
        "checkpoint_id": state["checkpoint"]["checkpoint_id"],
        "assistant_id": str(uuid4()),
    }


async def seize(client: httpx.AsyncClient, ids: dict[str, str]) -> None:
    """An id that is taken cannot be taken again: that it is taken is all that a stranger, who knows it, learns."""
    thread = ids["thread_id"]
    command = {"id": 1, "method": "run.start", "params": RUN}
    for n in range(TRIES):
        for path, body in (
            ("/threads", {"thread_id": thread, "if_exists": ("raise", "do_nothing")[n % 2]}),
            ("/threads", {"thread_id": thread, "metadata": {"owner": ids["space"]}}),
            ("/assistants", {"assistant_id": ids["assistant_id"], "graph_id": "supervisor", "if_exists": "do_nothing"}),
            (f"/threads/{thread}/runs/wait", RUN | {"if_not_exists": "create"}),
            (f"/threads/{thread}/commands", command),
        ):
            response = await client.post(path, json=body)
            assert response.status_code in {404, 409} or response.json()["type"] == "error", (path, response.text)
            assert CANARY not in response.text
        await reach(client, [ids["space"], "a"], n)


async def reach(client: httpx.AsyncClient, namespace: list[str], n: int) -> None:
    """Write, read, search, list and remove items where the owner's are: what is found is the stranger's own."""
    place = {"namespace": namespace, "key": "k"}
    assert (await client.put("/store/items", json=place | {"value": {"v": n}})).status_code == 204
    found = await client.get("/store/items", params={"namespace": ".".join(namespace), "key": "k"})
    assert found.json()["value"] == {"v": n}
    for body in ({"namespace_prefix": namespace}, {"namespace_prefix": namespace[:1]}):
        assert [each["value"] for each in (await post(client, "/store/items/search", body))["items"]] == [{"v": n}]
    assert await post(client, "/store/namespaces", {"prefix": namespace, "max_depth": 2})
    assert (await client.request("DELETE", "/store/items", json=place)).status_code == 204


async def listen(server: Server, ids: dict[str, str]) -> None:
    """The same through a WebSocket; without a token there is none."""
    url = f"{server.address.replace('http', 'ws')}/threads/{ids['thread_id']}/stream/events"
    with pytest.raises(InvalidStatus):
        await connect(url)
    headers = {"Authorization": f"Bearer {server.tokens['bob']}"}
    for n in range(TRIES):
        heard = []
        async with connect(url, additional_headers=headers) as socket:
            with suppress(ConnectionClosed, TimeoutError):
                await socket.send(json.dumps({"id": n, "method": "run.start", "params": RUN}))
                async with asyncio.timeout(1):
                    while True:
                        heard.append(await socket.recv())
        assert CANARY not in str(heard)
        assert all('"type":"error"' in str(each) for each in heard), heard


@pytest.mark.timeout(180)
async def test_who_is_let_in_and_for_what(server: Server) -> None:
    """Without a valid token of a user there is nothing; a token permits what it was made for; what others could open
    without a token is closed."""
    async with server.client(None) as nobody:
        given = [b"", b"Basic YW5hOmFuYQ==", b"Bearer x", b"Bearer mun_\xff", server.tokens["ana"].encode()]
        given += [f"Bearer {server.tokens[name]}".encode() for name in ("unknown", "revoked", "service")]
        headers = [{b"authorization": each} for each in given]
        for header in (*headers, {b"x-auth-scheme": b"langsmith"}, {b"x-api-key": server.tokens["ana"].encode()}):
            response = await nobody.post("/threads/search", json={}, headers=header)
            assert response.status_code in {401, 403}, header
            assert "mun_A" not in response.text
        for path in ("/internal/truncate", "/internal/debug/thread/x", "/deploy", "/mcp", "/a2a/x", "/ui/supervisor"):
            for method in ("GET", "POST", "DELETE"):
                assert (await nobody.request(method, path)).status_code == 404, path
        assert (await nobody.get("/ok")).status_code == 200
    async with server.client("ana") as ana, server.client("reader") as reader, server.client("planner") as planner:
        ids = await settle(ana)
        thread = f"/threads/{ids['thread_id']}"
        assert (await reader.get(thread)).status_code == 200
        for method, path, body in (
            ("POST", f"{thread}/runs/wait", RUN),
            ("PATCH", thread, {"metadata": {"a": 1}}),
            ("DELETE", thread, None),
            ("POST", f"{thread}/copy", None),
            ("PUT", "/store/items", {"namespace": ["a"], "key": "k", "value": {}}),
        ):
            refused = await reader.request(method, path, json=body)
            assert (refused.status_code, "may not write" in refused.text) == (403, True), path
        assert (await planner.post(f"{thread}/runs/wait", json=RUN)).status_code == 403
        for wrong, status in (({"user": "bob"}, 403), ({"tenant": "globex"}, 403), ({"usr": "ana"}, 422)):
            assert (await ana.post(f"{thread}/runs/wait", json=RUN | {"context": wrong})).status_code == status
            made = await ana.post("/assistants", json={"graph_id": "supervisor", "context": wrong})
            assert made.status_code == status
            cron = {"schedule": "0 0 1 1 *", **RUN, "context": wrong}
            assert (await ana.post("/runs/crons", json=cron)).status_code == status
        nightly = {"assistant_id": "consolidation", "input": {"user": "bob"}}
        assert (await ana.post("/runs/wait", json=nightly)).status_code == 403
        assert (await ana.get(thread)).json()["status"] == "idle"
        state = await post(ana, f"{thread}/runs/wait", RUN)
        assert CANARY in state["messages"][-1]["content"]
        copied = await post(ana, f"{thread}/copy", None)
        assert copied["metadata"]["owner"] == str(Scope(owner="ana").space)


@pytest.mark.timeout(240)
async def test_a_cron_runs_for_who_made_it(server: Server) -> None:
    """The scheduler runs it in the name and the tenant of its maker, in a thread of the maker's."""
    async with server.client("namesake") as namesake, server.client("ana") as ana:
        about = {"messages": [{"role": "user", "content": f"I like {CANARY}."}]}
        body = {"schedule": "* * * * *", "assistant_id": "supervisor", "input": about, "on_run_completed": "keep"}
        cron = await post(namesake, "/runs/crons", body)
        await post(namesake, f"/runs/crons/{cron['cron_id']}", {"metadata": {"owner": "x"}}, "PATCH")
        threads: list[dict[str, Any]] = []
        while not threads or threads[0]["status"] != "idle" or not threads[0]["values"]:
            await asyncio.sleep(1)
            threads = await post(namesake, "/threads/search", {})
        assert threads[0]["values"]["space"] == str(Scope(owner="ana", tenant="globex").space)
        assert await post(ana, "/threads/search", {}) == []
        assert (await ana.delete(f"/runs/crons/{cron['cron_id']}")).status_code == 404
        assert (await namesake.delete(f"/runs/crons/{cron['cron_id']}")).status_code in {200, 204}
