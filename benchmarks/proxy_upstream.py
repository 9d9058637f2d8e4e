"""An upstream that costs little, in a process of its own: python -m benchmarks.proxy_upstream prints its port.

A chat is answered with `max_tokens` chunks, `temperature` seconds apart, where it asks for a stream, and with a short
text where it does not."""

from __future__ import annotations

import asyncio
import json
import sys

_HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: %b\r\n%b\r\n\r\n"
_CHUNK = json.dumps(
    {"id": "c", "object": "chat.completion.chunk", "choices": [{"index": 0, "delta": {"content": "word "}}]}
)
_EVENT = f"data: {_CHUNK}\n\n".encode()
_LAST = b'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
_WHOLE = json.dumps(
    {
        "id": "c",
        "object": "chat.completion",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": "Fine."}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 10, "completion_tokens": 2, "total_tokens": 12},
    }
).encode()


def _frame(part: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(part), part)


async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer the requests of one connection."""
    try:
        while head := await reader.readuntil(b"\r\n\r\n"):
            size = int(head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0] or 0)
            body = json.loads(await reader.readexactly(size) or b"{}")
            if body.get("stream"):
                await _stream(writer, int(body.get("max_tokens", 10)), float(body.get("temperature", 0)))
            else:
                writer.write(_HEAD % (b"application/json", b"content-length: %d" % len(_WHOLE)) + _WHOLE)
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        pass
    finally:
        writer.close()


async def _stream(writer: asyncio.StreamWriter, chunks: int, pace: float) -> None:
    writer.write(_HEAD % (b"text/event-stream", b"transfer-encoding: chunked"))
    event = _frame(_EVENT)
    for number in range(chunks):
        if pace and number:
            await asyncio.sleep(pace)
        writer.write(event)
        if pace or number % 50 == 0:
            await writer.drain()
    writer.write(_frame(_LAST) + b"0\r\n\r\n")


async def serve() -> None:
    """Listen on a port of loopback until the process ends."""
    server = await asyncio.start_server(answer, "127.0.0.1", 0, limit=1 << 20)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    sys.exit(asyncio.run(serve()))
