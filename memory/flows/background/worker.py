"""The worker: takes jobs that are due, does them, and sees to it that each is done in the end."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from time import monotonic

from muniment.memory.config.schema import Jobs
from muniment.memory.domain.jobs import Job, JobName, JobOutcome, JobTicket
from muniment.memory.errors import MunimentError, NotFound, StoreDown, StoreError
from muniment.memory.flows.background.maintenance import Schedule
from muniment.memory.ports.clock import Clock
from muniment.memory.ports.jobs import JobQueue
from muniment.memory.rules.policy.retry import is_waiting, plan_retry

_log = logging.getLogger(__name__)
_POLL_SECONDS = 5.0  # a call is a hint: this is how late a job can be whose call was not heard
_RETRY_SECONDS = 2.0
_FAREWELL_SECONDS = 3.0
# A database has one at a time: another hand would only find it taken.
_EXCLUSIVE_JOBS: frozenset[JobName] = frozenset({"index"})
_UNANSWERED = (
    "the database does not answer: what was under way goes to another worker, or to the next one that starts, "
    "jobs.stalled_seconds after this one's last sign of life"
)


OnOutcome = Callable[[JobOutcome], None]


class Worker:
    """Does jobs, several at once, until it is stopped. Loses none: not by a failure, not by a lost connection, not by the
    end of its process at any moment."""

    def __init__(
        self,
        queue: JobQueue,
        perform: Callable[[Job], Awaitable[None]],
        *,
        names: Sequence[JobName],
        clock: Clock,
        rules: Jobs,
        on_outcome: OnOutcome | None = None,
        schedule: Schedule | None = None,
    ) -> None:
        self.names = tuple(names)
        self._queue, self._perform, self._clock, self._rules = queue, perform, clock, rules
        self._on_outcome, self._schedule = on_outcome, schedule
        self._running: dict[asyncio.Task[None], JobName] = {}
        self._wake_event = asyncio.Event()
        self._stopping = False
        self._worker_id: int | None = None
        self._failure: BaseException | None = None

    def stop(self) -> None:
        """End soon: what is running goes back to the queue."""
        self._stopping = True
        self._wake_event.set()

    async def run(self, *, max_jobs: int | None = None, drain: bool = False) -> None:
        """Work until `stop` or a cancellation. With `drain` until nothing is due, with `most` for at most so many jobs;
        then, and only then, a queue that cannot be reached is a StoreError - or where it cannot be told that the worker leaves.
        What breaks beside a job, such as `told`, ends it."""
        async with self._run_side_tasks():
            left = max_jobs
            while not self._stopping:
                self._wake_event.clear()
                try:
                    took = await self._take_jobs(left)
                except StoreError as error:
                    if drain or max_jobs is not None:
                        raise
                    _log.warning("the queue cannot be read: %s", type(error).__name__)
                    await asyncio.sleep(_RETRY_SECONDS)
                    continue
                left = left - took if left is not None else None
                # What ended while the queue was asked may have held up what is next.
                idle = not self._running and not took and not self._wake_event.is_set()
                if idle and (drain or max_jobs is not None):
                    break
                await self._wait_for_work()
        if self._failure is not None:
            raise self._failure

    async def _take_jobs(self, left: int | None) -> int:
        """Take jobs while there are free hands; how many."""
        took = 0
        while len(self._running) < self._rules.concurrency and took != left and not self._stopping:
            ticket = await self._take_job()
            if ticket is None:
                break
            task = asyncio.create_task(self._run_job(ticket))
            self._running[task] = ticket.job.name
            task.add_done_callback(self._on_task_end)
            took += 1
        return took

    async def _take_job(self) -> JobTicket | None:
        if self._worker_id is None:
            self._worker_id = await self._queue.register_worker()
        taken = _EXCLUSIVE_JOBS.intersection(self._running.values())
        return await self._queue.take_job(self._worker_id, [name for name in self.names if name not in taken])

    async def _run_job(self, ticket: JobTicket) -> None:
        started = monotonic()
        failed: Exception | None = None
        try:
            await self._perform(ticket.job)
        except Exception as error:  # noqa: BLE001 - a boundary: a defect in one job ends neither the worker nor the job
            failed = error
        if failed is None or isinstance(failed, NotFound):
            await self._update_queue(lambda: self._queue.finish_job(ticket))
            self._report_outcome(
                JobOutcome(job=ticket.job, seconds=monotonic() - started, error_class=_error_name(failed))
            )
            return
        now = self._clock.now()
        verdict = plan_retry(failed, ticket.attempts, now)
        early = is_waiting(failed)
        if not early:
            _log.warning(
                "%s failed: %s; again at %s", ticket.job.name, _error_name(failed), verdict.at.isoformat("T", "seconds")
            )
        wait = verdict.at - now  # a clock that is wrong must not make a failing model be asked without a pause
        await self._update_queue(lambda: self._queue.reschedule_job(ticket, wait, step_aside=verdict.lets_others_pass))
        asyncio.get_running_loop().call_later(wait.total_seconds(), self._wake_event.set)
        self._report_outcome(
            JobOutcome(
                job=ticket.job,
                seconds=monotonic() - started,
                error_class=None if early else _error_name(failed),
                retry_at=verdict.at,
            )
        )

    async def _update_queue(self, step: Callable[[], Awaitable[None]]) -> None:
        """Tell the queue, however long it is out of reach: nobody else would put the job of a living worker back."""
        while True:
            try:
                return await step()
            except MunimentError as error:
                _log.warning("the queue cannot be told: %s", type(error).__name__)
                await asyncio.sleep(_RETRY_SECONDS)

    def _report_outcome(self, outcome: JobOutcome) -> None:
        if self._on_outcome is not None:
            self._on_outcome(outcome)

    def _on_task_end(self, task: asyncio.Task[None]) -> None:
        self._running.pop(task, None)
        self._wake_event.set()  # a hand is free, and so is the space
        if not task.cancelled() and (error := task.exception()) is not None:
            self._failure = self._failure or error
            self.stop()

    async def _wait_for_work(self) -> None:
        # No asyncio.wait_for: before Python 3.12 it forgets a cancellation that comes together with the result.
        alarm = asyncio.get_running_loop().call_later(_POLL_SECONDS, self._wake_event.set)
        try:
            await self._wake_event.wait()
        finally:
            alarm.cancel()

    @asynccontextmanager
    async def _run_side_tasks(self) -> AsyncIterator[None]:
        """Give signs of life and listen meanwhile; at the end everything that is running goes back."""
        if self._schedule is not None:
            with suppress(StoreError):  # here, so that a drain does what it brings; later by `keep`
                await self._schedule.request_round()
        side = [asyncio.create_task(self._send_heartbeats()), asyncio.create_task(self._listen_for_jobs())]
        if self._schedule is not None:
            side.append(asyncio.create_task(self._schedule.run()))
        for task in side:
            task.add_done_callback(
                self._on_task_end
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
            leaving = asyncio.create_task(self._leave_queue())
            await asyncio.wait([leaving], timeout=_FAREWELL_SECONDS)
            if not leaving.done() or not leaving.result():
                self._failure = self._failure or StoreDown(_UNANSWERED)
            leaving.cancel()

    async def _leave_queue(self) -> bool:
        """Whether the queue knows."""
        try:
            if self._worker_id is not None:
                await self._queue.unregister_worker(self._worker_id)
        except StoreError:
            return False  # out of reach: another worker will find this one dead
        finally:
            self._worker_id = None
        return True

    async def _send_heartbeats(self) -> None:
        while True:
            try:
                if self._worker_id is not None and not await self._queue.record_heartbeat(self._worker_id):
                    self._worker_id = None  # it was silent for too long: its jobs are another's by now
                if await self._queue.requeue_abandoned(self._rules.stalled_seconds):
                    self._wake_event.set()
            except StoreError as error:
                _log.warning("no sign of life: %s", type(error).__name__)
            await asyncio.sleep(self._rules.stalled_seconds / 3)

    async def _listen_for_jobs(self) -> None:
        while True:
            with suppress(StoreError):
                async for _ in self._queue.listen_for_jobs(self.names):
                    self._wake_event.set()
            await asyncio.sleep(_RETRY_SECONDS)


def _error_name(error: Exception | None) -> str | None:
    return type(error).__name__ if error is not None else None
