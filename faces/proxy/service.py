"""What the requests of a proxy share. What is of one request, or of one token, is not in it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

import httpx2

from muniment.faces.proxy.exchange import Exchange
from muniment.faces.proxy.heap import Heap
from muniment.faces.proxy.logs import LOG
from muniment.faces.proxy.request.prompt import RecalledTurns, Template
from muniment.faces.proxy.storing import StoringOrder
from muniment.faces.serving.rate_limit import RateLimits
from muniment.memory.bootstrap import TokenConfigs
from muniment.memory.config.settings import Settings
from muniment.memory.configured import ConfiguredMemories


class Background:
    """What goes on after the answers are out."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()

    def start_work(self, work: Coroutine[Any, Any, None]) -> None:
        """Start what follows an exchange. It raises nothing."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def finish_work(self, seconds: float) -> None:
        """Wait for what is under way, so many seconds at most, and end what is left."""
        if not self._tasks:
            return
        _, left = await asyncio.wait(self._tasks, timeout=seconds)
        for task in left:
            task.cancel()
        if left:
            LOG.error("%d exchanges were not stored before the end", len(left))
            await asyncio.gather(*left, return_exceptions=True)


@dataclass(slots=True, kw_only=True, eq=False)
class ProxyService:
    """One process of the proxy. It opens and closes nothing that it is given."""

    settings: Settings
    tokens: TokenConfigs
    memories: ConfiguredMemories
    client: httpx2.AsyncClient  # to the upstreams
    template: Template
    limits: RateLimits
    now: Callable[[], datetime]
    account: Callable[[UUID, Exchange], Coroutine[Any, Any, None]] | None = None  # counts an exchange of a token
    recalled: RecalledTurns = field(default_factory=RecalledTurns)
    background: Background = field(default_factory=Background)
    heap: Heap = field(default_factory=Heap)
    storing: StoringOrder = field(default_factory=StoringOrder)
    ending: asyncio.Event = field(default_factory=asyncio.Event)  # set when no more requests are wanted
