"""What the proxy answers itself: each status of the table, in the form of the protocol, with nothing of the request."""

import json
import re
from typing import Any

import httpx
import pytest

from muniment.testing.openai_answers import Answer
from tests.heads import check_head_limit
from tests.proxy.conftest import Proxy, Upstream

USER = {"role": "user", "content": "Hello"}
CANARY = "canary-7f3a"


def refuse(answer: httpx.Response, status: int, code: str, *, may_retry: bool = False) -> dict[str, Any]:
    """Check that an answer is a refusal of the proxy's own, and return its error."""
    assert answer.status_code == status, answer.text
    error: dict[str, Any] = answer.json()["error"]
    assert error.keys() == {"message", "type", "param", "code"}
    assert error["code"] == code
    assert answer.headers["x-should-retry"] == ("true" if may_retry else "false")
    assert re.fullmatch(r"[0-9a-f]{8}", answer.headers["x-request-id"])
    assert CANARY not in answer.text
    return error


@pytest.mark.parametrize("given", [None, "Bearer", "Bearer mun_nobody", "Basic abc", "Bearer " + "mun_" + "A" * 43])
def test_without_a_token(proxy: Proxy, given: str | None) -> None:
    """All but the health needs a token."""
    headers = {"Authorization": given} if given else {}
    with httpx.Client(base_url=proxy.url, headers=headers) as client:
        assert client.get("/health").json() == {"status": "ok"}
        for path in ("/v1/chat/completions", "/v1/models", "/v1/admin/tokens", "/", "/anything"):
            answer = client.post(path, json={"messages": [USER]})
            refuse(answer, 401, answer.json()["error"]["code"])
            assert answer.headers["www-authenticate"] == "Bearer"


def test_a_large_head(proxy: Proxy) -> None:
    """A head of more than 64 kB is refused before any token is looked at, and what follows is not read."""
    check_head_limit(proxy.url)


def test_a_token_for_something_else(proxy: Proxy, token: str, admin_token: str) -> None:
    """A service token administrates nothing, an administrator's forwards nothing; no token finds another address."""
    with proxy.client(token) as client:
        refuse(client.get("/v1/admin/tokens"), 403, "not_permitted")
        refuse(client.get("/v1/%61dmin/tokens"), 403, "not_permitted")
        refuse(client.get("/memories"), 404, "not_found")
    refuse(proxy.chat(admin_token, "Hello"), 403, "no_token_config")


@pytest.mark.parametrize(
    ("messages", "place"),
    [
        ([], "messages"),
        (None, "messages"),
        ("x", "messages"),
        ({}, "messages"),
        ([USER, CANARY], "messages[1]"),
        ([{"role": CANARY, "content": "x"}], "messages[0].role"),
        ([{"content": "x"}], "messages[0].role"),
        ([{"role": "user"}], "messages[0].content"),
        ([{"role": "user", "content": 5}], "messages[0].content"),
        ([{"role": "user", "content": [CANARY]}], "messages[0].content[0]"),
        ([{"role": "user", "content": [{"type": "text"}]}], "messages[0].content[0].text"),
        ([{"role": "assistant", "content": None}], "messages[0].content"),
        ([USER, {"role": "tool", "content": "x"}], "messages[1].tool_call_id"),
        ([USER, {"role": "tool", "content": "x", "tool_call_id": ""}], "messages[1].tool_call_id"),
        ([{"role": "assistant", "tool_calls": {"a": 1}}], "messages[0].tool_calls"),
        ([{"role": "assistant", "tool_calls": [{"function": {"name": "f"}}]}], "messages[0].tool_calls[0].id"),
        ([{"role": "assistant", "tool_calls": [{"id": "a"}]}], "messages[0].tool_calls[0].function.name"),
        ([{"role": "user", "content": "x", "name": 1}], "messages[0].name"),
    ],
)
def test_messages(proxy: Proxy, upstream: Upstream, token: str, messages: Any, place: str) -> None:
    """Messages that are no conversation are 422 with the place, without the value, and the upstream is not asked."""
    with proxy.client(token) as client:
        error = refuse(client.post("/v1/chat/completions", json={"messages": messages}), 422, "invalid_request")
        assert error["param"] == place
        assert client.post("/v1/chat/completions", json={"x": 1}).json()["error"]["param"] == "messages"
    assert upstream.requests == []


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"x",
        b"[]",
        b"null",
        b'"x"',
        b"1",
        b'{"messages": [',
        b'{"a": NaN}',
        b'{"a": "\xff"}',
        b"\xef\xbb\xbf{}",
        b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        b"{} {}",
        b'{"messages": [],}',
    ],
    ids=range(13),
)
def test_no_object(proxy: Proxy, upstream: Upstream, token: str, raw: bytes) -> None:
    """A body that is no JSON object is 422."""
    with proxy.client(token) as client:
        for path in ("/v1/chat/completions", "/v1/responses"):
            refuse(client.post(path, content=raw), 422, "invalid_json")
    assert upstream.requests == []


def test_too_large(proxy: Proxy, upstream: Upstream, token: str) -> None:
    """A body over the limit is 413 before it is read, and one of 50 MB goes through."""
    with proxy.client(token) as client:
        refuse(client.post("/v1/chat/completions", content=b" " * 64_000_001), 413, "too_large")
        part = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * 50_000_000}}
        said = {"role": "user", "content": [{"type": "text", "text": "What is this?"}, part]}
        answer = client.post("/v1/chat/completions", json={"model": "m", "messages": [said]})
    assert answer.status_code == 200
    assert upstream.requests[-1].body["messages"] == [said]


@pytest.mark.parametrize(
    "last",
    [
        {"role": "tool", "tool_call_id": "call_9", "content": "4"},
        {"role": "assistant", "content": None, "tool_calls": [{"id": "call_9", "function": {"name": "add"}}]},
    ],
)
def test_a_last_message_in_no_chain(proxy: Proxy, upstream: Upstream, token: str, last: dict[str, Any]) -> None:
    """A request whose last message cannot go upstream is refused: without it another question would be answered."""
    error = refuse(proxy.chat(token, "Two and two?", last), 422, "invalid_request")
    assert error["param"] == "messages[1]"
    assert upstream.requests == []


def test_a_bad_wish(proxy: Proxy, token: str) -> None:
    """The header of memory has two values."""
    error = refuse(proxy.chat(token, "Hello", headers={"x-muniment-memory": CANARY}), 422, "invalid_request")
    assert error["param"] == "x-muniment-memory"
    both = [("x-muniment-memory", "on"), ("x-muniment-memory", "off")]  # which of them is meant nobody knows
    with proxy.client(token) as client:
        body = {"model": "m", "messages": [{"role": "user", "content": "Hello"}]}
        refuse(client.post("/v1/chat/completions", json=body, headers=both), 422, "invalid_request")


def test_no_upstream(proxy: Proxy) -> None:
    """An upstream that cannot be reached is 502, and no address is told."""
    gone = proxy.register("http://127.0.0.1:9/v1")
    error = refuse(proxy.chat(gone, "Hello"), 502, "upstream_unreachable")
    assert "127.0.0.1" not in json.dumps(error)
    assert error["type"] == "upstream_error"
    nowhere = proxy.register(f"http://{CANARY}.invalid")
    refuse(proxy.chat(nowhere, "Hello"), 502, "upstream_unreachable")


def test_a_silent_upstream(proxy: Proxy) -> None:
    """An upstream that says nothing in the token's time is 502 after one try; one that stops saying it is cut off."""
    with Upstream(latency=5.0) as slow:
        refuse(proxy.chat(proxy.register(slow, http_timeout=1), "Hello"), 502, "upstream_timeout")
        assert len(slow.requests) == 1
    with Upstream() as silent:
        silent.answer_next(Answer(body=b"{}" * 50, cut=4, silent=True))
        with pytest.raises(httpx.RemoteProtocolError):
            proxy.chat(proxy.register(silent, http_timeout=1), "Hello")


def test_errors_of_the_upstream(proxy: Proxy, upstream: Upstream, token: str) -> None:
    """Its own errors go through, and nothing of such an exchange is kept."""
    body = b'{"error":{"message":"slow down","type":"rate_limit"}}'
    upstream.answer_next(Answer(status=429, headers=(("retry-after", "7"),), body=body))
    answer = proxy.chat(token, "My favorite color is teal.")
    assert (answer.status_code, answer.content, answer.headers["retry-after"]) == (429, body, "7")
    proxy.chat(token, "And?", headers={"x-muniment-memory": "read"})
    assert "teal" not in upstream.requests[-1].raw.decode()


def test_an_embedder_that_is_away(proxy: Proxy, upstream: Upstream) -> None:
    """Without its embedder memory is not asked by words alone: it is 502, and the upstream is not asked."""
    away = {"embed_base_url": "http://127.0.0.1:9/v1", "embed_api_key": "k", "embed_dims": 256}
    token = proxy.register(upstream, embed_provider="openai", embed_body='{"model": "e"}', **away)
    error = refuse(proxy.chat(token, "What is my favorite color?"), 502, "memory_unavailable", may_retry=True)
    assert error["type"] == "memory_error"
    assert upstream.requests == []
    assert proxy.chat(token, "Hello", headers={"x-muniment-memory": "off"}).status_code == 200


def test_a_slow_embedder(proxy: Proxy, upstream: Upstream) -> None:
    """A memory that is slower than the token's time is 502."""
    with Upstream(latency=20.0) as slow:
        given = {"embed_base_url": slow.base_url, "embed_api_key": "k", "embed_dims": 256, "memory_search_timeout": 1}
        token = proxy.register(upstream, embed_provider="openai", embed_body='{"model": "e"}', **given)
        error = refuse(proxy.chat(token, "What is my favorite color?"), 502, "memory_unavailable")
    assert "within 1 s" in error["message"]
    assert upstream.requests == []
