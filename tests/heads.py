"""Requests whose head is as large as a test wants, sent over a bare socket."""

import contextlib
import socket
import time
from collections.abc import Iterable
from urllib.parse import urlsplit


def ask_with_head(url: str, parts: Iterable[bytes]) -> bytes:
    """Send the parts of a request until the connection ends; what came back, which is nothing where it ended early."""
    address = urlsplit(url)
    came = b""
    with socket.create_connection((str(address.hostname), address.port or 80), timeout=10) as conn:
        with contextlib.suppress(ConnectionError):
            for part in parts:
                conn.sendall(part)
        with contextlib.suppress(ConnectionError):  # of a peer that closed while more was on its way
            while chunk := conn.recv(65_536):
                came += chunk
    return came


def check_head_limit(url: str) -> None:
    """Check that a head of 63 kB is answered and one of 65 kB is not, in one header or many, whole or without an end;
    nor is a trailer behind a body."""
    start = b"GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
    assert b" 200 " in ask_with_head(url, [start, b"X-A: " + b"a" * 63_000, b"\r\n\r\n"]).split(b"\r\n")[0]
    one = b"X-A: " + b"a" * 65_000
    many = b"X-A: aaaaaaaaaaa\r\n" * 4_100
    address = b"GET /health?" + b"a" * 65_000 + b" HTTP/1.1\r\nHost: x\r\n"
    for head in (start + one + b"\r\n\r\n", start + one, start + many + b"\r\n", start + many, address + b"\r\n"):
        came = ask_with_head(url, [head])
        assert came.startswith(b"HTTP/1.1 431 "), came[:100]
        assert b"connection: close" in came
        assert b"aaa" not in came
    began, endless = time.monotonic(), ask_with_head(url, [start + b"X-A: ", *[b"a" * 100_000] * 200])
    assert endless == b"" or endless.startswith(b"HTTP/1.1 431 ")
    assert time.monotonic() - began < 2
    body = b"POST /health HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n"
    came = ask_with_head(url, [body, *[one] * 10])
    assert came == b"" or b" 431 " in came
