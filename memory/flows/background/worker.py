"""The worker: takes jobs that are due, does them, and sees to it that each is done in the end."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from time import monotonic

from muniment.memory.config.schema import Jobs
from muniment.memory.domain.jobs import Job, JobName, Outcome, Ticket
from muniment.memory.errors import MunimentError, NotFound, StoreDown, StoreError
from muniment.memory.flows.background.maintenance import Rounds
from muniment.memory.ports.clock import Clock
from muniment.memory.ports.jobs import Queue
from muniment.memory.rules.policy.retry import again, only_waits

_log = logging.getLogger(__name__)
_POLL_SECONDS = 5.0  # a call is a hint: this is how late a job can be whose call was not heard
_TROUBLE_SECONDS = 2.0
_FAREWELL_SECONDS = 3.0
# A database has one at a time: another hand would only find it taken.
_ALONE: frozenset[JobName] = frozenset({"index"})
_UNANSWERED = (
    "the database does not answer: what was under way goes to another worker, or to the next one that starts, "
    "jobs.stalled_seconds after this one's last sign of life"
)


Told = Callable[[Outcome], None]


class Worker:
    """Does jobs, several at once, until it is stopped. Loses none: not by a failure, not by a lost connection, not by the
    end of its process at any moment."""

    def __init__(
        self,
        queue: Queue,
        perform: Callable[[Job], Awaitable[None]],
        *,
        names: Sequence[JobName],
        clock: Clock,
        rules: Jobs,
        told: Told | None = None,
        rounds: Rounds | None = None,
    ) -> None:
        self.names = tuple(names)
        self._queue, self._perform, self._clock, self._rules = queue, perform, clock, rules
        self._told, self._rounds = told, rounds
        self._running: dict[asyncio.Task[None], JobName] = {}
        self._woken = asyncio.Event()
        self._stopping = False
        self._number: int | None = None
        self._broken: BaseException | None = None

    def stop(self) -> None:
        """End soon: what is running goes back to the queue."""
        self._stopping = True
        self._woken.set()

    async def run(self, *, most: int | None = None, drain: bool = False) -> None:
        """Work until `stop` or a cancellation. With `drain` until nothing is due, with `most` for at most so many jobs;
        then, and only then, a queue that cannot be reached is a StoreError - or where it cannot be told that the worker leaves.
        What breaks beside a job, such as `told`, ends it."""
        async with self._belonging():
            left = most
            while not self._stopping:
                self._woken.clear()
                try:
                    took = await self._fill(left)
                except StoreError as error:
                    if drain or most is not None:
                        raise
                    _log.warning("the queue cannot be read: %s", type(error).__name__)
                    await asyncio.sleep(_TROUBLE_SECONDS)
                    continue
                left = left - took if left is not None else None
                # What ended while the queue was asked may have held up what is next.
                idle = not self._running and not took and not self._woken.is_set()
                if idle and (drain or most is not None):
                    break
                await self._rest()
        if self._broken is not None:
            raise self._broken

    async def _fill(self, left: int | None) -> int:
        """Take jobs while there are free hands; how many."""
        took = 0
        while len(self._running) < self._rules.concurrency and took != left and not self._stopping:
            ticket = await self._next()
            if ticket is None:
                break
            task = asyncio.create_task(self._work(ticket))
            self._running[task] = ticket.job.name
            task.add_done_callback(self._ended)
            took += 1
        return took

    async def _next(self) -> Ticket | None:
        if self._number is None:
            self._number = await self._queue.enroll()
        taken = _ALONE.intersection(self._running.values())
        return await self._queue.take(self._number, [name for name in self.names if name not in taken])

    async def _work(self, ticket: Ticket) -> None:
        started = monotonic()
        failed: Exception | None = None
        try:
            await self._perform(ticket.job)
        except Exception as error:  # noqa: BLE001 - a boundary: a defect in one job ends neither the worker nor the job
            failed = error
        if failed is None or isinstance(failed, NotFound):
            await self._settle(lambda: self._queue.done(ticket))
            self._tell(Outcome(job=ticket.job, seconds=monotonic() - started, failed=_name(failed)))
            return
        now = self._clock.now()
        verdict = again(failed, ticket.attempts, now)
        early = only_waits(failed)
        if not early:
            _log.warning(
                "%s failed: %s; again at %s", ticket.job.name, _name(failed), verdict.at.isoformat("T", "seconds")
            )
        wait = verdict.at - now  # a clock that is wrong must not make a failing model be asked without a pause
        await self._settle(lambda: self._queue.put_back(ticket, wait, aside=verdict.aside))
        asyncio.get_running_loop().call_later(wait.total_seconds(), self._woken.set)
        self._tell(
            Outcome(
                job=ticket.job, seconds=monotonic() - started, failed=None if early else _name(failed), again=verdict.at
            )
        )

    async def _settle(self, step: Callable[[], Awaitable[None]]) -> None:
        """Tell the queue, however long it is out of reach: nobody else would put the job of a living worker back."""
        while True:
            try:
                return await step()
            except MunimentError as error:
                _log.warning("the queue cannot be told: %s", type(error).__name__)
                await asyncio.sleep(_TROUBLE_SECONDS)

    def _tell(self, outcome: Outcome) -> None:
        if self._told is not None:
            self._told(outcome)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._running.pop(task, None)
        self._woken.set()  # a hand is free, and so is the space
        if not task.cancelled() and (error := task.exception()) is not None:
            self._broken = self._broken or error
            self.stop()

    async def _rest(self) -> None:
        # No asyncio.wait_for: before Python 3.12 it forgets a cancellation that comes together with the result.
        alarm = asyncio.get_running_loop().call_later(_POLL_SECONDS, self._woken.set)
        try:
            await self._woken.wait()
        finally:
            alarm.cancel()

    @asynccontextmanager
    async def _belonging(self) -> AsyncIterator[None]:
        """Give signs of life and listen meanwhile; at the end everything that is running goes back."""
        if self._rounds is not None:
            with suppress(StoreError):  # here, so that a drain does what it brings; later by `keep`
                await self._rounds.ask()
        side = [asyncio.create_task(self._beat()), asyncio.create_task(self._listen())]
        if self._rounds is not None:
            side.append(asyncio.create_task(self._rounds.keep()))
        for task in side:
            task.add_done_callback(
                self._ended
            )  # a worker without a heartbeat would lose its jobs to others, again and again
        try:
            yield
        finally:
            tasks = [*side, *self._running]
            for task in tasks:
                task.cancel()
            # Not for ever: a connection asks its server to stop first, which may not answer.
            await asyncio.wait(tasks, timeout=_FAREWELL_SECONDS)
            # A task of its own, because this one may be cancelled; and only for so long, because the database may be down.
            leaving = asyncio.create_task(self._leave())
            await asyncio.wait([leaving], timeout=_FAREWELL_SECONDS)
            if not leaving.done() or not leaving.result():
                self._broken = self._broken or StoreDown(_UNANSWERED)
            leaving.cancel()

    async def _leave(self) -> bool:
        """Whether the queue knows."""
        try:
            if self._number is not None:
                await self._queue.leave(self._number)
        except StoreError:
            return False  # out of reach: another worker will find this one dead
        finally:
            self._number = None
        return True

    async def _beat(self) -> None:
        while True:
            try:
                if self._number is not None and not await self._queue.beat(self._number):
                    self._number = None  # it was silent for too long: its jobs are another's by now
                if await self._queue.rescue(self._rules.stalled_seconds):
                    self._woken.set()
            except StoreError as error:
                _log.warning("no sign of life: %s", type(error).__name__)
            await asyncio.sleep(self._rules.stalled_seconds / 3)

    async def _listen(self) -> None:
        while True:
            with suppress(StoreError):
                async for _ in self._queue.calls(self.names):
                    self._woken.set()
            await asyncio.sleep(_TROUBLE_SECONDS)


def _name(error: Exception | None) -> str | None:
    return type(error).__name__ if error is not None else None
