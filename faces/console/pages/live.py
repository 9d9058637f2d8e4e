"""What changes, as events for pages that are open."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from starlette.responses import Response, StreamingResponse
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from muniment.faces.console.listening import ChangeListener
from muniment.faces.console.visits import TooManyRequests, Visit, make_page
from muniment.faces.http.guard import EVENTS, wants_events
from muniment.faces.serving.rate_limit import StreamLimits
from muniment.memory.domain.ids import Revision
from muniment.memory.errors import StoreError
from muniment.memory.ports.console.live import Version

_PING_SECONDS = 15.0  # after so long without an event; and the session is looked up again
_RETRY_SECONDS = 10  # for a token that follows too much already
_RECONNECT_MILLISECONDS = 3_000
_MAX_CHANGES = 1_000  # that are counted
_MAX_DIGITS = 18  # of a revision, which is a bigint


async def follow_changes(visit: Visit) -> Response:
    """Answer with a stream of events, each with the number of changes since the one before. It goes on from the
    revision of the page, or of the last event that a browser has had."""
    if not wants_events(visit.request.headers):
        return visit.redirect_to("/")
    token, streams = visit.grant.id, visit.service.streams
    if not streams.take_stream(token):
        raise TooManyRequests("the token follows too many pages", seconds=_RETRY_SECONDS)
    given = visit.request.headers.get("last-event-id") or visit.request.query_params.get("since", "")
    since = Revision(int(given)) if given.isascii() and given.isdigit() and len(given) <= _MAX_DIGITS else None
    follower = _Follower(visit=visit, listener=visit.request.app.state.listener, since=since)
    headers = {"Content-Type": EVENTS, "X-Accel-Buffering": "no"}
    return _CountedStream(streams, token, follower.stream_events(), headers=headers)


class _CountedStream(StreamingResponse):
    """A stream that counts as one of its token until it ends, however it ends."""

    def __init__(self, streams: StreamLimits, token: UUID, events: AsyncIterator[bytes], **options: Any) -> None:
        super().__init__(events, **options)
        self._streams, self._token = streams, token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the events."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._streams.release_stream(self._token)


@dataclass(slots=True, kw_only=True, eq=False)
class _Follower:
    """One open page. `since` is the revision that it shows; None: as it is at the beginning."""

    visit: Visit
    listener: ChangeListener
    since: Revision | None

    async def stream_events(self) -> AsyncIterator[bytes]:
        """Yield the changes as events, until the service, the session or the token ends."""
        space, ending = self.visit.caller.scope.space, self.visit.service.ending
        yield b"retry: %d\n: open\n\n" % _RECONNECT_MILLISECONDS
        version: Version | None = None
        checked = time.monotonic()
        async with self.listener.follow_space(space):
            while not ending.is_set():
                known, left = version, _PING_SECONDS - (time.monotonic() - checked)
                version = await self.listener.wait_for_change(space, known, max(left, 0))
                if ending.is_set():
                    return
                if version != known or time.monotonic() - checked >= _PING_SECONDS:
                    if not await self._is_permitted():
                        yield b"event: over\ndata: {}\n\n"
                        return
                    checked = time.monotonic()
                if version is None or version == known:
                    yield b": ping\n\n"
                    continue
                began_anew = known is not None and known[1] != version[1]
                if event := await self._describe_change(version[0], began_anew=began_anew):
                    yield event

    async def _describe_change(self, rev: Revision, *, began_anew: bool) -> bytes | None:
        """Return the event of what has changed up to a revision; None where the reader may see nothing of it."""
        since, self.since = self.since, rev
        if since is None or since == rev:
            return b"id: %d\nevent: start\ndata: {}\n\n" % rev
        if began_anew or since > rev:
            count = 1  # the space was erased
        else:
            count = await self._count_changes(since)
        data = json.dumps({"changes": count}).encode()
        return b"id: %d\nevent: change\ndata: %s\n\n" % (rev, data) if count else None

    async def _count_changes(self, since: Revision) -> int:
        try:
            return await self.visit.reads.live.count_changes(self.visit.reader, since, _MAX_CHANGES)
        except StoreError:
            return 1  # something has changed; how much is not known while the database is away

    async def _is_permitted(self) -> bool:
        try:
            return await self.visit.sessions.find_grant(self.visit.session) is not None
        except StoreError:
            return True  # nothing is read meanwhile


routes: list[Route] = [make_page("/live", follow_changes)]
