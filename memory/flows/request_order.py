"""The order of this process's requests to a model: replies before background work."""

from __future__ import annotations

import asyncio
import math
import threading
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from time import monotonic

_PARALLEL_REPLIES = 4  # under way at one model: with more of them it surely serves requests in parallel
_ROUND_SECONDS, _RECENT_SECONDS = 0.2, 60.0  # since a reply: another round may follow; another message may
_MAX_YIELD_SECONDS, _POLL_SECONDS = 30.0, 0.02


@dataclass(slots=True)
class _ModelRequests:
    """The requests to one model that are under way, and when the last reply was."""

    replies: int = 0
    background: int = 0
    replied_at: float = -math.inf

    def admits_background(self, now: float) -> bool:
        """Whether a background request may start.

        So many replies at once say that the endpoint serves requests in parallel, so that nothing waits for it. Where a
        person was answered a moment ago the next round of the same reply may follow, and in the next minute at most one
        request is ahead of theirs."""
        if self.replies:
            return self.replies > _PARALLEL_REPLIES
        pause = now - self.replied_at
        return pause > _RECENT_SECONDS or (pause > _ROUND_SECONDS and not self.background)


class RequestOrder:
    """Gives replies precedence over background work at the same model: a local one serves one request at a time.

    It holds for all memories of this process, in whichever event loop."""

    def __init__(self) -> None:
        self._models: defaultdict[str, _ModelRequests] = defaultdict(_ModelRequests)
        self._lock = threading.Lock()

    @asynccontextmanager
    async def hold_place(self, model: str, *, is_reply: bool) -> AsyncIterator[None]:
        """Hold a place at a model: a reply's at once, another's when no reply is under way, or after 30 seconds."""
        requests = self._models[model]
        deadline = monotonic() + _MAX_YIELD_SECONDS
        while not self._enter(  # noqa: ASYNC110 - an asyncio.Event belongs to one event loop, here those of several wait
            requests, is_reply=is_reply, is_late=monotonic() > deadline
        ):
            await asyncio.sleep(_POLL_SECONDS)
        try:
            yield
        finally:
            self._leave(requests, is_reply=is_reply)

    def _enter(self, requests: _ModelRequests, *, is_reply: bool, is_late: bool) -> bool:
        with self._lock:
            if is_reply:
                requests.replies += 1
            elif is_late or requests.admits_background(monotonic()):
                requests.background += 1
            else:
                return False
        return True

    def _leave(self, requests: _ModelRequests, *, is_reply: bool) -> None:
        with self._lock:
            if is_reply:
                requests.replies -= 1
                requests.replied_at = monotonic()
            else:
                requests.background -= 1
