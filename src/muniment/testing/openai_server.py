"""A scripted server with OpenAI's protocol on loopback: real HTTP for tests, demos and benchmarks without a key."""

from __future__ import annotations

import base64
import json
import random
import struct
import threading
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Literal, Self, TypeAlias, get_args

from muniment.memory.models.hash_embedder import hash_vector

_StatusFail = Literal["rate_limit", "server_error", "overloaded", "unauthorized", "bad_request"]
Fail = Literal[_StatusFail, "cut_off", "wrong_schema", "empty", "refusal", "too_long", "drop"]
FAILS: tuple[Fail, ...] = get_args(Fail)
Reply: TypeAlias = str | dict[str, Any]
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
    """A request as it arrived; `headers` have lower-case names."""

    path: str
    body: dict[str, Any]
    headers: dict[str, str]


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
    """A server for `/v1/chat/completions` and `/v1/embeddings`: `with ScriptedOpenAI(reply=…) as server:`.

    `reply`: one answer for every chat, a list (one each, then the last again), or a function of the request body. An
    answer is a text, or a dict of message fields (`content`, `tool_calls`, `refusal`) that may have `finish_reason`.
    `embed`: the vector of a text. `latency`: seconds before each answer, or a function of the request. `fail`: one
    failure for every request, or a list (one each, None for a good answer, then only good ones). `fail_share`: the
    share of the other requests that fail, each in one of `fails`, drawn with `seed`. `retry_after`: seconds, sent with
    a 429. `unknown`: fields of a body that are refused with 400, such as `response_format`, as older endpoints do.
    `pace`: seconds between the chunks of a streamed answer, which has its usage where the request asks for it.
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

    def answer_request(self, request: Request) -> tuple[int, dict[str, Any] | None, Fail | None]:
        """Return status, JSON body and failure of a request. The thread of the handler calls it."""
        fail, refusal = self.begin_request(request)
        if refusal is not None:
            return *refusal, fail
        if request.path.endswith("/chat/completions"):
            return 200, self.build_completion(request.body, fail), fail
        if request.path.endswith("/embeddings"):
            return 200, self._build_embeddings(request.body, empty=fail == "empty"), fail
        return 404, build_error("no such path", "not_found"), fail

    def begin_request(self, request: Request) -> tuple[Fail | None, tuple[int, dict[str, Any]] | None]:
        """Record the request and wait for the latency. Returns its failure, and status and body of a refusal."""
        with self._lock:
            self.requests.append(request)
            fail = next(self._fails, None) or self._draw_failure()
        self._stop.wait(self._latency(request) if callable(self._latency) else self._latency)
        if fail in _STATUS:
            status, text = _STATUS[fail]
            return fail, (status, build_error(text, fail))
        if refused := sorted(self._unknown & request.body.keys()):
            text = f"Unsupported parameter: {refused[0]}"
            return fail, (400, {"error": {"message": text, "type": "invalid_request_error", "param": refused[0]}})
        if fail == "wrong_schema":
            return fail, (200, {"object": "surprise", "choices": "none", "data": [{"vector": 1}]})
        return fail, None

    @property
    def retry_after(self) -> str:
        """Return the seconds as the header has them."""
        return f"{self._retry_after:g}"

    def _draw_failure(self) -> Fail | None:
        return self._random.choice(self._kinds) if self._random.random() < self._share else None

    def build_completion(self, body: dict[str, Any], fail: Fail | None = None) -> dict[str, Any]:
        """Return the completion that answers a chat with this body."""
        reply: Reply = "" if fail == "empty" else self._next_reply(body)
        message: dict[str, Any] = {"content": reply} if isinstance(reply, str) else dict(reply)
        if fail == "refusal":
            message = {"content": None, "refusal": "I'm sorry, I can't help with that."}
        elif fail == "too_long":
            whole = str(message.get("content") or "")
            message = {"content": whole[: len(whole) // 2] or "Well", "finish_reason": "length"}
        finish = message.pop("finish_reason", "tool_calls" if message.get("tool_calls") else "stop")
        prompt = sum(len(str(part.get("content") or "")) for part in body.get("messages", ())) // 4
        completion = len(json.dumps(message, ensure_ascii=False)) // 4
        return {
            "id": "chatcmpl-scripted",
            "object": "chat.completion",
            "created": int(time.time()),
            "model": body.get("model", "scripted"),
            "choices": [{"index": 0, "message": {"role": "assistant", **message}, "finish_reason": finish}],
            "usage": {
                "prompt_tokens": prompt,
                "completion_tokens": completion,
                "total_tokens": prompt + completion,
            },
        }

    def _next_reply(self, body: dict[str, Any]) -> Reply:
        if callable(self._reply):
            return self._reply(body)
        if isinstance(self._reply, str | dict):
            return self._reply
        with self._lock:
            reply = self._reply[min(self._chats, len(self._reply) - 1)]
            self._chats += 1
        return reply

    def _build_embeddings(self, body: dict[str, Any], *, empty: bool) -> dict[str, Any]:
        inputs = body.get("input", ())
        texts = [] if empty else [inputs] if isinstance(inputs, str) else list(inputs)
        packed = body.get("encoding_format") == "base64"
        rows = []
        for index, text in enumerate(texts):
            vector = [float(number) for number in self._embed(text)]
            rows.append(
                {"object": "embedding", "index": index, "embedding": _pack_vector(vector) if packed else vector}
            )
        tokens = sum(len(text) for text in texts) // 4
        return {
            "object": "list",
            "data": rows,
            "model": body.get("model", "scripted"),
            "usage": {"prompt_tokens": tokens, "total_tokens": tokens},
        }


class Handler(BaseHTTPRequestHandler):
    """Answers requests by the script of its server."""

    script: ScriptedOpenAI
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    timeout = 60

    def do_POST(self) -> None:  # the name that http.server calls
        """Answer a POST request."""
        raw = self.rfile.read(int(self.headers.get("content-length", 0)))
        try:
            body = json.loads(raw)
        except ValueError:
            self.send_answer(400, b'{"error": {"message": "not JSON"}}')
            return
        request = self.read_request(body)
        status, answer, fail = self.script.answer_request(request)
        try:
            self._deliver_answer(status, answer, fail, body)
        except (BrokenPipeError, ConnectionResetError):
            # The client has gone, as in a test of its time limit.
            self.close_connection = True

    def read_request(self, body: dict[str, Any]) -> Request:
        """Return the request that the handler reads, with its body."""
        return Request(path=self.path, body=body, headers={k.lower(): v for k, v in self.headers.items()})

    def _deliver_answer(
        self, status: int, answer: dict[str, Any] | None, fail: Fail | None, body: dict[str, Any]
    ) -> None:
        text = json.dumps(answer, ensure_ascii=False).encode()
        if fail == "drop":
            self.close_connection = True
        elif fail == "cut_off":
            self.send_answer(status, text[: len(text) // 2])
        elif body.get("stream") and status == 200 and answer and isinstance(answer.get("choices"), list):
            options = body.get("stream_options") or {}
            self._stream_answer(answer, with_usage=bool(options.get("include_usage")))
        else:
            self.send_answer(status, text, {"retry-after": self.script.retry_after} if fail == "rate_limit" else {})

    def send_answer(self, status: int, text: bytes, headers: dict[str, str] | None = None) -> None:
        """Send a complete answer."""
        self.send_response(status)
        standard = {"content-type": "application/json", "content-length": str(len(text))}
        for name, value in (standard | (headers or {})).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(text)

    def _stream_answer(self, answer: dict[str, Any], *, with_usage: bool) -> None:
        """Send the answer as server-sent events. It has no length, so the end of the connection ends it."""
        self.close_connection = True
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        for number, chunk in enumerate(_split_chunks(answer, with_usage=with_usage)):
            if number and self.script.pace:
                time.sleep(self.script.pace)
            self.wfile.write(b"data: " + json.dumps(chunk, ensure_ascii=False).encode() + b"\n\n")
            self.wfile.flush()
        self.wfile.write(b"data: [DONE]\n\n")

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - http.server's signature
        """Print nothing."""


def build_error(message: str, kind: str) -> dict[str, Any]:
    """Return the body of an error."""
    return {"error": {"message": message, "type": kind, "code": kind}}


def _split_chunks(answer: dict[str, Any], *, with_usage: bool) -> Iterator[dict[str, Any]]:
    """Yield a completion in chunks: the role, one chunk per word, each tool call in two, the finish reason, and the
    usage."""
    choice = answer["choices"][0]
    message = choice["message"]
    base = {key: answer[key] for key in ("id", "created", "model")} | {"object": "chat.completion.chunk"}
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
    deltas += [
        {"content": part}
        for part in (message.get("content") or "").splitlines(keepends=True)
        for part in _split_words(part)
    ]
    if refusal := message.get("refusal"):
        deltas.append({"refusal": refusal})
    for index, call in enumerate(message.get("tool_calls") or ()):
        function = call["function"]
        deltas.append({"tool_calls": [{**call, "index": index, "function": {**function, "arguments": ""}}]})
        deltas.append({"tool_calls": [{"index": index, "function": {"arguments": function["arguments"]}}]})
    for delta in deltas:
        yield {**base, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
    yield {**base, "choices": [{"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}]}
    if with_usage:
        yield {**base, "choices": [], "usage": answer["usage"]}


def _split_words(line: str) -> list[str]:
    words = line.split(" ")
    return [word + " " for word in words[:-1]] + words[-1:]


def _iter_failures(fail: Fails) -> Iterator[Fail | None]:
    """Yield one failure for ever, or those of a list."""
    if isinstance(fail, str):
        while True:
            yield fail
    yield from fail or ()


def _pack_vector(vector: Sequence[float]) -> str:
    return base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode("ascii")


def _hash_vector(text: str) -> list[float]:
    return [float(number) for number in hash_vector(text)]
