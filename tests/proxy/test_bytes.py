"""What the proxy does not understand goes through as it came, in both directions."""

import gzip
import json
import random
import socket
import zlib
from collections.abc import Callable

import brotli
import httpx
import pytest
import zstandard

from muniment.faces.proxy.upstream.collecting import Answer as Collected, Collector, NotCollected, read_completion
from muniment.testing.openai_answers import Answer
from tests.proxy.conftest import Proxy, Teach, Upstream

_PIECES = (
    '"temperature" : 1.0', '"top_p":1e400', '"seed": 123456789012345678901234567890', '"x\\u0041":"\\ud83d"',
    '"metadata": {"a":1,"a":2, "b":[ ]}', '"stop":["\\n","é","\\u00e9"]', '"n":1', '"tools":[ {"type":"function"} ]',
    '"deep":' + "[" * 200 + "]" * 200, '"\\"messages\\"": "[no]"', '"n": 1 ', '"response_format":{"type":"text"}',
)  # fmt: skip
_MESSAGES = (
    '{"role":"user","content":"What  is\\u0020my favorite color? \\ud83d\\ude00", "weight": 1.50}',
    (
        '{"content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA\\/"}},'
        '{"type":"text","text":"my favorite \\"color\\"?"}],"role":"user","role":"user"}'
    ),
    '{ "role" : "assistant", "content" : "Ja, \u00fc\\ud83d" }',
    (
        '{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function",'
        '"function":{"name":"f","arguments":"{\\"a\\":1.0}"}}]},{"role":"tool","tool_call_id":"c1","content":"1e5"}'
    ),
)


def _make_body(draw: random.Random) -> tuple[str, str, str]:
    """A body in three parts: what stands before its messages, these, and what stands behind them."""
    white = draw.choice(["", " ", "\n\t", "  "])
    before = [*draw.sample(_PIECES, draw.randrange(5)), '"model":"m"']
    behind = draw.sample(_PIECES, draw.randrange(5))
    said = [*draw.choices(_MESSAGES, k=draw.randrange(3)), _MESSAGES[draw.randrange(2)]]
    head = "{" + white + f",{white}".join([*before, f'"messages"{white}:{white}'])
    tail = "".join(f",{white}{piece}" for piece in behind) + white + "}" + draw.choice(["", "\n"])
    return head, f"[{white}" + f" ,{white}".join(said) + "]", tail


def _send(proxy: Proxy, token: str, raw: bytes, **headers: str) -> httpx.Response:
    with proxy.client(token, **headers) as client:
        given = {"content-type": "application/json"}
        return client.post("/v1/chat/completions", content=raw, headers=given)


@pytest.mark.timeout(180)
def test_generated_requests(proxy: Proxy, upstream: Upstream, teach: Teach) -> None:
    """All but the messages stays byte for byte, each message too that memory does not stand in; without memory the
    whole body does."""
    token = proxy.register(upstream, session_window_size=1)
    teach(token, "My favorite color is teal.")
    draw = random.Random(28)
    for number in range(60):
        head, messages, tail = _make_body(draw)
        raw = (head + messages + tail).encode()
        is_private = number % 2 == 0
        answer = _send(proxy, token, raw, **{"x-muniment-memory": "off" if is_private else "read"})
        sent = upstream.requests[-1].raw.decode()
        if is_private:
            assert sent == raw.decode()
            continue
        assert answer.headers["x-muniment-memory"].startswith("read; injected=1")
        assert sent.startswith(head)
        assert sent.endswith(tail)
        inside = sent[len(head) : len(sent) - len(tail)]
        for message in _MESSAGES:
            assert inside.count(message) == messages.count(message)
        assert inside.index("teal") < inside.index(messages.strip("[] \n\t")[:20])


def test_a_model_of_the_token(proxy: Proxy, upstream: Upstream) -> None:
    """A request that names no model gets the token's, and all else of it stays; one that names a model keeps it."""
    token = proxy.register(upstream, llm_model="own")
    said = '"messages": [{"role":"user","content":"Hello"}]'
    for given, sent in (
        (f"{{{said}}}", f'{{"model":"own",{said}}}'),
        (f'{{ "model" : null, {said} }}', f'{{ "model" : "own", {said} }}'),
        (f'{{ "model" : "", {said} }}', f'{{ "model" : "own", {said} }}'),
        (f'{{"model":"m",{said}}}', f'{{"model":"m",{said}}}'),
    ):
        _send(proxy, token, given.encode(), **{"x-muniment-memory": "off"})
        assert upstream.requests[-1].raw.decode() == sent


def _read_raw(proxy: Proxy, token: str, **headers: str) -> tuple[int, httpx.Headers, bytes]:
    with proxy.client(token, **headers) as client:
        body = {"model": "m", "messages": [{"role": "user", "content": "Hello"}]}
        with client.stream("POST", "/v1/chat/completions", json=body) as answer:
            return answer.status_code, answer.headers, b"".join(answer.iter_raw())


@pytest.mark.parametrize("status", [200, 201, 204, 302, 400, 401, 403, 404, 418, 429, 500, 502, 503, 599])
def test_any_status(proxy: Proxy, token: str, upstream: Upstream, status: int) -> None:
    """The status, the headers and the body of an answer are the upstream's, also of an error, which is asked once."""
    body = b"" if status == 204 else b'{ "error" : {"message": "no"} }'
    odd = (("x-request-id", "req-1"), ("X-RateLimit-Left", "7"), ("set-cookie", "a=1"), ("set-cookie", "b=2; x"))
    upstream.answer_next(Answer(status=status, headers=(*odd, ("retry-after", "3"), ("x-empty", "")), body=body))
    got, headers, raw = _read_raw(proxy, token)
    assert (got, raw) == (status, body)
    assert headers.get_list("set-cookie") == ["a=1", "b=2; x"]
    assert [headers[name] for name in ("x-request-id", "x-ratelimit-left", "retry-after", "x-empty")] == [
        "req-1", "7", "3", "",
    ]  # fmt: skip
    assert len(headers.get_list("date")) == 1
    assert "server" not in headers
    assert len(upstream.requests) == 1


_COMPLETION = {"choices": [{"index": 0, "message": {"role": "assistant", "content": "An otter."}}], "usage": None}


def _pack_brotli(raw: bytes) -> bytes:
    packed: bytes = brotli.compress(raw, quality=1)
    return packed


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "raw deflate", "br", "zstd", "identity", "compress"])
def test_encodings(proxy: Proxy, token: str, upstream: Upstream, encoding: str) -> None:
    """An encoded body goes through encoded, as the client asked for; it is stored where its encoding can be read."""
    text = json.dumps(_COMPLETION).encode()
    plain = zlib.compressobj(wbits=-15)
    raw = {
        "gzip": gzip.compress(text),
        "deflate": zlib.compress(text),
        "raw deflate": plain.compress(text) + plain.flush(),
        "br": brotli.compress(text),
        "zstd": zstandard.compress(text),
        "identity": text,
        "compress": text,  # nothing here reads it, so nobody looks what is in it
    }[encoding]
    named = (("content-encoding", encoding.removeprefix("raw ")), ("content-type", "application/json"))
    upstream.answer_next(Answer(headers=named, body=raw))
    status, headers, got = _read_raw(proxy, token, **{"accept-encoding": "br;q=1, x-odd"})
    assert (status, got) == (200, raw)
    assert headers["content-encoding"] == encoding.removeprefix("raw ")
    assert upstream.requests[-1].headers["accept-encoding"] == "br;q=1, x-odd"
    proxy.wait_kept(headers)
    proxy.chat(token, "And then?")
    was_stored = "An otter." in upstream.requests[-1].raw.decode()
    assert was_stored == (encoding != "compress")
    assert ("nothing here reads its encoding" in str(proxy.read_lines(headers["x-muniment-request-id"]))) != was_stored


@pytest.mark.parametrize(
    ("encoding", "pack"), [("gzip", gzip.compress), ("br", _pack_brotli), ("zstd", zstandard.compress)]
)
def test_encodings_that_become_endless(encoding: str, pack: Callable[[bytes], bytes]) -> None:
    """A short answer that becomes a long text is given up; so is one that is of another encoding, and what is cut off
    is read as far as it goes."""
    _read_packed(pack(b" " * 63_000_000 + json.dumps(_COMPLETION).encode()), encoding)
    with pytest.raises(NotCollected, match="64,000,000 bytes"):
        _read_packed(pack(b"\0" * 70_000_000), encoding)
    for raw in (b"\xff\xff\xff\xff no", pack(json.dumps(_COMPLETION).encode())[:-20]):
        with pytest.raises(NotCollected, match=r"its encoding cannot be read|not of the protocol"):
            _read_packed(raw, encoding)


def _read_packed(raw: bytes, encoding: str) -> Collected:
    return Collector([raw], len(raw)).read_answer("application/json", encoding, read_completion, is_whole=True)


def _events(*texts: str) -> tuple[bytes, ...]:
    chunks = [{"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": None}]} for text in texts]
    end = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
    return (*(b"data: " + json.dumps(each).encode() + b"\r\n\r\n" for each in (*chunks, end)), b"data: [DONE]\n\n")


def test_a_stream(proxy: Proxy, token: str, upstream: Upstream) -> None:
    """A stream comes through byte for byte while it goes on, and what it said is in the next request."""
    whole = b"".join(_events("An ", "ott", "er \u00fc."))
    pieces = tuple(whole[at : at + 7] for at in range(0, len(whole), 7))
    upstream.answer_next(Answer(headers=(("content-type", "text/event-stream"),), body=pieces))
    _, headers, got = _read_raw(proxy, token)
    assert got == whole
    proxy.wait_kept(headers)
    proxy.chat(token, "And then?")
    assert "An otter \u00fc." in upstream.requests[-1].body["messages"][1]["content"]


@pytest.mark.timeout(120)
def test_a_stream_that_is_cut(proxy: Proxy, upstream: Upstream) -> None:
    """Cut at any place, the client gets what came until then and no end; nothing of it is stored as an answer."""
    whole = b"".join(_events("An ", "otter."))
    for cut in (0, 1, 20, len(_events("An ")[0]), len(whole) - 60, len(whole) - 15):
        token = proxy.register(upstream)
        upstream.answer_next(Answer(headers=(("content-type", "text/event-stream"),), body=(whole,), cut=cut))
        headers, got = _read_until_cut(proxy, token)
        assert got == whole[:cut]
        proxy.wait_kept(headers)
        proxy.chat(token, "And then?")
        assert "otter" not in json.dumps(upstream.requests[-1].body["messages"])


def _read_until_cut(proxy: Proxy, token: str) -> tuple[httpx.Headers, bytes]:
    body = {"model": "m", "messages": [{"role": "user", "content": "Hello"}], "stream": True}
    got: list[bytes] = []
    with (
        proxy.client(token) as client,
        pytest.raises(httpx.RemoteProtocolError),
        client.stream("POST", "/v1/chat/completions", json=body) as answer,
    ):
        got.extend(answer.iter_raw())
    return answer.headers, b"".join(got)


def test_other_addresses(proxy: Proxy, token: str, upstream: Upstream) -> None:
    """Models, embeddings and any other address pass unread, with their query and whatever method."""
    with proxy.client(token) as client:
        assert client.get("/v1/models").json()["data"]
        upstream.answer_next(Answer(body=b'{"data": []}'))
        assert client.post("/v1/embeddings", content=b'{"input": [[1,2], [3]]}').content == b'{"data": []}'
        assert upstream.requests[-1].raw == b'{"input": [[1,2], [3]]}'
        upstream.answer_next(Answer(status=200, body=b"gone"))
        assert client.delete("/v1/files/a%2Fb?x=%20y").content == b"gone"
    assert upstream.requests[-1].method == "DELETE"
    assert upstream.requests[-1].path == "/v1/files/a%2Fb?x=%20y"


@pytest.mark.parametrize("path", ["/v1/../secret", "/v1/a/%2e%2e/../b", "/v1/..%2fadmin", "/v1/./models"])
def test_an_address_outside(proxy: Proxy, token: str, upstream: Upstream, path: str) -> None:
    """No address leads out of the upstream's base."""
    host, port = proxy.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port))) as raw:
        raw.sendall(f"GET {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n\r\n".encode())
        assert raw.recv(65536).split(b" ")[1] == b"404"
    assert upstream.requests == []
