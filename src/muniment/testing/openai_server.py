"""A scripted server with OpenAI's protocol on loopback: real HTTP for tests, demos and benchmarks without a key."""

from __future__ import annotations

import json
import random
import socket
import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Literal, Self, TypeAlias, get_args

from muniment.memory.models.hash_embedder import hash_vector
from muniment.testing.openai_answers import (
    Answer,
    Reply,
    build_answer,
    build_completion,
    build_embeddings,
    build_error,
    build_response,
    stream_completion,
    stream_response,
)

_StatusFail = Literal["rate_limit", "server_error", "overloaded", "unauthorized", "bad_request"]
Fail = Literal[_StatusFail, "cut_off", "wrong_schema", "empty", "refusal", "too_long", "drop"]
FAILS: tuple[Fail, ...] = get_args(Fail)
Replies: TypeAlias = Reply | Sequence[Reply] | Callable[[dict[str, Any]], Reply]
Fails: TypeAlias = Fail | Sequence[Fail | None] | None
Embed: TypeAlias = Callable[[str], Sequence[float]]
Latency: TypeAlias = "float | Callable[[Request], float]"

_STATUS: dict[str, tuple[int, str]] = {
    "rate_limit": (429, "Rate limit reached"),
    "server_error": (500, "The server had an error"),
    "overloaded": (503, "The server is overloaded"),
    "unauthorized": (401, "Incorrect API key provided"),
    "bad_request": (400, "Invalid request"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A request as it arrived; `headers` have lower-case names, `raw` is the body before it is read."""

    path: str
    body: dict[str, Any]
    headers: dict[str, str]
    method: str = "POST"
    raw: bytes = b""


def tool_call(name: str, arguments: dict[str, Any] | str, *, call_id: str = "call_1") -> dict[str, Any]:
    """Return a reply that calls one tool; `arguments` as a string are sent unchanged."""
    text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    return {
        "content": None,
        "tool_calls": [{"id": call_id, "type": "function", "function": {"name": name, "arguments": text}}],
    }


def structured(value: object, *, fenced: bool = False, surrounded: bool = False) -> str:
    """Return a value as JSON: alone, `fenced` in Markdown, `surrounded` by other words, or both."""
    text = json.dumps(value, ensure_ascii=False)
    if fenced:
        text = f"```json\n{text}\n```"
    return f"Here is {{what}} you asked for:\n{text}\nLet me know if {{more}} is needed." if surrounded else text


class ScriptedOpenAI:
    """A server for `/v1/chat/completions`, `/v1/responses`, `/v1/embeddings` and `/v1/models`.

    `with ScriptedOpenAI(reply=…) as server:`. `reply`: one answer for every chat and response, a list (one each, then
    the last again), or a function of the request body. An answer is a text, or a dict of message fields (`content`,
    `reasoning_content`, `tool_calls`, `refusal`) that may have `finish_reason`; each of `n` choices takes the next one.
    An `Answer` is sent as it is, whatever was asked. What is asked as a stream comes in parts of a word, `pace`
    seconds apart, with its usage where the request asks for it.
    `embed`: the vector of a text. `latency`: seconds before each answer, or a function of the request. `fail`: one
    failure for every request, or a list (one each, None for a good answer, then only good ones). `fail_share`: the
    share of the other requests that fail, each in one of `fails`, drawn with `seed`. `retry_after`: seconds, sent with
    a 429. `unknown`: fields of a body that are refused with 400, such as `response_format`, as older endpoints do.
    `requests` are those that came, `abandoned` counts the answers whose client was gone before their end.
    """

    def __init__(
        self,
        reply: Replies = "OK.",
        *,
        embed: Embed | None = None,
        latency: Latency = 0.0,
        fail: Fails = None,
        fail_share: float = 0.0,
        fails: Sequence[Fail] = FAILS,
        seed: int = 0,
        retry_after: float = 0.0,
        unknown: Collection[str] = (),
        pace: float = 0.0,
    ) -> None:
        self.requests: list[Request] = []
        self.abandoned = 0
        self._reply, self._embed = reply, embed or _hash_vector
        self._latency, self._retry_after = latency, retry_after
        self._fails = _iter_failures(fail)
        self._share, self._kinds, self._random = fail_share, tuple(fails), random.Random(seed)  # noqa: S311 - a script
        self._unknown, self.pace = frozenset(unknown), pace
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._chats = 0
        self._server: ThreadingHTTPServer | None = None
        self._thread: threading.Thread | None = None

    @property
    def base_url(self) -> str:
        """Return the address for a client, such as `http://127.0.0.1:40321/v1`. Raises RuntimeError before `with`."""
        if self._server is None:
            raise RuntimeError("The server is not running. Enter it with `with` first.")
        return f"http://127.0.0.1:{self._server.server_port}/v1"

    def __enter__(self) -> Self:
        handler = type("Scripted", (self.handler(),), {"script": self})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.02,), daemon=True, name="scripted-openai"
        )
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        if self._server and self._thread:
            self._server.shutdown()
            self._server.server_close()
            self._thread.join(5)

    def handler(self) -> type[Handler]:
        """Return the class that reads a request and sends its answer."""
        return Handler

    def answer_request(self, request: Request) -> Answer | None:
        """Return the answer to a request, None where the connection is to be dropped. The handler's thread calls it."""
        fail, refusal = self.begin_request(request)
        if fail == "drop":
            return None
        if refusal is not None:
            status, body = refusal
            answer = build_answer(body, status, {"retry-after": self.retry_after} if fail == "rate_limit" else None)
        else:
            answer = self._choose_answer(request, fail)
        if fail == "cut_off":
            whole = answer.body if isinstance(answer.body, bytes) else b"".join(answer.body)
            return replace(answer, body=whole[: len(whole) // 2])
        return answer

    def _choose_answer(self, request: Request, fail: Fail | None) -> Answer:
        body, path = request.body, request.path.partition("?")[0]
        if path.endswith("/models") and request.method == "GET":
            model = {"id": "scripted", "object": "model", "created": 0, "owned_by": "scripted"}
            return build_answer({"object": "list", "data": [model]})
        if path.endswith("/embeddings"):
            return build_answer(build_embeddings(body, self._embed, empty=fail == "empty"))
        if not path.endswith(("/chat/completions", "/responses")):
            return build_answer(build_error("no such path", "not_found"), 404)
        replies = []
        for _ in range(body.get("n") or 1):
            reply = "" if fail == "empty" else self._next_reply(body)
            if isinstance(reply, Answer):
                return reply
            replies.append(_spoil_reply(reply, fail))
        is_stream = body.get("stream") and fail != "cut_off"
        if path.endswith("/responses"):
            response = build_response(replies[0], body)
            return stream_response(response, self.pace) if is_stream else build_answer(response)
        completion = build_completion(replies, body)
        return stream_completion(completion, body, self.pace) if is_stream else build_answer(completion)

    def begin_request(self, request: Request) -> tuple[Fail | None, tuple[int, dict[str, Any]] | None]:
        """Record the request and wait for the latency. Returns its failure, and status and body of a refusal."""
        with self._lock:
            self.requests.append(request)
            fail = next(self._fails, None) or self._draw_failure()
        self.wait_until_stopped(self._latency(request) if callable(self._latency) else self._latency)
        if fail in _STATUS:
            status, text = _STATUS[fail]
            return fail, (status, build_error(text, fail))
        if refused := sorted(self._unknown & request.body.keys()):
            text = f"Unsupported parameter: {refused[0]}"
            return fail, (400, {"error": {"message": text, "type": "invalid_request_error", "param": refused[0]}})
        if fail == "wrong_schema":
            return fail, (200, {"object": "surprise", "choices": "none", "data": [{"vector": 1}]})
        return fail, None

    def fail_next(self, fail: Fails) -> None:
        """Let the next requests fail, as `fail` at the beginning says; None: no more of them."""
        with self._lock:
            self._fails = _iter_failures(fail)

    def wait_until_stopped(self, seconds: float) -> bool:
        """Wait, at most until the server stops. Returns whether it has stopped."""
        return self._stop.wait(seconds)

    @property
    def retry_after(self) -> str:
        """Return the seconds as the header has them."""
        return f"{self._retry_after:g}"

    def _draw_failure(self) -> Fail | None:
        return self._random.choice(self._kinds) if self._random.random() < self._share else None

    def build_completion(self, body: dict[str, Any], fail: Fail | None = None) -> dict[str, Any]:
        """Return the completion that answers a chat with this body. Raises TypeError for a reply that is none."""
        reply = "" if fail == "empty" else self._next_reply(body)
        if isinstance(reply, Answer):
            raise TypeError("An Answer is sent as it is; here a text or the fields of a message are needed.")
        return build_completion([_spoil_reply(reply, fail)], body)

    def _next_reply(self, body: dict[str, Any]) -> Reply:
        if callable(self._reply):
            return self._reply(body)
        if isinstance(self._reply, str | dict | Answer):
            return self._reply
        with self._lock:
            reply = self._reply[min(self._chats, len(self._reply) - 1)]
            self._chats += 1
        return reply


class Handler(BaseHTTPRequestHandler):
    """Answers requests by the script of its server."""

    script: ScriptedOpenAI
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    timeout = 60

    def do_GET(self) -> None:  # the name that http.server calls
        """Answer a GET request."""
        self.serve_request("GET")

    def do_DELETE(self) -> None:  # the name that http.server calls
        """Answer a DELETE request."""
        self.serve_request("DELETE")

    def do_POST(self) -> None:  # the name that http.server calls
        """Answer a POST request."""
        self.serve_request("POST")

    def serve_request(self, method: str) -> None:
        """Read a request and send what the script says."""
        raw = self.read_body()
        try:
            body = json.loads(raw) if raw or method == "POST" else {}
        except ValueError:
            self.send_answer(build_answer(build_error("not JSON", "invalid_request_error"), 400))
            return
        answer = self.script.answer_request(self.read_request(body, raw))
        if answer is None:
            self.close_connection = True
        else:
            self.send_answer(answer)

    def read_body(self) -> bytes:
        """Return the bytes of the body, which comes with its length or in chunks."""
        if "chunked" not in self.headers.get("transfer-encoding", ""):
            return self.rfile.read(int(self.headers.get("content-length", 0)))
        parts = []
        while size := int(self.rfile.readline().split(b";")[0], 16):
            parts.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(parts)

    def read_request(self, body: dict[str, Any], raw: bytes = b"") -> Request:
        """Return the request that the handler reads, with its body."""
        headers = {name.lower(): value for name, value in self.headers.items()}
        return Request(path=self.path, body=body, headers=headers, method=self.command, raw=raw)

    def send_answer(self, answer: Answer) -> None:
        """Send an answer; a client that has gone is counted."""
        try:
            self._send_head(answer)
            left = answer.cut
            for number, part in enumerate([answer.body] if isinstance(answer.body, bytes) else answer.body):
                if number and answer.pace:
                    self.script.wait_until_stopped(answer.pace)
                self._send_part(part if left is None else part[:left], answer)
                if left is not None and (left := left - len(part)) <= 0:
                    self.close_connection = True
                    while answer.silent and not self.script.wait_until_stopped(0.1):
                        self._find_client()
                    return
            if not isinstance(answer.body, bytes):
                self.wfile.write(b"0\r\n\r\n")
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True
            self.script.abandoned += 1

    def _send_head(self, answer: Answer) -> None:
        self.send_response_only(answer.status)
        for name, value in answer.headers:
            self.send_header(name, value)
        if isinstance(answer.body, bytes):
            self.send_header("content-length", str(len(answer.body)))
        else:
            self.send_header("transfer-encoding", "chunked")
        self.end_headers()

    def _send_part(self, part: bytes, answer: Answer) -> None:
        if isinstance(answer.body, bytes):
            self.wfile.write(part)
        elif part:
            self.wfile.write(b"%x\r\n%b\r\n" % (len(part), part))

    def _find_client(self) -> None:
        """Raise ConnectionResetError where the client has gone."""
        self.connection.setblocking(False)
        try:
            if not self.connection.recv(1, socket.MSG_PEEK):
                raise ConnectionResetError
        except BlockingIOError:
            return
        finally:
            self.connection.settimeout(self.timeout)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - http.server's signature
        """Print nothing."""


def _spoil_reply(reply: str | dict[str, Any], fail: Fail | None) -> str | dict[str, Any]:
    """Return the reply as a failure leaves it."""
    if fail == "refusal":
        return {"content": None, "refusal": "I'm sorry, I can't help with that."}
    if fail == "too_long":
        message: dict[str, Any] = {"content": reply} if isinstance(reply, str) else dict(reply)
        whole = str(message.get("content") or "")
        return message | {"content": whole[: len(whole) // 2] or "Well", "finish_reason": "length"}
    return reply


def _iter_failures(fail: Fails) -> Iterator[Fail | None]:
    """Yield one failure for ever, or those of a list."""
    if isinstance(fail, str):
        while True:
            yield fail
    yield from fail or ()


def _hash_vector(text: str) -> list[float]:
    return [float(number) for number in hash_vector(text)]
