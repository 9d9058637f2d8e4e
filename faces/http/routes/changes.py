"""What has changed since a revision: pages, and a stream of events that goes on."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Header, Query, Request, Response
from fastapi.responses import StreamingResponse

from muniment.faces.http.access import Caller, Reader
from muniment.faces.http.answers import ChangesAnswer
from muniment.faces.http.bodies import StrictRoute
from muniment.faces.http.errors import ERROR_RESPONSES, make_response
from muniment.faces.http.guard import EVENTS, wants_events
from muniment.faces.http.request_log import LOG
from muniment.faces.http.strict_json import encode_json
from muniment.faces.serving.request_ids import locate_error
from muniment.memory import codec
from muniment.memory.domain.journal import ChangePage
from muniment.memory.errors import BadInput, StoreError

router = APIRouter(prefix="/memory", tags=["changes"], route_class=StrictRoute, responses=ERROR_RESPONSES)
MAX_REVISION = 2**63 - 1
_PAGE = 100  # changes of a stream that are read at once
_POLL_SECONDS = 1.0
_PING_SECONDS = 15.0  # after so long without an event, and the token is looked up again
_Revision = Annotated[int, Query(ge=0, le=MAX_REVISION, description="After this revision; else after Last-Event-ID.")]
_LastEvent = Annotated[str | None, Header(alias="Last-Event-ID", description="Of a stream that was cut: its last id.")]


@router.get("/changes", response_model=ChangesAnswer, responses={200: {"content": {EVENTS: {}}}})
async def read_changes(
    request: Request,
    caller: Reader,
    since: _Revision = 0,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
    agent: Annotated[str | None, Query(min_length=1, max_length=200, description="Only its categories.")] = None,
    last_event: _LastEvent = None,
) -> Response:
    """Return what has changed after a revision, oldest first, each change with the memory as it was then.

    Without a memory it was erased, or left the categories of the agent: whoever keeps a copy drops it. The page after
    begins at `next`. With `Accept: text/event-stream` the changes are events that go on; an event `reset` says that the
    memory was erased and begins anew."""
    through = caller.choose_agent(agent) if agent is not None or caller.grant.agents else None
    follower = _Follower(caller=caller, agent=through, since=_parse_last_event(last_event, since))
    page = await follower.read_page(limit)
    if wants_events(request.headers):
        return StreamingResponse(
            follower.stream_events(page), headers={"Content-Type": EVENTS, "X-Accel-Buffering": "no"}
        )
    return make_response(codec.encode_change_page(page))


@dataclass(slots=True, kw_only=True, eq=False)
class _Follower:
    """One reader of the changes of one space."""

    caller: Caller
    agent: str | None
    since: int
    _founded_at: datetime | None = field(default=None, init=False)

    async def read_page(self, limit: int) -> ChangePage:
        """Return the page after the last revision. Raises BadInput, StoreError."""
        memory = self.caller.service.memory
        return await memory.changes(self.caller.scope, self.since, limit, agent=self.agent)

    async def stream_events(self, page: ChangePage | None) -> AsyncIterator[bytes]:
        """Yield the changes as events, from this page on, until the service ends or the token does."""
        service, self._founded_at = self.caller.service, page.founded_at if page else None
        last = time.monotonic()
        yield b": open\n\n"
        while not service.ending.is_set():
            if page is not None:
                if page.entries:
                    yield b"".join(map(_format_event, codec.encode_change_page(page)["changes"]))
                    last = time.monotonic()
                self.since = page.next
            if page is None or page.next >= page.rev:
                await _wait_for(service.ending, _POLL_SECONDS)
            if time.monotonic() - last >= _PING_SECONDS:
                if not await self._is_permitted():
                    return
                yield b": ping\n\n"
                last = time.monotonic()
            page, is_reset = await self._read_next()
            if is_reset:
                yield b"event: reset\ndata: {}\n\n"

    async def _read_next(self) -> tuple[ChangePage | None, bool]:
        """Return the next page, None while the database is away, and whether the space began anew meanwhile."""
        try:
            page = await self.read_page(_PAGE)
        except StoreError as error:
            LOG.warning("changes: %s", locate_error(error))
            return None, False
        except BadInput:  # the space was erased, and has not as many revisions any more
            self.since, self._founded_at = 0, None
            return None, True
        is_reset = self._founded_at not in (None, page.founded_at)
        if is_reset:
            self.since = 0
        self._founded_at = page.founded_at
        return (None if is_reset else page), is_reset

    async def _is_permitted(self) -> bool:
        try:
            return await self.caller.service.tokens.is_valid(self.caller.grant.id)
        except StoreError as error:
            LOG.warning("changes: %s", locate_error(error))
            return True  # nothing is read meanwhile


def _format_event(change: Mapping[str, Any]) -> bytes:
    return b"id: %d\nevent: change\ndata: %s\n\n" % (change["rev"], encode_json(change))


def _parse_last_event(value: str | None, since: int) -> int:
    """Return the revision of the header, or `since` without one. Raises BadInput."""
    if not value:
        return since
    if not (value.isascii() and value.isdecimal() and len(value) <= 19 and int(value) <= MAX_REVISION):
        raise BadInput("Last-Event-ID: a revision wanted, a whole number of 0 or more")
    return int(value)


async def _wait_for(ending: asyncio.Event, seconds: float) -> None:
    """Wait so long, or until the service ends."""
    waiting = asyncio.ensure_future(ending.wait())
    try:
        await asyncio.wait({waiting}, timeout=seconds)
    finally:
        waiting.cancel()
