"""An application that runs for a client, and no longer than the client is there."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from starlette.responses import Response
from starlette.types import ASGIApp, Scope, Send

from muniment.faces.serving.receiver import ClientGone, Receiver

_DISCARD_SECONDS = 5.0  # that a client may go on to send what nobody reads


async def run_until_gone(app: ASGIApp, scope: Scope, body: Receiver, send: Send) -> None:
    """Run an application, and end its work when the client goes away. Raises ClientGone then, and what it raises."""
    work = asyncio.ensure_future(app(scope, body.receive_message, send))
    watch = asyncio.create_task(body.wait_until_gone())
    try:
        await asyncio.wait({work, watch}, return_when=asyncio.FIRST_COMPLETED)
        if not work.done():
            work.cancel()
            await asyncio.wait({work})
    finally:
        watch.cancel()
        if not work.done():
            work.cancel()
        await asyncio.gather(work, watch, return_exceptions=True)
    if work.cancelled():
        raise ClientGone
    work.result()


async def refuse_body(refusal: Response, body: Receiver, send: Send) -> None:
    """Send a refusal at once, and throw away what still comes: a client that is cut off while it sends hears no
    answer."""
    refusal.headers["Connection"] = "close"
    await send({"type": "http.response.start", "status": refusal.status_code, "headers": refusal.raw_headers})
    await send({"type": "http.response.body", "body": bytes(refusal.body), "more_body": True})
    with suppress(TimeoutError):
        await asyncio.wait_for(body.discard_rest(), _DISCARD_SECONDS)
    await send({"type": "http.response.body", "body": b""})
