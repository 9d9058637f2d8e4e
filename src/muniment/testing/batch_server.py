"""The scripted server with a batch endpoint: upload a file, make a batch of it, fetch the answers when it is over."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Literal
from urllib.parse import parse_qsl, urlsplit

from muniment.testing.openai_answers import Answer, Reply, build_error
from muniment.testing.openai_server import Fail, Handler, Request, ScriptedOpenAI

Fate = Literal["answered", "missing", "error", "cut_off"]
BatchEnd = Literal["completed", "expired", "failed"]
_ENDS: dict[Fate, Fail | None] = {"answered": None, "cut_off": "too_long"}


def _always_answered(_place: int) -> Fate:
    return "answered"


def _do_nothing(_method: str, _path: str) -> None:
    return None


@dataclass(slots=True, kw_only=True)
class ScriptedBatch:
    """A batch of the scripted server, and how often it was polled."""

    id: str
    input_file: str
    metadata: dict[str, str]
    created: int
    status: str = "in_progress"
    polls: int = 0
    files: dict[str, str] = field(default_factory=dict)  # output_file_id, error_file_id


class ScriptedBatches(ScriptedOpenAI):
    """A server that answers `/v1/files` and `/v1/batches`, too: `with ScriptedBatches(reply=…) as server:`.

    A batch is in progress for so many `polls`, then it `ends`. `fate` gives the result of a request by its place in the
    batch: answered, missing from every file, in the error file, or cut off. What is missing is in the error file of a
    batch that has expired. `hold` is called with the method and path of each request before it is answered."""

    def __init__(
        self,
        reply: Reply | Callable[[dict[str, Any]], Reply] = "OK.",
        *,
        polls: int = 0,
        ends: BatchEnd = "completed",
        fate: Callable[[int], Fate] = _always_answered,
        hold: Callable[[str, str], None] = _do_nothing,
        **more: Any,
    ) -> None:
        super().__init__(reply, **more)
        self.files: dict[str, bytes] = {}
        self.names: dict[str, str] = {}  # what the files are called
        self.batches: dict[str, ScriptedBatch] = {}
        self.polls, self.ends, self.fate, self.hold = polls, ends, fate, hold
        self._numbers = count(1)

    def handler(self) -> type[Handler]:
        """Return the class that reads a request and sends its answer."""
        return _BatchHandler

    def handle_request(self, method: str, request: Request, raw: bytes) -> tuple[int, bytes, Fail | None]:
        """Return status, body and failure of a request about files or batches. The thread of the handler calls it."""
        fail, refusal = self.begin_request(request)
        if refusal is not None:
            return refusal[0], json.dumps(refusal[1]).encode(), fail
        url = urlsplit(request.path)
        params = dict(parse_qsl(url.query))
        _, kind, name, part, *_ = [*url.path.partition("/v1")[2].split("/"), "", "", ""]
        if kind == "files":
            answer = self._handle_files(method, name, part, raw, params)
        else:
            answer = self._handle_batches(method, name, part, request.body, params)
        self.hold(method, request.path)
        if answer is None:
            return 404, json.dumps(build_error("no such object", "not_found")).encode(), fail
        return 200, answer if isinstance(answer, bytes) else json.dumps(answer).encode(), fail

    def _handle_files(
        self, method: str, name: str, part: str, raw: bytes, params: dict[str, str]
    ) -> dict[str, Any] | bytes | None:
        if method == "POST":
            # The part of the form that is a file: between its own empty line and the last boundary.
            match = re.search(rb'name="file"; filename="([^"]*)".*?\r\n\r\n(.*?)\r\n--', raw, re.DOTALL)
            filename, content = (match[1].decode(), match[2]) if match else ("", b"")
            return self._describe_file(self._store_file(content, filename))
        if not name:
            return _paginate_rows([self._describe_file(file) for file in reversed(self.files)], params)
        if name not in self.files:
            return None
        if method == "DELETE":
            del self.files[name], self.names[name]
            return {"id": name, "object": "file", "deleted": True}
        return self.files[name] if part == "content" else self._describe_file(name)

    def _handle_batches(
        self, method: str, name: str, part: str, body: dict[str, Any], params: dict[str, str]
    ) -> dict[str, Any] | None:
        if method == "POST" and not name:
            number = f"batch_{len(self.batches) + 1}"
            metadata, created = body.get("metadata") or {}, int(time.time())
            batch = ScriptedBatch(id=number, input_file=body["input_file_id"], metadata=metadata, created=created)
            self.batches[number] = batch
            return _describe_batch(batch)
        if not name:
            return _paginate_rows([_describe_batch(batch) for batch in reversed(self.batches.values())], params)
        if name not in self.batches:
            return None
        batch = self.batches[name]
        if part == "cancel":
            batch.status = "cancelling" if batch.status == "in_progress" else batch.status
        else:
            self._advance_batch(batch)
        return _describe_batch(batch)

    def _advance_batch(self, batch: ScriptedBatch) -> None:
        """Count a poll of a batch; the last one ends it and makes its files."""
        if batch.status == "cancelling":
            batch.status = "cancelled"
        if batch.status != "in_progress":
            return
        batch.polls += 1
        if batch.polls <= self.polls:
            return
        batch.status = self.ends
        if self.ends == "failed":
            return
        lines: dict[str, list[bytes]] = {"output_file_id": [], "error_file_id": []}
        for place, line in enumerate(self.files[batch.input_file].splitlines()):
            fate = self.fate(place)
            request = json.loads(line)
            if fate in _ENDS:
                lines["output_file_id"].append(
                    _encode_line(request, self.build_completion(request["body"], _ENDS[fate]))
                )
            elif fate == "error" or self.ends == "expired":
                code = "batch_expired" if self.ends == "expired" else "server_error"
                lines["error_file_id"].append(_encode_line(request, None, code))
        batch.files = {name: self._store_file(b"\n".join(rows) + b"\n") for name, rows in lines.items() if rows}

    def _store_file(self, content: bytes, filename: str = "") -> str:
        name = f"file-{next(self._numbers)}"
        self.files[name], self.names[name] = content, filename or f"{name}.jsonl"
        return name

    def _describe_file(self, name: str) -> dict[str, Any]:
        return {
            "id": name,
            "object": "file",
            "bytes": len(self.files[name]),
            "created_at": int(time.time()),
            "filename": self.names[name],
            "purpose": "batch",
            "status": "processed",
        }


class _BatchHandler(Handler):
    script: ScriptedBatches

    def serve_request(self, method: str) -> None:
        if "/v1/files" not in self.path and "/v1/batches" not in self.path:
            super().serve_request(method)
            return
        raw = self.read_body()
        content = json.loads(raw) if raw and "json" in self.headers.get("content-type", "") else {}
        status, body, fail = self.script.handle_request(method, self.read_request(content, raw), raw)
        if fail == "drop":
            self.close_connection = True
        else:
            self.send_answer(Answer(status=status, body=body[: len(body) // 2] if fail == "cut_off" else body))


def _paginate_rows(rows: list[dict[str, Any]], params: dict[str, str]) -> dict[str, Any]:
    """Return a page of a list: at most `limit` rows, those behind the row with the id `after`."""
    ids = [row["id"] for row in rows]
    start = ids.index(params["after"]) + 1 if params.get("after") in ids else 0
    end = start + int(params.get("limit", 20))
    return {"object": "list", "data": rows[start:end], "has_more": end < len(rows)}


def _describe_batch(batch: ScriptedBatch) -> dict[str, Any]:
    return {
        "id": batch.id,
        "object": "batch",
        "endpoint": "/v1/chat/completions",
        "completion_window": "24h",
        "created_at": batch.created,
        "input_file_id": batch.input_file,
        "metadata": batch.metadata,
        "status": batch.status,
        **batch.files,
    }


def _encode_line(request: dict[str, Any], completion: dict[str, Any] | None, code: str | None = None) -> bytes:
    """Return one line of an output file or of an error file."""
    line = {
        "id": f"request-{request['custom_id']}",
        "custom_id": request["custom_id"],
        "response": {"status_code": 200, "request_id": "req", "body": completion} if completion else None,
        "error": {"code": code, "message": "This request could not be executed."} if code else None,
    }
    return json.dumps(line, ensure_ascii=False).encode()
