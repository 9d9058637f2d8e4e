"""A server that is away, slow, lying or of another version: each is a typed error in time, and says nothing of anybody
(P-92, P-115)."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from uuid import uuid4

import pytest
from pydantic import SecretStr

from muniment.memory.errors import BadConfig, BadInput, RemoteStoreError, StoreDown
from muniment.plugin.stores.remote.store import RemoteStore
from tests.plugin_remote.items import NOW, ask, do, every, make_owner, make_rule

TOKEN = "mun_CANARY-the-token-of-nobody"
ANA = make_owner("ana")
ITEM = make_rule("The CANARY project uses pnpm.", ANA)
HEADERS = {"Muniment-Store-Protocol": "1"}


class Server(ThreadingHTTPServer):
    """Answers with `body`, and counts the requests."""

    daemon_threads = True
    status, body, wait = 200, b"{}", 0.0
    headers: dict[str, str] = HEADERS
    requests = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_POST(self) -> None:
        self.server.requests += 1
        self.rfile.read(int(self.headers.get("content-length") or 0))
        try:
            self.send_response(self.server.status)
            for name, value in self.server.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(self.server.body)))
            self.end_headers()
            half = len(self.server.body) // 2
            self.wfile.write(self.server.body[:half])
            self.wfile.flush()
            time.sleep(self.server.wait)
            self.wfile.write(self.server.body[half:])
        except OSError:
            self.close_connection = True

    do_GET = do_POST  # noqa: N815 - as the library calls it

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def server() -> Iterator[Server]:
    with Server(("127.0.0.1", 0), Handler) as it:
        threading.Thread(target=it.serve_forever, args=(0.02,), daemon=True).start()
        yield it
        it.shutdown()


def make_store(url: str, clock: Callable[[], float] = time.monotonic) -> RemoteStore:
    return RemoteStore(url, SecretStr(TOKEN), timeout_seconds=0.5, clock=clock)


@contextmanager
def fails(category: str) -> Iterator[None]:
    """A failure of this category, which is a store that is down and holds neither the token nor a text."""
    with pytest.raises(RemoteStoreError) as caught:
        yield
    assert caught.value.category == category
    assert isinstance(caught.value, StoreDown)
    assert "CANARY" not in f"{caught.value!r} {caught.value} {caught.value.data} {caught.value.__context__!r}"


def encode(value: object) -> bytes:
    return json.dumps(value).encode()


HIT = {
    "item": {"id": ITEM.id, "type": "rule", "content": "x", "created_at": NOW.isoformat()},
    "score": 0.5,
    "parts": {"keyword": 1.0, "recency": 1.0},
}


WRONG = [
    b"", b"<html>", b"[]", b"null", encode({}), encode({"hits": "none"}), encode({"hits": [HIT] * 9}),
    encode({"hits": [HIT | {"score": "1"}]}).replace(b'"1"', b"NaN"), encode({"hits": [HIT | {"score": 7}]}),
    encode({"hits": [HIT | {"item": {**HIT["item"], "id": "none"}}]}),  # type: ignore[dict-item] # a dict, as above
    encode({"hits": [HIT | {"item": {**HIT["item"], "type": "song"}}]}),  # type: ignore[dict-item] # as above
    encode({"hits": [], "more": 1}), encode({"hits": [[[]] * 60_000]}),
]  # fmt: skip


@pytest.mark.parametrize("body", WRONG, ids=len)  # they have ids and times of this process
async def test_wrong_answers(server: Server, body: bytes) -> None:
    server.body = body
    store = make_store(server.url)
    with fails("invalid answer"):
        await store.search(ask("pnpm", ANA))
    await store.close()


async def test_answers_about_something_else(server: Server) -> None:
    """Ids that nobody asked about are not believed."""
    store, other = make_store(server.url), str(uuid4())
    server.body = encode({"items": [{"given_id": other, "id": other, "outcome": "added"}]})
    with fails("other ids"):
        await store.upsert([ITEM])
    server.body = encode({"ids": [other]})
    with fails("other ids"):
        await store.forget(ANA, [ITEM.id])
    server.body = encode({"results": [{"op_id": other, "outcome": "applied", "id": other}]})
    with fails("other ids"):
        await store.apply_operations([do("upsert", ITEM, ANA)])
    server.body = encode({"changes": [{"rev": 3, "id": other}], "next": 9, "is_last": True})
    with fails("other revisions"):
        await store.read_changes(ANA, 5)
    await store.close()


async def test_endless_and_slow_answers(server: Server) -> None:
    """50 MB are not read, and a whole request has one time, however it is spread."""
    store = make_store(server.url)
    server.body = b" " * 50 * 2**20
    with fails("too_large"):
        await store.list(every(ANA))
    server.body, server.wait = encode({"items": []}), 5.0
    began = time.monotonic()
    with fails("timeout"):
        await store.list(every(ANA))
    assert time.monotonic() - began < 2.0
    await store.close()


async def test_packed_answers_are_not_unpacked(server: Server) -> None:
    server.headers = HEADERS | {"Content-Encoding": "gzip"}
    store = make_store(server.url)
    with fails("encoded"):
        await store.list(every(ANA))
    await store.close()


@pytest.mark.parametrize(
    ("status", "category"),
    [
        (401, "not permitted"), (403, "not permitted"), (404, "other version"), (302, "http_error"),
        (429, "http_error"), (500, "http_error"), (503, "http_error"),
    ],
)  # fmt: skip
async def test_refusals(server: Server, status: int, category: str) -> None:
    """A redirect is not followed either."""
    server.status, server.body = status, b'{"error": {"message": "CANARY"}}'
    server.headers = HEADERS | {"Location": f"{server.url}/elsewhere", "Retry-After": "7"}
    store = make_store(server.url)
    with fails(category):
        await store.list(every(ANA))
    assert server.requests == 1
    await store.close()


async def test_a_server_that_asks_to_wait(server: Server) -> None:
    server.status, server.headers = 429, HEADERS | {"Retry-After": "7"}
    store = make_store(server.url)
    with pytest.raises(RemoteStoreError) as caught:
        await store.list(every(ANA))
    assert caught.value.data["retry_after"] == 7
    await store.close()


@pytest.mark.parametrize("headers", [{}, {"Muniment-Store-Protocol": "2"}])
async def test_another_version(server: Server, headers: dict[str, str]) -> None:
    """P-115: an answer of another version is not read, whatever it says."""
    server.headers, server.body = headers, encode({"items": []})
    store = make_store(server.url)
    with fails("other version"):
        await store.list(every(ANA))
    await store.close()


async def test_a_value_that_cannot_be_sent(server: Server) -> None:
    """What the wire cannot hold is refused here, by its field and without its text."""
    store = make_store(server.url)
    for item in (make_rule("CANARY" * 9_999, ANA), make_rule("x", ANA, id="CANARY"), make_rule("", ANA)):
        with pytest.raises(BadInput) as caught:
            await store.upsert([item])
        assert "CANARY" not in f"{caught.value!r} {caught.value.__context__!r}"
    server.status, server.body = 422, b'{"error": {"message": "CANARY"}}'
    with pytest.raises(BadInput) as caught:
        await store.upsert([ITEM])
    assert "CANARY" not in repr(caught.value)
    await store.close()
    with pytest.raises(BadConfig):
        RemoteStore("ftp://somewhere", SecretStr(TOKEN), timeout_seconds=1)


async def test_the_circuit(server: Server) -> None:
    """After three failures nothing is sent for 30 seconds; then one request tries, and closes it."""
    now = 100.0
    store = make_store(server.url, lambda: now)
    server.status = 503
    for _ in range(3):
        with fails("http_error"):
            await store.list(every(ANA))
    with fails("not sent after failures"):
        await store.list(every(ANA))
    assert (server.requests, store.is_open) == (3, False)
    now = 131.0
    with fails("http_error"):
        await store.list(every(ANA))
    with fails("not sent after failures"):
        await store.list(every(ANA))
    now, server.status, server.body = 162.0, 200, encode({"items": []})
    assert [await store.list(every(ANA)) for _ in range(3)] == [()] * 3
    assert server.requests == 7
    await store.close()


async def test_nobody_is_there(server: Server) -> None:
    url = server.url
    server.server_close()
    store = make_store(url)
    with fails("connection"):
        await store.list(every(ANA))
    await store.close()
