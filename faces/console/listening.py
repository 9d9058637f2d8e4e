"""What tells open pages that a space has changed: one listener of a process, however many pages there are."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from uuid import UUID

from muniment.faces.http.request_log import LOG
from muniment.faces.serving.request_ids import locate_error
from muniment.memory.errors import StoreError
from muniment.memory.ports.console.live import LiveReads, Version

_POLL_SECONDS = 1.0


@dataclass(slots=True, eq=False)
class ChangeListener:
    """Asks for the versions of the spaces that are followed, all by one query a second, and wakes who follows one that
    has changed. It asks nothing while nobody follows."""

    reads: LiveReads
    ending: asyncio.Event
    _followers: Counter[UUID] = field(default_factory=Counter)
    _versions: dict[UUID, Version] = field(default_factory=dict)
    _woken: dict[UUID, asyncio.Event] = field(default_factory=dict)
    _asking: asyncio.Task[None] | None = None

    @asynccontextmanager
    async def follow_space(self, space: UUID) -> AsyncIterator[None]:
        """Follow a space, which `wait_for_change` needs."""
        self._followers[space] += 1
        self._woken.setdefault(space, asyncio.Event())
        if self._asking is None or self._asking.done():
            self._asking = asyncio.create_task(self._ask_repeatedly())
        try:
            yield
        finally:
            self._followers[space] -= 1
            if not self._followers[space]:
                del self._followers[space], self._woken[space]
                self._versions.pop(space, None)
            if not self._followers and self._asking is not None:
                self._asking.cancel()
                self._asking = None

    async def wait_for_change(self, space: UUID, known: Version | None, seconds: float) -> Version | None:
        """Return the version of a space once it is not the known one. After so many seconds, and where the service
        ends, return the known one."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while not self.ending.is_set():
                    version = self._versions.get(space)
                    if version is not None and version != known:
                        return version
                    await self._woken[space].wait()
        return known

    async def _ask_repeatedly(self) -> None:
        while self._followers:
            if self.ending.is_set():
                self._wake(list(self._woken))
                return
            try:
                found = await self.reads.read_versions(list(self._followers))
            except StoreError as error:  # the pages wait until the database is back
                LOG.warning("console: %s", locate_error(error))
            else:
                changed = [space for space, version in found.items() if self._versions.get(space) != version]
                self._versions.update({space: found[space] for space in changed if space in self._followers})
                self._wake(changed)
            await asyncio.sleep(_POLL_SECONDS)

    def _wake(self, spaces: list[UUID]) -> None:
        for space in spaces:
            if event := self._woken.get(space):
                self._woken[space] = asyncio.Event()
                event.set()
