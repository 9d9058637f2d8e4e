"""Accounts of the proxy: what the exchanges of tokens come to is buffered, and written every second."""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import date, timedelta
from uuid import UUID

from muniment.memory.domain.scope import Scope
from muniment.memory.domain.tokens.usage import ProxyDay
from muniment.memory.errors import BadInput, StoreError
from muniment.memory.ports.clock import Clock
from muniment.memory.ports.operation.proxy_accounts import ProxyAccountStore
from muniment.memory.rules.policy.proxy_days import add_days

_EVERY_SECONDS = 1.0  # what a process that is killed loses at most
_MAX_DAYS = 3_650
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ProxyAccounts:
    """The accounts of all tokens. What is added is in the buffer until the next write."""

    store: ProxyAccountStore
    clock: Clock
    _stopping: asyncio.Event = field(default_factory=asyncio.Event, repr=False)
    _buffer: dict[tuple[Scope, UUID, date], ProxyDay] = field(default_factory=dict, repr=False)

    def add_exchange(self, scope: Scope, exchange: ProxyDay) -> None:
        """Add an exchange of a token to its day, in the space of the scope's tenant. Does not wait."""
        key = scope.owner_scope, exchange.token_id, exchange.day
        known = self._buffer.get(key)
        self._buffer[key] = exchange if known is None else add_days(known, exchange)

    async def run(self) -> None:
        """Write what is buffered every second until `stop`, and the rest then. What cannot be written waits for the
        next time; at the end it is lost, which the log says."""
        is_last = False
        while not is_last:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._stopping.wait(), _EVERY_SECONDS)
            is_last = self._stopping.is_set()
            try:
                await self.flush()
            except StoreError as error:
                _log.warning("the accounts are not written: %s: %s", type(error).__name__, error)

    def stop(self) -> None:
        """Let `run` end."""
        self._stopping.set()

    async def flush(self) -> None:
        """Write what is buffered. Where that fails it stays in the buffer. Raises StoreError."""
        if not self._buffer:
            return
        taken = dict(self._buffer)
        self._buffer.clear()
        days: dict[Scope, list[ProxyDay]] = defaultdict(list)
        for (scope, _, _), day in taken.items():
            days[scope].append(day)
        try:
            await self.store.add_days(days)
        except StoreError:
            for (scope, _, _), day in taken.items():
                self.add_exchange(scope, day)
            raise

    async def list_days(self, token_id: UUID | None = None, *, days: int) -> Sequence[ProxyDay]:
        """Return the last so many days of a token, or of all, the latest first; a day without an exchange is none.

        Raises BadInput, StoreError."""
        if not 1 <= days <= _MAX_DAYS:
            raise BadInput(f"days: is {days}; allowed: 1 to {_MAX_DAYS}")
        today = self.clock.now().date()
        return await self.store.list_days(token_id, today - timedelta(days=days - 1))
