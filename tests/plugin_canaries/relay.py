"""A relay between a host and its server that keeps every byte of both directions."""

from __future__ import annotations

import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from socket import SHUT_WR, create_connection, socket
from urllib.parse import urlsplit


@dataclass
class Wire:
    """Where the relay listens, and what was sent to the server and back."""

    url: str
    sent: bytearray = field(default_factory=bytearray)
    answered: bytearray = field(default_factory=bytearray)


@contextmanager
def relay_to(url: str) -> Iterator[Wire]:
    """Pass on what comes for the server of `url`."""
    target = urlsplit(url)
    address = (target.hostname or "", target.port or 80)

    class Passing(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            with create_connection(address) as far:
                back = threading.Thread(target=pass_on, args=(far, self.request, wire.answered), daemon=True)
                back.start()
                pass_on(self.request, far, wire.sent)
                back.join(10)

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Passing) as server:
        server.daemon_threads = True
        wire = Wire(f"http://127.0.0.1:{server.server_address[1]}")
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        yield wire
        server.shutdown()


def pass_on(near: socket, far: socket, seen: bytearray) -> None:
    """Carry bytes until one side ends."""
    with suppress(OSError):
        while data := near.recv(65_536):
            seen += data
            far.sendall(data)
        far.shutdown(SHUT_WR)
