"""The client of a memory gateway over real HTTP: B-119 to B-122."""

from __future__ import annotations

import asyncio
import json
import logging
import pickle
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from muniment.memory.bootstrap import open_gateway
from muniment.memory.domain.gateway.config import GatewayConfig
from muniment.memory.domain.gateway.user_key import UserKey
from muniment.memory.domain.gateway.wire import GatewayMessage, RecalledItem
from muniment.memory.errors import GatewayError
from muniment.memory.models.gateway.client import MAX_BYTES, GatewayClient
from muniment.memory.ports.gateway import Gateway
from tests.agent.secrets_shown import KEY, show_error, show_value
from tests.gateways import ADD, FLUSH, HOSTILE, INSTRUCTIONS, SEARCH, HostileGateway, RecordingGateway, find_closed_port

PROMPT = "Where do we deploy? “Là-bas” 部署 🚀"
MESSAGES = [
    GatewayMessage(sender_id="ann", role="user", timestamp=1_750_000_000_000, content=PROMPT),
    GatewayMessage(sender_id="beaver", role="assistant", timestamp=1_750_000_000_001, content="In eu-west-3."),
]


def make_config(base_url: str, **changes: object) -> GatewayConfig:
    config = GatewayConfig(base_url=base_url, user_id="ann", user_key=UserKey(KEY), timeout_seconds=10.0)
    return replace(config, **changes)  # type: ignore[arg-type] # the fields are those of the class


@asynccontextmanager
async def open_client(gateway: RecordingGateway, **changes: object) -> AsyncIterator[Gateway]:
    async with open_gateway(make_config(gateway.base_url, **changes)) as client:
        yield client


async def call(client: Gateway, operation: str) -> None:
    if operation == "search":
        await client.search("s", PROMPT)
    elif operation == "add":
        await client.add("chat:s", MESSAGES)
    else:
        await client.flush("chat:s")


async def fail(client: Gateway, operation: str = "search") -> GatewayError:
    with pytest.raises(GatewayError) as caught:
        await call(client, operation)
    error = caught.value
    assert (error.operation, error.path) == (operation, f"/memories/{operation}")
    assert error.__cause__ is None
    assert error.__context__ is None
    shown = show_error(error)
    assert KEY not in shown
    again = pickle.loads(pickle.dumps(error))
    assert (again.category, again.status, str(again)) == (error.category, error.status, str(error))
    return error


async def test_b119_exact_paths_and_payloads() -> None:
    with RecordingGateway() as gateway:
        async with open_client(
            gateway, scope=("resources", "all_user_memory"), top_k=3, app_id="a", project_id="p"
        ) as client:
            await client.search("s-1", PROMPT)
            await client.add("chat:s-1", MESSAGES)
            await client.flush("chat:s-1")
    assert gateway.complaints == []
    assert gateway.paths == [SEARCH, ADD, FLUSH]
    searched, added, flushed = (request.body for request in gateway.requests)
    assert searched == {
        "user_id": "ann", "user_key": KEY, "conversation_id": "s-1", "query": PROMPT,
        "scope": ["resources", "all_user_memory"], "top_k": 3, "app_id": "a", "project_id": "p",
    }  # fmt: skip
    session = {"user_id": "ann", "user_key": KEY, "session_id": "chat:s-1", "app_id": "a", "project_id": "p"}
    assert flushed == session
    assert added == session | {
        "messages": [
            {"sender_id": "ann", "role": "user", "timestamp": 1_750_000_000_000, "content": PROMPT},
            {"sender_id": "beaver", "role": "assistant", "timestamp": 1_750_000_000_001, "content": "In eu-west-3."},
        ]
    }


async def test_b119_a_base_address_may_have_a_path() -> None:
    with RecordingGateway() as gateway:
        async with open_gateway(make_config(f"{gateway.base_url}/v1/tenant")) as client:
            await fail(client)
        assert gateway.paths == ["/v1/tenant/memories/search"]


async def test_b108_the_key_is_in_bodies_alone() -> None:
    with RecordingGateway() as gateway:
        async with open_client(gateway) as client:
            for operation in ("search", "add", "flush"):
                await call(client, operation)
    for request in gateway.requests:
        assert KEY not in request.path
        assert KEY not in json.dumps(request.headers)
        assert request.raw.count(KEY.encode()) == 1


async def test_half_characters_are_sent_as_what_can_be_stored() -> None:
    with RecordingGateway() as gateway:
        async with open_client(gateway) as client:
            await client.search("s", "half \ud83d and whole \ud83d\ude80")
            await client.add("chat:s", [replace(MESSAGES[0], content="\ude80!")])
    assert gateway.requests[0].body["query"] == "half \ufffd and whole 🚀"
    assert gateway.requests[1].body["messages"][0]["content"] == "\ufffd!"


@pytest.mark.parametrize("operation", ["search", "add", "flush"])
@pytest.mark.parametrize("kind", ["silent", "slow"])
async def test_b120_the_timeout_is_over_the_whole_call(kind: str, operation: str) -> None:
    """A gateway that sends a byte now and then would keep a client for ever whose time is for each byte."""
    with HostileGateway(kind) as gateway:
        async with open_client(gateway, timeout_seconds=0.3) as client:
            started = time.monotonic()
            error = await fail(client, operation)
            assert time.monotonic() - started < 30  # the slow answer takes 5,000 s
    assert (error.category, error.status) == ("timeout", None)
    assert len(gateway.requests) == 1


async def test_b120_a_long_timeout_waits() -> None:
    with RecordingGateway(after=lambda path: time.sleep(0.3)) as gateway:
        async with open_client(gateway, timeout_seconds=60.0) as client:
            assert await client.search("s", PROMPT) == []


@pytest.mark.parametrize("operation", ["search", "add", "flush"])
@pytest.mark.parametrize("kind", [*HOSTILE])
async def test_b121_b122_hostile_gateways(kind: str, operation: str, caplog: pytest.LogCaptureFixture) -> None:
    expected = HOSTILE[kind]
    caplog.set_level(logging.DEBUG)
    with HostileGateway(kind) as gateway:
        async with open_client(gateway, timeout_seconds=1.0 if expected.category == "timeout" else 30.0) as client:
            if expected.category is None or (expected.only_search and operation != "search"):
                await call(client, operation)
            else:
                error = await fail(client, operation)
                assert (error.category, error.status) == (expected.category, expected.status)
                assert INSTRUCTIONS not in show_error(error)
    assert gateway.paths == [f"/memories/{operation}"]  # one attempt, and no redirect is followed
    assert KEY not in caplog.text
    assert [record.name for record in caplog.records if record.name.startswith(("httpx", "httpcore"))] == []


@pytest.mark.parametrize("operation", ["search", "add", "flush"])
@pytest.mark.parametrize(
    "status", [300, 303, 400, 401, 403, 404, 408, 413, 418, 422, 425, 429, 500, 502, 503, 504, 599]
)
async def test_b121_b57_each_status_is_one_attempt(status: int, operation: str) -> None:
    with RecordingGateway(statuses={f"/memories/{operation}": status}) as gateway:
        async with open_client(gateway) as client:
            error = await fail(client, operation)
    assert (error.category, error.status) == ("unauthorized" if status == 401 else "http_error", status)
    assert len(gateway.requests) == 1


@pytest.mark.parametrize(
    "host",
    [
        "http://127.0.0.1:{port}", "https://127.0.0.1:{port}", "http://nobody.invalid:{port}", "http://a..b",
        f"http://{'a' * 70}.invalid", "http://1.2.3.999", "http://[::g]",
    ],
)  # fmt: skip
async def test_b121_nobody_there(host: str) -> None:
    async with open_gateway(make_config(host.format(port=find_closed_port()))) as client:
        for operation in ("search", "add", "flush"):
            error = await fail(client, operation)
            assert (error.category, error.status) == ("connection", None)


async def test_b121_a_gateway_without_tls() -> None:
    with RecordingGateway() as gateway:
        async with open_gateway(make_config(gateway.base_url.replace("http:", "https:"))) as client:
            assert (await fail(client)).category == "connection"


async def test_b121_a_client_that_is_closed() -> None:
    with RecordingGateway() as gateway:
        async with open_client(gateway) as client:
            pass
        assert (await fail(client)).category == "connection"
        assert gateway.requests == []


async def test_an_answer_may_have_so_many_bytes() -> None:
    with RecordingGateway() as gateway:
        empty = json.dumps({"results": [{"raw": ""}]}, ensure_ascii=False)
        gateway.results = [{"raw": "a" * (MAX_BYTES - len(empty))}]
        async with open_client(gateway) as client:
            assert await client.search("s", PROMPT) == [RecalledItem()]
            gateway.results = [{"raw": "a" * (MAX_BYTES - len(empty) + 1)}]
            assert (await fail(client)).category == "too_large"


async def test_b63_results_are_reduced_to_six_fields() -> None:
    whole = {
        "id": "m1", "session_id": "chat:s", "text": "It rains.", "score": 1, "source_scope": "resources",
        "resource_uri": "file:a.md",
    }  # fmt: skip
    with RecordingGateway([whole | {"raw": {"text": INSTRUCTIONS}, "system": INSTRUCTIONS}]) as gateway:
        async with open_client(gateway) as client:
            [item] = await client.search("s", PROMPT)
    assert item == RecalledItem(**(whole | {"score": 1.0}))  # type: ignore[arg-type] # they are of its fields' types
    assert INSTRUCTIONS not in show_value(item)


async def test_b63_a_field_of_another_type_is_dropped() -> None:
    with HostileGateway("wrong types") as gateway:
        async with open_client(gateway) as client:
            items = await client.search("s", PROMPT)
    assert items == [RecalledItem(), RecalledItem(), RecalledItem(), RecalledItem(text="Usable.")]


async def test_long_fields_are_cut_or_dropped() -> None:
    with RecordingGateway([{"text": "a" * 1_000_000, "id": "b" * 1_000_000}]) as gateway:
        async with open_client(gateway) as client:
            [item] = await client.search("s", PROMPT)
    assert item == RecalledItem(text="a" * 4_000 + "…")


async def test_b122_the_logs_of_others_go_on(caplog: pytest.LogCaptureFixture) -> None:
    """The HTTP library is silent while it speaks with a gateway, and only there."""
    import httpx2

    caplog.set_level(logging.DEBUG)
    with RecordingGateway() as gateway, HostileGateway("silent") as silent:
        async with open_client(silent, timeout_seconds=60.0) as client, httpx2.AsyncClient() as other:
            waiting = asyncio.create_task(client.search("s", PROMPT))
            while not silent.requests:
                await asyncio.sleep(0.01)
            assert not [record for record in caplog.records if record.name.startswith("http")]
            await other.get(gateway.base_url)
            names = {record.name for record in caplog.records}
            waiting.cancel()
            await asyncio.wait([waiting])
    assert {"httpx2", "httpcore2.http11"} <= names


@pytest.mark.parametrize("operation", ["search", "add", "flush"])
@pytest.mark.parametrize("kind", ["silent", "slow"])
async def test_a_cancelled_run_closes_its_request(kind: str, operation: str) -> None:
    with HostileGateway(kind) as gateway:
        async with open_client(gateway, timeout_seconds=60.0) as client:
            task = asyncio.create_task(call(client, operation))
            while not gateway.requests:
                await asyncio.sleep(0.01)
            task.cancel("the run has ended")
            with pytest.raises(asyncio.CancelledError) as caught:
                await task
            assert task.cancelled()
            assert KEY not in show_error(caught.value)
            assert await asyncio.to_thread(gateway.abandoned.wait, 30)


async def test_a_run_that_is_cancelled_while_it_sends_shows_no_body() -> None:
    """A server that does not read keeps the client within the library, whose frames hold the body."""
    import socket

    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        config = make_config(f"http://127.0.0.1:{listener.getsockname()[1]}", timeout_seconds=60.0)
        client = GatewayClient(config)
        task = asyncio.create_task(client.search("s", "a" * 20_000_000))
        connection, _ = await asyncio.get_running_loop().run_in_executor(None, listener.accept)
        await asyncio.sleep(0.5)
        task.cancel()
        with connection, pytest.raises(asyncio.CancelledError) as caught:
            await task
        assert KEY not in show_error(caught.value)
        await client.close()


async def test_calls_at_the_same_time_do_not_mix() -> None:
    with RecordingGateway(lambda body: [{"text": body["query"]}]) as gateway:
        async with open_client(gateway) as client:
            answers = await asyncio.gather(*(client.search(f"s{n}", f"query {n}") for n in range(50)))
    assert [item.text for [item] in answers] == [f"query {n}" for n in range(50)]


async def test_a_cookie_is_not_kept() -> None:
    with HostileGateway("repeats the key", at=[SEARCH]) as gateway:
        async with open_client(gateway) as client:
            await fail(client)
            await client.flush("chat:s")
    assert "cookie" not in gateway.requests[1].headers


@pytest.mark.parametrize("status", [200, 404, 503])
async def test_whoever_answers_is_reachable(status: int) -> None:
    with RecordingGateway(statuses={"/health": status}) as gateway:
        async with open_client(gateway) as client:
            assert await client.check_reachable()
    [request] = gateway.requests
    assert (request.method, request.path, request.raw) == ("GET", "/health", b"")
    assert KEY not in json.dumps(request.headers)


async def test_who_does_not_answer_is_not_reachable() -> None:
    async with open_gateway(make_config(f"http://127.0.0.1:{find_closed_port()}")) as client:
        assert not await client.check_reachable()
    with RecordingGateway(after=lambda path: time.sleep(0.5)) as gateway:
        async with open_client(gateway, timeout_seconds=0.1) as client:
            assert not await client.check_reachable()


def test_a_client_shows_no_key() -> None:
    client = GatewayClient(make_config("http://127.0.0.1:1"))
    assert KEY not in show_value(client)
