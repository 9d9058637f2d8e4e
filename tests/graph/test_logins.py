"""LangGraph's server with tokens: what two users, who are both logged in, can do to each other, on every endpoint."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import dataclass
from math import lcm
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest
from langgraph_sdk import get_client
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from muniment import load_settings
from muniment.memory import bootstrap
from muniment.memory.bootstrap import Tokens
from muniment.memory.domain.scope import Permission, Scope
from tests.graph.endpoints import BODIES, CANARY, CLOSED, MAKES, MAKING, OPEN, QUERIES, RUN, RUNS, SAID, STATELESS
from tests.graph.serving import served

ROUNDS = 2  # of all that is asked: the second time it has been asked before
ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
TIME = re.compile(r"\d{4}-\d{2}-\d{2}T[0-9:.+]+")


@dataclass
class Server:
    """An address, and a token for each user."""

    address: str
    tokens: dict[str, str]

    def client(self, user: str | None) -> httpx.AsyncClient:
        headers = {"Authorization": f"Bearer {self.tokens[user]}"} if user else {}
        return httpx.AsyncClient(base_url=self.address, headers=headers, timeout=60)


def open_office(database_url: str, home: Path) -> AbstractAsyncContextManager[Tokens]:
    """The tokens of the server, opened as who makes and revokes them."""
    settings = load_settings({"MUNIMENT_DATABASE_URL": database_url, "MUNIMENT_HOME": str(home)})
    return bootstrap.open_tokens(settings, as_owner=True)


async def issue_tokens(database_url: str, home: Path) -> dict[str, str]:
    wanted: dict[str, tuple[str | None, str, tuple[Permission, ...], tuple[str, ...]]] = {
        "ana": ("ana", "default", ("read", "write"), ()),
        "bob": ("bob", "default", ("read", "write"), ()),
        "namesake": ("ana", "globex", ("admin",), ()),
        "reader": ("ana", "default", ("read",), ()),
        "planner": ("ana", "default", ("read", "write"), ("planner",)),
        "service": (None, "default", ("admin",), ()),
    }
    tokens = {}
    async with open_office(database_url, home) as office:
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


def list_bodies(endpoint: str) -> list[dict[str, Any]]:
    """What is sent to an endpoint, one body after the other."""
    method, path = endpoint.split(" ")
    if method == "GET":
        return [{}]  # it is sent none
    stateful, stateless = path.startswith("/threads/{thread_id}/runs"), path in {"/runs", "/runs/wait", "/runs/stream"}
    return BODIES.get(endpoint) or (RUNS if stateful else STATELESS if stateless else [{}])


def count_tries(endpoint: str) -> int:
    """After how many tries an endpoint has been asked everything: each body and query with each mix of ids."""
    mixes = 3 if endpoint.count("{") > 1 else 1
    return lcm(len(list_bodies(endpoint)), len(QUERIES.get(endpoint) or [""]), mixes)


async def answer(client: httpx.AsyncClient, endpoint: str, ids: dict[str, str], own: dict[str, str], n: int) -> str:
    """What the n-th try of an endpoint is answered: the status and the text, without ids and times."""
    method, path = endpoint.split(" ")
    bodies = list_bodies(endpoint)
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
        for client, rounds in ((bob, ROUNDS), (namesake, 1)):
            for endpoint in endpoints:
                if endpoint in MAKES:
                    continue
                for n in range(rounds * count_tries(endpoint)):
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
    """An id that another has is as free as one that nobody has: the stranger gets a thing with an id of its own."""
    nothing = {name: str(uuid4()) for name in ids} | {"space": ids["space"]}
    for n in range(ROUNDS * len(MAKING)):
        path, body = MAKING[n % len(MAKING)]
        if n % len(MAKING) == 0:
            nothing = {name: str(uuid4()) for name in ids} | {"space": ids["space"]}
        answers = []
        for each in (ids, nothing) if n < len(MAKING) else (ids,):
            response = await client.post(fill(path, each), json=fill(body, each))
            assert CANARY not in response.text
            answers.append(f"{response.status_code} {sorted(response.json())}")
        assert answers[0] == answers[-1], (path, body)
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
    """The same through a WebSocket, which hears of the stranger's own thread; without a token there is none."""
    url = f"{server.address.replace('http', 'ws')}/threads/{ids['thread_id']}/stream/events"
    with pytest.raises(InvalidStatus):
        await connect(url)
    headers = {"Authorization": f"Bearer {server.tokens['bob']}"}
    for n in range(ROUNDS):
        async with connect(url, additional_headers=headers) as socket:
            await socket.send(json.dumps({"id": n, "method": "run.start", "params": RUN}))
            heard = [await socket.recv()]
            with suppress(ConnectionClosed, TimeoutError):
                async with asyncio.timeout(0.5):
                    while True:
                        heard.append(await socket.recv())
        assert CANARY not in str(heard)


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


@pytest.mark.timeout(180)
async def test_an_id_of_ones_own_choice(server: Server) -> None:
    """Two users choose one id, and each has a thread and an assistant of it; the id, and the one that the server says,
    lead to the same. The client of LangGraph, which chooses the ids of its streams, talks."""
    chosen = str(uuid4())
    async with server.client("ana") as ana, server.client("bob") as bob:
        made = []
        for name, client in (("ana", ana), ("bob", bob)):
            thread = await post(client, "/threads", {"thread_id": chosen, "metadata": {"title": name}})
            assistant = await post(client, "/assistants", {"assistant_id": chosen, "graph_id": "supervisor"})
            made.append((thread["thread_id"], assistant["assistant_id"]))
            assert (await client.post("/threads", json={"thread_id": chosen})).status_code == 409
            for again in (chosen, thread["thread_id"]):
                kept = await post(client, "/threads", {"thread_id": again, "if_exists": "do_nothing"})
                assert kept["metadata"]["title"] == name
                assert (await client.get(f"/threads/{again}")).json()["thread_id"] == thread["thread_id"]
                assert len(await post(client, "/threads/search", {"ids": [again]})) == 1
            run = {"assistant_id": chosen, "input": {"messages": [{"role": "user", "content": f"I like {name}."}]}}
            state = await post(client, f"/threads/{chosen}/runs/wait", run)
            assert state["messages"][0]["content"] == f"I like {name}."
            assert (await client.get(f"/assistants/{chosen}")).json()["assistant_id"] == assistant["assistant_id"]
            batch = await post(client, "/runs/batch", [RUN | {"assistant_id": chosen}])
            assert batch[0]["assistant_id"] == assistant["assistant_id"]
        assert len({*made[0], *made[1], chosen}) == 5
        assert (await ana.delete(f"/threads/{chosen}")).status_code == 204
        assert (await ana.get(f"/threads/{chosen}")).status_code == 404
        assert (await bob.get(f"/threads/{chosen}")).status_code == 200
    headers = {"Authorization": f"Bearer {server.tokens['bob']}"}
    client_of_langgraph = get_client(url=server.address, headers=headers)
    async with client_of_langgraph, client_of_langgraph.threads.stream(assistant_id="supervisor") as stream:
        await stream.run.start(input=SAID)
        assert "bob" in str(await stream.output)


@pytest.mark.timeout(360)
async def test_a_cron_runs_for_who_made_it(server: Server, database_url: str, tmp_path: Path) -> None:
    """The scheduler runs it in the name and the tenant of its maker, in a thread of the maker's, as long as the token
    with which it was made is valid; then it is removed."""
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
        assert [each["cron_id"] for each in await post(namesake, "/runs/crons/search", {})] == [cron["cron_id"]]
        yearly = await post(namesake, "/runs/crons", body | {"schedule": "0 0 1 1 *"})
        assert (await namesake.delete(f"/runs/crons/{yearly['cron_id']}")).status_code in {200, 204}
    async with open_office(database_url, tmp_path / "home") as office:
        token, grant = await office.issue_token(tenant="globex", owner="ana")
        for each in await office.list_grants("globex"):
            if each.id != grant.id:
                await office.revoke_token(each.id)
    server.tokens["new"] = token.get_secret_value()
    async with server.client("new") as new:
        count = len(await post(new, "/threads/search", {}))
        while await post(new, "/runs/crons/search", {}):
            await asyncio.sleep(1)
        assert len(await post(new, "/threads/search", {})) <= count + 1  # one may have begun before
