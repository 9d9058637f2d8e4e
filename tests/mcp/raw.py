"""Messages of the protocol of 2026-07-28 as they are sent, for what an official client never sends."""

import json
from itertools import count
from typing import Any, Self

import httpx

VERSION = "2026-07-28"
_PREFIX = "io.modelcontextprotocol"
_IDS = count(1)


class RawClient:
    """A client that sends what it is told."""

    def __init__(self, url: str, token: str, *, can_ask: bool = True) -> None:
        self.http = httpx.Client(headers={"Authorization": f"Bearer {token}"}, timeout=30)
        self.url, self.can_ask = f"{url}/mcp", can_ask

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.http.close()

    def send(self, method: str, target: str, /, **params: Any) -> dict[str, Any]:
        """The result of a request, or its error."""
        meta = {
            f"{_PREFIX}/protocolVersion": VERSION,
            f"{_PREFIX}/clientCapabilities": {"elicitation": {"form": {}}} if self.can_ask else {},
            f"{_PREFIX}/clientInfo": {"name": "test", "version": "1"},
        }
        body = {"jsonrpc": "2.0", "id": next(_IDS), "method": method, "params": {**params, "_meta": meta}}
        answer = self.post(json.dumps(body), **{"Mcp-Method": method, "Mcp-Name": target}).json()
        result: dict[str, Any] = answer.get("result") or answer["error"]
        return result

    def call(self, tool: str, /, **arguments: Any) -> dict[str, Any]:
        """The result of a call of a tool."""
        return self.send("tools/call", tool, name=tool, arguments=arguments)

    def answer(self, asked: dict[str, Any], answer: object, tool: str, /, **arguments: Any) -> dict[str, Any]:
        """The result of a call that is repeated with the answer to what it has asked."""
        return self.send(
            "tools/call",
            tool,
            name=tool,
            arguments=arguments,
            inputResponses={"consent": answer},
            requestState=asked["requestState"],
        )

    def post(self, body: str | bytes, **headers: str) -> httpx.Response:
        """The answer to a body."""
        usual = {
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
            "MCP-Protocol-Version": VERSION,
        }
        return self.http.post(self.url, content=body, headers=usual | headers)
