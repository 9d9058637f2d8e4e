"""What goes to the server and comes from it: operations in batches, and the changes of other devices."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from random import Random

from muniment.memory.errors import BadInput, MunimentError
from muniment.plugin.domain.item import ItemOwner, ListQuery, MemoryItem
from muniment.plugin.domain.operation import MAX_OPERATIONS, ChangePage, Operation, OperationAnswer
from muniment.plugin.ports import OperationStore
from muniment.plugin.problems import ProblemLog
from muniment.plugin.stores.hybrid import outbox
from muniment.plugin.stores.hybrid.agreement import apply_answers, apply_page
from muniment.plugin.stores.hybrid.mirror import MirrorStore, MirrorWriter
from muniment.plugin.stores.hybrid.pacing import Pace, compute_delay, compute_due
from muniment.plugin.stores.hybrid.sender_lock import try_lock

WRONG_ANSWER = "WrongAnswer"  # of a server whose answers do not fit what was sent
_RETRY_AFTER = "retry_after"  # seconds, in the data of an error of a server that asks to wait
_ROUNDS = 5  # of sending what the changes of the server have called for
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class SendOptions:
    """The limits of a sender."""

    pace: Pace = field(default_factory=Pace)
    outbox: int = 10_000
    send_seconds: float = 30.0  # for one request


class Sender:
    """Sends what waits in a file, in order, and takes over the changes of the server when nothing waits.

    One process at a time does so for a file. Whatever is interrupted is done again: the server knows each operation
    by its id."""

    def __init__(
        self,
        local: MirrorStore,
        remote: OperationStore,
        options: SendOptions,
        *,
        now: Callable[[], datetime],
        random: Random | None = None,
        problems: ProblemLog | None = None,
    ) -> None:
        self._local, self._remote, self._options, self._now = local, remote, options, now
        self._problems = problems or ProblemLog()
        self._random = random or Random()  # noqa: S311 - it spreads requests over time
        self.requests = 0  # that have carried operations, of this process

    async def find_due(self, *, is_last: bool = False) -> tuple[datetime | None, list[ItemOwner]]:
        """Return when the next request is due, and the owners for whom one is due. With `is_last` nothing waits for
        others: none will come. Raises StoreError."""
        now, pace = self._now(), self._options.pace
        if is_last:
            pace = replace(pace, collect=timedelta())
        queues = await self._local.database.read(
            lambda connection: [
                (owner, outbox.read_queue(connection, owner)) for owner in outbox.list_owners(connection)
            ]
        )
        times = [(compute_due(queue, pace, now), owner) for owner, queue in queues]
        known = [(due, owner) for due, owner in times if due is not None]
        return min((due for due, _ in known), default=None), [owner for due, owner in known if due <= now]

    async def synchronize_items(self, owner: ItemOwner) -> bool:
        """Send what waits and take over the changes of the server until nothing is left, and return whether it is so.
        Raises StoreError of the file."""
        for _ in range(_ROUNDS):
            if not (await self.push_operations(owner) and await self.pull_changes(owner)):
                return False
            if not await self._local.database.read(lambda connection: outbox.has_waiting(connection, owner)):
                return True
        return False

    async def push_operations(self, owner: ItemOwner, *, batches: int | None = None) -> bool:
        """Send what waits for an owner, at most so many batches, and return whether nothing is left that can be sent.

        False after a failure, and where another process sends. Raises StoreError."""
        with try_lock(self._local.database.path) as is_free:
            if not is_free:
                return False
            size, done = MAX_OPERATIONS, 0
            while batches is None or done < batches:
                operations = await self._take_batch(owner, size)
                if not operations:
                    return True
                done += 1
                try:
                    answers = await self._send(operations)
                    images = await self._read_doubtful(owner, operations, answers)
                except BadInput as error:
                    size = await self._narrow(operations, error)
                except (MunimentError, TimeoutError) as error:
                    await self._note_failure(owner, error)
                    return False
                else:
                    if images is None:
                        await self._note_failure(owner, None)
                        return False
                    await self._take_answers(owner, operations, answers, images)
                    size = MAX_OPERATIONS
            return False

    async def pull_changes(self, owner: ItemOwner) -> bool:
        """Take over the changes of the server, and return whether all of them are here. False while something waits to
        be sent, and where the server cannot be asked; that is logged by the class of its error. Raises StoreError of
        the file."""
        has_restarted = False
        while True:
            progress = await self._local.database.read(lambda connection: outbox.read_progress(connection, owner))
            try:
                page = await self._read_page(owner, progress.revision)
            except BadInput:
                # The server has lost what this file knows of it: it is read from the beginning, once.
                if has_restarted or not progress.revision:
                    return False
                has_restarted = True
                await self._local.apply_work(lambda writer: _restart(writer, owner))
                continue
            except (MunimentError, TimeoutError) as error:
                self._problems.note_problem("changes", error)
                return False
            self._problems.note_success("changes")
            is_new = page.revision > progress.revision or page.changes
            if is_new and not await self._take_page(owner, page, progress.revision):
                return False
            if page.is_last or not is_new:
                return page.is_last

    async def _read_page(self, owner: ItemOwner, since: int) -> ChangePage:
        async with asyncio.timeout(self._options.send_seconds):
            return await self._remote.read_changes(outbox.get_space_owner(owner), since)

    async def _take_page(self, owner: ItemOwner, page: ChangePage, since: int) -> bool:
        at, limit = self._now(), self._options.outbox
        return await self._local.apply_work(lambda writer: apply_page(writer, owner, page, since, at=at, limit=limit))

    async def _take_batch(self, owner: ItemOwner, size: int) -> list[Operation]:
        """Return what is sent next, counted as sent: whatever happens from now on, the server may have it."""

        def work(writer: MirrorWriter) -> list[Operation]:
            operations = outbox.list_waiting(writer.connection, owner, size)
            if operations:
                outbox.note_attempt(writer.connection, operations)
                outbox.add_credit(writer.connection, owner, -1)
            return operations

        return await self._local.apply_work(work)

    async def _send(self, operations: Sequence[Operation]) -> Sequence[OperationAnswer]:
        self.requests += 1
        async with asyncio.timeout(self._options.send_seconds):
            return await self._remote.apply_operations(operations)

    async def _read_doubtful(
        self, owner: ItemOwner, operations: Sequence[Operation], answers: Sequence[OperationAnswer]
    ) -> Sequence[MemoryItem] | None:
        """Return the items of the server whose writes it has refused, or has answered before and the answer was lost,
        or would have let them say what was forgotten: the file may say something else of them. None for answers that do
        not fit what was sent."""
        if [answer.operation_id for answer in answers] != [operation.id for operation in operations]:
            return None
        images: list[MemoryItem] = []
        for operation, answer in zip(operations, answers, strict=True):
            if operation.verb == "upsert" and answer.outcome in ("refused", "replayed", "forgotten"):
                query = ListQuery(owner=owner, at=self._now(), everywhere=True, id_prefix=answer.item_id, limit=1)
                async with asyncio.timeout(self._options.send_seconds):
                    images += await self._remote.list(query)
        return images

    async def _take_answers(
        self,
        owner: ItemOwner,
        operations: Sequence[Operation],
        answers: Sequence[OperationAnswer],
        images: Sequence[MemoryItem],
    ) -> None:
        at = self._now()

        def work(writer: MirrorWriter) -> None:
            apply_answers(writer, owner, operations, answers, frozenset(image.id for image in images))
            for image in images:
                if not outbox.has_waiting(writer.connection, owner, image.id):
                    writer.place_item(image)
            progress = outbox.read_progress(writer.connection, owner)
            fine = replace(progress, failures=0, next_at=None, last_error=None, sent_at=at)
            outbox.write_progress(writer.connection, owner, fine)

        await self._local.apply_work(work)
        self._problems.note_success("sending")

    async def _narrow(self, operations: Sequence[Operation], error: BadInput) -> int:
        """Look for what the server does not take in a batch: halves it, and sets aside the one that is left."""
        if len(operations) > 1:
            return len(operations) // 2
        operation, reason = operations[0], type(error).__name__
        _log.warning("the server does not take an operation (%s): it is set aside", reason)
        await self._local.apply_work(lambda writer: outbox.set_aside(writer.connection, operation.id, reason))
        return MAX_OPERATIONS

    async def _note_failure(self, owner: ItemOwner, error: MunimentError | TimeoutError | None) -> None:
        """Keep why nothing was sent, and when it is tried again."""
        name = WRONG_ANSWER if error is None else type(error).__name__
        seconds = error.data.get(_RETRY_AFTER) if isinstance(error, MunimentError) else None
        wanted = timedelta(seconds=seconds) if isinstance(seconds, int | float) else None
        at, jitter = self._now(), self._random.random()

        def work(writer: MirrorWriter) -> None:
            progress = outbox.read_progress(writer.connection, owner)
            failures = progress.failures + 1
            next_at = at + compute_delay(failures, jitter, wanted)
            failed = replace(progress, failures=failures, next_at=next_at, last_error=name)
            outbox.write_progress(writer.connection, owner, failed)

        self._problems.note_problem("sending", name if error is None else error)
        await self._local.apply_work(work)


def _restart(writer: MirrorWriter, owner: ItemOwner) -> None:
    progress = outbox.read_progress(writer.connection, owner)
    outbox.write_progress(writer.connection, owner, replace(progress, revision=0))
