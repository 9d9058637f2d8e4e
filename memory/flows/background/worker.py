"""The worker: takes due jobs from the queue and performs them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from time import monotonic
from typing import Protocol

from muniment.memory.config.processes import Jobs
from muniment.memory.domain.jobs import Job, JobName, JobOutcome, JobTicket
from muniment.memory.errors import MunimentError, NotFound, StoreDown, StoreError
from muniment.memory.ports.clock import Clock
from muniment.memory.ports.jobs import JobQueue
from muniment.memory.rules.policy.retry import is_waiting, plan_retry

_log = logging.getLogger(__name__)
_POLL_SECONDS = 5.0  # how late a job starts whose notification was lost
_RETRY_SECONDS = 2.0
_FAREWELL_SECONDS = 3.0
# The database runs one of these at a time: a second one would only fail.
_EXCLUSIVE_JOBS: frozenset[JobName] = frozenset({"index"})
_UNANSWERED = (
    "the database does not answer: what was under way goes to another worker, or to the next one that starts, "
    "jobs.stalled_seconds after this one's last sign of life"
)
OnOutcome = Callable[[JobOutcome], None]


class PeriodicTask(Protocol):
    """Enqueues jobs from time to time, while a worker runs."""

    async def request_round(self) -> None:
        """Enqueue what is due now. Raises StoreError."""
        ...

    async def run(self) -> None:
        """Enqueue what is due from now on, until it is cancelled."""
        ...


class Worker:
    """Performs jobs, several at once, until it is stopped. No failure, lost connection or crash loses a job."""

    def __init__(
        self,
        queue: JobQueue,
        perform: Callable[[Job], Awaitable[None]],
        *,
        names: Sequence[JobName],
        own_names: Sequence[JobName] = (),
        clock: Clock,
        rules: Jobs,
        find_first_wait: Callable[[], float] = lambda: 1.0,
        on_outcome: OnOutcome | None = None,
        periodic: Sequence[PeriodicTask] = (),
    ) -> None:
        self.names, self._own_names = tuple(names), tuple(own_names)
        self._queue, self._perform, self._clock, self._rules = queue, perform, clock, rules
        self._find_first_wait = find_first_wait
        self._on_outcome, self._periodic = on_outcome, tuple(periodic)
        self._running: dict[asyncio.Task[None], JobName] = {}
        self._wake_event = asyncio.Event()
        self._stopping = False
        self._worker_id: int | None = None
        self._failure: BaseException | None = None

    def stop(self) -> None:
        """Let `run` end soon. Jobs that are running go back to the queue."""
        self._stopping = True
        self._wake_event.set()

    async def run(self, *, max_jobs: int | None = None, drain: bool = False) -> None:
        """Perform jobs until `stop` or a cancellation; with `drain` until no job is due, with `max_jobs` at most so
        many.

        With either of these, raises StoreError when the queue is out of reach; without, the worker tries again. Raises
        StoreDown when the queue cannot be told at the end that the worker leaves, and any error of `on_outcome`."""
        async with self._run_side_tasks():
            left = max_jobs
            while not self._stopping:
                self._wake_event.clear()
                try:
                    count = await self._take_jobs(left)
                except StoreError as error:
                    if drain or max_jobs is not None:
                        raise
                    _log.warning("the queue cannot be read: %s", type(error).__name__)
                    await asyncio.sleep(_RETRY_SECONDS)
                    continue
                left = left - count if left is not None else None
                # A job that ended since the event was cleared may have blocked the next one.
                is_idle = not self._running and not count and not self._wake_event.is_set()
                if is_idle and (drain or max_jobs is not None):
                    break
                await self._wait_for_work()
        if self._failure is not None:
            raise self._failure

    async def _take_jobs(self, left: int | None) -> int:
        """Start due jobs, up to the concurrency and to `left`. Returns how many."""
        count = 0
        while len(self._running) < self._rules.concurrency and count != left and not self._stopping:
            if self._worker_id is None:
                self._worker_id = await self._queue.register_worker()
            excluded = _EXCLUSIVE_JOBS.intersection(self._running.values())
            names, own_names = (
                [name for name in names if name not in excluded] for names in (self.names, self._own_names)
            )
            ticket = await self._queue.take_job(self._worker_id, names, own_names)
            if ticket is None:
                break
            task = asyncio.create_task(self._run_job(ticket))
            self._running[task] = ticket.job.name
            task.add_done_callback(self._on_task_end)
            count += 1
        return count

    async def _run_job(self, ticket: JobTicket) -> None:
        started = monotonic()
        failure: Exception | None = None
        try:
            await self._perform(ticket.job)
        except Exception as error:  # noqa: BLE001 - a boundary: a defect in one job ends neither the worker nor the job
            failure = error
        error_class = type(failure).__name__ if failure is not None else None
        if failure is None or isinstance(failure, NotFound):
            await self._update_queue(lambda: self._queue.finish_job(ticket))
            self._report_outcome(JobOutcome(job=ticket.job, seconds=monotonic() - started, error_class=error_class))
            return
        now = self._clock.now()
        verdict = plan_retry(failure, ticket.attempts, now, self._find_first_wait())
        if is_waiting(failure):
            error_class = None
        else:
            _log.warning(
                "%s failed: %s; again at %s", ticket.job.name, error_class, verdict.at.isoformat("T", "seconds")
            )
        wait = verdict.at - now  # a duration: by a wrong clock a failing model would be asked without a pause
        passes = verdict.lets_others_pass
        await self._update_queue(
            lambda: self._queue.reschedule_job(ticket, wait, step_aside=passes, error_class=error_class)
        )
        asyncio.get_running_loop().call_later(wait.total_seconds(), self._wake_event.set)
        seconds = monotonic() - started
        self._report_outcome(JobOutcome(job=ticket.job, seconds=seconds, error_class=error_class, retry_at=verdict.at))

    async def _update_queue(self, step: Callable[[], Awaitable[None]]) -> None:
        """Repeat the step until the queue is in reach: no other worker puts back the job of a living one."""
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
        self._wake_event.set()  # the next job may start, also one of the same space
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
        """Send heartbeats, listen for jobs and enqueue periodic ones. At the end, running jobs go back to the queue."""
        for periodic in self._periodic:
            with suppress(StoreError):  # here, because a drain performs these jobs too; `run` tries again
                await periodic.request_round()
        side = [asyncio.create_task(self._send_heartbeats()), asyncio.create_task(self._listen_for_jobs())]
        side.extend(asyncio.create_task(periodic.run()) for periodic in self._periodic)
        for task in side:
            # Without heartbeats the worker would lose its jobs to others: the end of a side task ends it.
            task.add_done_callback(self._on_task_end)
        try:
            yield
        finally:
            tasks = [*side, *self._running]
            for task in tasks:
                task.cancel()
            # With a timeout: a connection that is cancelled waits for its server, which may not answer.
            await asyncio.wait(tasks, timeout=_FAREWELL_SECONDS)
            # A task of its own, because this one may be cancelled; with a timeout, because the database may be down.
            leaving = asyncio.create_task(self._leave_queue())
            await asyncio.wait([leaving], timeout=_FAREWELL_SECONDS)
            if not leaving.done() or not leaving.result():
                self._failure = self._failure or StoreDown(_UNANSWERED)
            leaving.cancel()

    async def _leave_queue(self) -> bool:
        """Return whether the queue knows that the worker has left."""
        try:
            if self._worker_id is not None:
                await self._queue.unregister_worker(self._worker_id)
        except StoreError:
            return False  # another worker will find this one dead
        finally:
            self._worker_id = None
        return True

    async def _send_heartbeats(self) -> None:
        while True:
            try:
                if self._worker_id is not None and not await self._queue.record_heartbeat(self._worker_id):
                    self._worker_id = None  # silent for too long: other workers have its jobs by now
                if await self._queue.requeue_abandoned(self._rules.stalled_seconds):
                    self._wake_event.set()
            except StoreError as error:
                _log.warning("no sign of life: %s", type(error).__name__)
            await asyncio.sleep(self._rules.stalled_seconds / 3)

    async def _listen_for_jobs(self) -> None:
        while True:
            with suppress(StoreError):
                async for _ in self._queue.listen_for_jobs(tuple({*self.names, *self._own_names})):
                    self._wake_event.set()
            await asyncio.sleep(_RETRY_SECONDS)
