"""Small chunks of an answer are joined before they are parsed.

The parser of HTTP takes as long for a chunk of a few bytes as for a large one, and a stream has thousands. What has
arrived together becomes one chunk; the bytes of the body stay what they are."""

from __future__ import annotations

import re

_HEAD_END = b"\r\n\r\n"
_MAX_LINE = 4_096  # bytes of the size of a chunk with its extensions
_CHUNKED = re.compile(rb"\r\ntransfer-encoding:[ \t]*chunked[ \t]*\r\n", re.IGNORECASE)
_SIZE = re.compile(rb"([0-9a-fA-F]{1,16})[ \t]*(?:;.*)?\Z", re.DOTALL)
_NO_BODY = re.compile(rb"HTTP/1\.[01] (?:1\d\d|204|304)\b")


class ChunkJoiner:
    """Rewrites the bytes of answers, one after the other on a connection: the chunks of each portion become one.

    What it does not understand passes as it is, and the parser behind it judges."""

    def __init__(self) -> None:
        self._held = b""  # the beginning of a head or of a chunk's size, which is not whole yet
        self._left = 0  # bytes of the current chunk that have not come, with the line end behind them
        self._state = "head"

    def begin_request(self) -> None:
        """Note that a request goes out: what comes next begins with a head."""
        if self._state == "rest":
            self._state, self._held, self._left = "head", b"", 0

    def join_chunks(self, data: bytes) -> bytes:
        """Return what the parser is to see of the next bytes; empty where there is not enough of them yet, and at the
        end of the connection all that was held."""
        if not data:
            held, self._held = self._held, b""
            return held
        if self._state == "rest":
            return data
        data, self._held = self._held + data, b""
        head = b""
        if self._state == "head":
            end = data.find(_HEAD_END)
            if end < 0:
                self._held = data
                return b""
            head, data = data[: end + 4], data[end + 4 :]
            if _NO_BODY.match(head) and head[9:10] == b"1":
                return head + (self.join_chunks(data) if data else b"")
            is_chunked = _CHUNKED.search(head) and not _NO_BODY.match(head)
            self._state = "chunks" if is_chunked else "rest"
            if self._state == "rest":
                return head + data
        return head + self._join_body(data)

    def _join_body(self, data: bytes) -> bytes:
        parts: list[bytes] = []
        position, tail = 0, b""
        while position < len(data):
            if self._left:
                taken = data[position : position + self._left]
                position, self._left = position + len(taken), self._left - len(taken)
                # Of the two bytes behind a chunk none is its own.
                parts.append(taken[: max(0, len(taken) - max(0, 2 - self._left))] if self._left < 2 else taken)
                continue
            end = data.find(b"\r\n", position)
            size = _parse_size(data[position:end]) if end >= 0 else None
            if end < 0 and len(data) - position < _MAX_LINE:
                self._held = data[position:]
                break
            if not size:  # the last chunk, or none: the parser sees it as it is
                tail, self._state = data[position:], "rest"
                break
            stop = end + 2 + size
            if stop + 2 <= len(data):
                if data[stop : stop + 2] != b"\r\n":  # for the parser to refuse
                    tail, self._state = data[position:], "rest"
                    break
                parts.append(data[end + 2 : stop])
                position = stop + 2
            else:
                position, self._left = end + 2, size + 2
        body = b"".join(parts)
        return (b"%x\r\n%b\r\n" % (len(body), body) if body else b"") + tail


def _parse_size(line: bytes) -> int | None:
    """Return the size of a chunk; None for a line that has none."""
    found = _SIZE.match(line)
    return int(found[1], 16) if found else None
