"""How the gateway serves and ends."""

from __future__ import annotations

import socket

from muniment.faces.gateway.app import create_app
from muniment.faces.http.request_log import start_log
from muniment.faces.http.service import Service
from muniment.faces.serving.process import serve_application


async def serve_requests(service: Service, listener: socket.socket) -> None:
    """Answer requests until SIGTERM or Ctrl-C. Then it is not ready, ends what is under way, and returns."""
    rules = service.settings.serve
    start_log()
    await serve_application(
        create_app(service),
        listener,
        service.ending,
        notice_seconds=rules.notice_seconds,
        drain_seconds=rules.drain_seconds,
    )
