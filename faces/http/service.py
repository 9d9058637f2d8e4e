"""What the endpoints share: the memory, the tokens, the settings, the metrics, and whether requests are wanted."""

from __future__ import annotations

import asyncio
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from uuid import UUID

from fastapi import Request

from muniment.faces.http.metrics import Metrics
from muniment.faces.serving.rate_limit import RateLimits, StreamLimits
from muniment.memory.bootstrap import Tokens
from muniment.memory.client import Memory
from muniment.memory.config.settings import Settings
from muniment.memory.errors import StoreError

if TYPE_CHECKING:
    from muniment.faces.http.tracing import Tracing  # imported only where it is configured

_NO_STAGE: AbstractContextManager[None] = nullcontext()
_NOBODY = UUID(int=0)
_READY_SECONDS = 2.0


@dataclass(slots=True, kw_only=True, eq=False)
class Service:
    """One process of the service. It opens and closes nothing that it is given."""

    memory: Memory
    tokens: Tokens
    settings: Settings
    limits: RateLimits
    streams: StreamLimits
    metrics: Metrics = field(default_factory=Metrics)
    worker: asyncio.Task[None] | None = None  # the worker inside, where there is one
    tracing: Tracing | None = None  # where spans are configured
    erasing: asyncio.Lock = field(default_factory=asyncio.Lock)
    ending: asyncio.Event = field(default_factory=asyncio.Event)  # set when no more requests are wanted

    def trace_stage(self, stage: str) -> AbstractContextManager[None]:
        """Return the context of a stage of a request: a span, where spans are configured."""
        return self.tracing.trace_stage(stage) if self.tracing else _NO_STAGE

    async def is_ready(self) -> bool:
        """Whether requests are wanted: the database answers, the worker runs, and the service does not end."""
        if self.ending.is_set() or (self.worker is not None and self.worker.done()):
            return False
        try:
            async with asyncio.timeout(_READY_SECONDS):
                await self.tokens.is_valid(_NOBODY)
        except (StoreError, TimeoutError):
            return False
        return True


def get_service(request: Request) -> Service:
    """Return the service that a request has reached."""
    service: Service = request.app.state.service
    return service
