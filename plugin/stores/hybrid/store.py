"""`HybridStore`: the store port over a file and a server. The file answers; the server helps it out."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from random import Random
from typing import TYPE_CHECKING
from uuid import UUID

from muniment.memory.errors import MunimentError
from muniment.memory.rules.statements.parse import normalize_sentence
from muniment.plugin.domain.item import (
    CompactPolicy,
    CompactReport,
    ItemOwner,
    ListQuery,
    MemoryHit,
    MemoryItem,
    SearchQuery,
    StoredItem,
)
from muniment.plugin.domain.operation import OperationVerb, OutboxStatus
from muniment.plugin.gates.recall import decide_remote
from muniment.plugin.ports import MemoryStore, OperationStore
from muniment.plugin.problems import Problem, ProblemLog
from muniment.plugin.stores.hybrid import outbox
from muniment.plugin.stores.hybrid.agreement import keep_finds
from muniment.plugin.stores.hybrid.mirror import MirrorStore, MirrorWriter
from muniment.plugin.stores.hybrid.pacing import compute_credit
from muniment.plugin.stores.hybrid.sender import Sender, SendOptions
from muniment.plugin.stores.remote.circuit import Circuit
from muniment.plugin.stores.scoring import choose_hits

if TYPE_CHECKING:
    import sqlite3

    from muniment.memory.config.plugin import GateSettings

_MINUTE = timedelta(minutes=1)
_FAILURES, _OPEN_SECONDS = 3, 30.0  # searches in a row that fail, and for how long none is made then
_IDLE_SECONDS = 60.0  # between two looks at what waits, without a reason to look


@dataclass(frozen=True, slots=True, kw_only=True)
class HybridOptions:
    """How a hybrid store works. `sending` are the limits of what goes to the server."""

    gates: GateSettings
    remote_seconds: float = 0.3  # for a search on the server
    find_days: float = 7.0  # after which a find that is kept is asked for again
    pull_seconds: float = 300.0  # between two looks for the changes of other devices
    close_seconds: float = 5.0  # for what waits when the store is closed
    sending: SendOptions = field(default_factory=SendOptions)
    is_automatic: bool = True  # a task sends and reads; else only `sync_now` does


class HybridStore(MemoryStore):
    """Keeps items in a local file and on a server.

    A search reads the file, and asks the server only where the best of it is weak; what that finds is kept with its
    age. A write is done when it is in the file, where an operation for the server waits in the same transaction. A task
    sends what waits and takes over what other devices have done. Where the server is away, the file goes on alone.

    Both stores are given, and closed with this one."""

    def __init__(
        self,
        local: MirrorStore,
        remote: OperationStore,
        options: HybridOptions,
        *,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        random: Random | None = None,
    ) -> None:
        self.local, self._remote, self._options, self._now = local, remote, options, now
        self._problems = ProblemLog()
        self._sender = Sender(local, remote, options.sending, now=now, random=random, problems=self._problems)
        self._reads: deque[datetime] = deque()  # of the last minute
        self._remote_reads = 0
        # A server that is slow is given up by this store, of which its own circuit learns nothing.
        self._circuit = Circuit(failures_to_open=_FAILURES, seconds=_OPEN_SECONDS)
        self._owners: dict[ItemOwner, datetime | None] = {}  # that were seen here, and when their changes were read
        self._turns: dict[ItemOwner, int] = {}  # that have brought no credit yet
        self._has_turns = False  # whether turns are told; else each search is one
        self._wake = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._is_closed = False

    @property
    def remote_reads(self) -> int:
        """Return how many searches have gone to the server from here."""
        return self._remote_reads

    @property
    def remote_writes(self) -> int:
        """Return how many requests with operations have gone to the server from here."""
        return self._sender.requests

    def list_problems(self) -> Sequence[Problem]:
        """Return what does not work of the file, of the server and between them."""
        return [*self.local.list_problems(), *self._problems.list_problems()]

    def note_turn(self, owner: ItemOwner) -> None:
        """Count a turn: it brings its share of the requests that may go to the server with writes. A host that never
        calls this has each search counted in its place, which brings less."""
        self._has_turns = True
        self._count_turn(owner)

    async def search(self, query: SearchQuery) -> Sequence[MemoryHit]:
        """Return the items that are found where the owner is, best first. Raises StoreDown, Busy of the file."""
        self._start(query.owner)
        if not self._has_turns:
            self._count_turn(query.owner)
        hits = await self.local.search(query)
        if not self._asks_remote(hits):
            return hits
        finds = await self._find_remote(query)
        return _join_hits(hits, finds, query)

    async def upsert(self, items: Sequence[MemoryItem]) -> Sequence[StoredItem]:
        """Write items into the file, and let the server know later. Raises as the local store does; then neither has
        happened."""
        given = await self.local.database.read(lambda connection: [_resolve_item(connection, item) for item in items])
        for item in items:
            self._start(ItemOwner(tenant=item.tenant_id, user=item.user_id))

        def note(connection: sqlite3.Connection, stored: Sequence[StoredItem]) -> None:
            for item, outcome in zip(given, stored, strict=True):
                self._note_written(connection, item, outcome)

        stored = await self.local.upsert(given, also=note)
        self._wake.set()
        return [replace(each, given_id=item.id) for item, each in zip(items, stored, strict=True)]

    async def forget(self, owner: ItemOwner, ids: Sequence[str]) -> Sequence[str]:
        """Forget items here at once and on the server as soon as it can be reached, also those that are only there.
        Return the ids of those that were here. Raises as the local store does."""
        self._start(owner)
        led = await self.local.database.read(
            lambda connection: {id_: outbox.resolve_id(connection, owner, id_) for id_ in ids}
        )

        def note(connection: sqlite3.Connection, gone: Sequence[str]) -> None:
            for id_ in dict.fromkeys(led.values()):
                if id_ in gone or (_is_id(id_) and self.local.read_item(connection, owner, id_) is None):
                    self._add(connection, owner, "forget", id_)

        gone = set(await self.local.forget(owner, list(dict.fromkeys(led.values())), also=note))
        self._wake.set()
        return [id_ for id_ in led if led[id_] in gone]

    async def pin(self, owner: ItemOwner, item_id: str, *, pinned: bool) -> bool:
        """Pin or unpin an item here at once and on the server later, and return whether it was here. Raises as the
        local store does."""
        self._start(owner)

        def work(writer: MirrorWriter) -> bool:
            id_ = outbox.resolve_id(writer.connection, owner, item_id)
            is_there = writer.pin_item(owner, id_, pinned=pinned)
            if is_there:
                self._add(writer.connection, owner, "pin" if pinned else "unpin", id_)
            return is_there

        is_there = await self.local.apply_work(work)
        self._wake.set()
        return is_there

    async def list(self, query: ListQuery) -> Sequence[MemoryItem]:
        """Return the items of the file, newest change first. Raises StoreDown, Busy of the file."""
        self._start(query.owner)
        return await self.local.list(query)

    async def compact(self, owner: ItemOwner, policy: CompactPolicy) -> CompactReport:
        """Remove what the policy says from the file alone: the server has its own maintenance. Raises as the local
        store does."""
        return await self.local.compact(owner, policy)

    async def sync_now(self, owner: ItemOwner) -> bool:
        """Send what waits for an owner and take over what others have done, whatever it costs, and return whether both
        agree then. Raises StoreError of the file."""
        return await self._sender.synchronize_items(owner)

    async def list_owners(self) -> Sequence[ItemOwner]:
        """Return the owners whose items this file shares with the server. Raises StoreError of the file."""
        return await self.local.database.read(outbox.list_known_owners)

    async def read_outbox_status(self) -> OutboxStatus:
        """Return what waits in the file, and how sending went. Raises StoreError of the file."""
        return await self.local.database.read(outbox.read_status)

    async def close(self) -> None:
        """Send what waits and may be sent within `close_seconds`, and close both stores. What is not sent waits in the
        file."""
        self._is_closed = True
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task
            with suppress(MunimentError, TimeoutError):
                async with asyncio.timeout(self._options.close_seconds):
                    await self._keep_credit()
                    await self._send_due(is_last=True)
        await self.local.close()
        await self._remote.close()

    def _start(self, owner: ItemOwner) -> None:
        """Begin to look after what waits, with the first call."""
        self._owners.setdefault(outbox.get_space_owner(owner), None)
        if self._options.is_automatic and self._task is None and not self._is_closed:
            self._task = asyncio.create_task(self._look_after())

    def _count_turn(self, owner: ItemOwner) -> None:
        space = outbox.get_space_owner(owner)
        self._turns[space] = self._turns.get(space, 0) + 1

    def _asks_remote(self, hits: Sequence[MemoryHit]) -> bool:
        """Whether the server is asked: the best of the file is weak, or it is an old find."""
        now = self._now()
        while self._reads and self._reads[0] <= now - _MINUTE:
            self._reads.popleft()
        best = hits[0] if hits else None
        oldest = now - timedelta(days=self._options.find_days)
        is_old = best is not None and best.fetched_at is not None and best.fetched_at < oldest
        score = None if best is None or is_old else best.score
        return decide_remote(score, len(hits), len(self._reads), self._options.gates).allowed

    async def _find_remote(self, query: SearchQuery) -> Sequence[MemoryHit]:
        """Return what the server finds, kept in the file; nothing where it does not answer in time."""
        now = self._now()
        if self._circuit.is_open(now.timestamp()):
            return ()
        self._circuit = self._circuit.begin_request(now.timestamp())
        self._reads.append(now)
        self._remote_reads += 1
        try:
            progress = await self.local.database.read(lambda connection: outbox.read_progress(connection, query.owner))
            async with asyncio.timeout(self._options.remote_seconds):
                hits = await self._remote.search(replace(query, vector=None, vector_model=None))
            self._circuit = self._circuit.note_success()
            self._problems.note_success("remote_search")
            if not hits:
                return ()
            return await self.local.apply_work(
                lambda writer: keep_finds(writer, query.owner, hits, progress.revision, now), fetched_at=now
            )
        except (MunimentError, TimeoutError) as error:
            self._circuit = self._circuit.note_failure(self._now().timestamp())
            self._problems.note_problem("remote_search", error)
            return ()

    def _note_written(self, connection: sqlite3.Connection, item: MemoryItem, stored: StoredItem) -> None:
        """Let an operation wait for what a write has changed in the file."""
        owner = ItemOwner(tenant=item.tenant_id, user=item.user_id, project=item.project_id, session=item.session_id)
        if item.deleted:
            self._add(connection, owner, "forget", stored.id)
        elif stored.outcome in ("added", "updated", "merged"):
            self._add(connection, owner, "upsert", stored.id, self.local.read_item(connection, owner, stored.id))

    def _add(
        self,
        connection: sqlite3.Connection,
        owner: ItemOwner,
        verb: OperationVerb,
        id_: str,
        item: MemoryItem | None = None,
    ) -> None:
        limit = self._options.sending.outbox
        outbox.add_operation(connection, owner, verb, id_, at=self._now(), limit=limit, item=item)

    async def _look_after(self) -> None:
        """Send what is due and read what others have done, until the store is closed."""
        while True:
            seconds = _IDLE_SECONDS
            try:
                await self._keep_credit()
                seconds = await self._send_due()
                await self._pull_due()
            except MunimentError as error:  # of the file: it may be free, or writable, another time
                self._problems.note_problem("sending", error)
            with suppress(TimeoutError):
                async with asyncio.timeout(max(0.01, min(seconds, _IDLE_SECONDS))):
                    await self._wake.wait()
            self._wake.clear()

    async def _keep_credit(self) -> None:
        turns, self._turns = self._turns, {}
        pace = self._options.sending.pace
        if not turns or pace.writes_per_100_turns is None:
            return

        def work(writer: MirrorWriter) -> None:
            for owner, count in turns.items():
                outbox.add_credit(writer.connection, owner, compute_credit(count, pace))

        writing = asyncio.ensure_future(self.local.apply_work(work))
        try:
            await asyncio.shield(writing)
        except asyncio.CancelledError:
            with suppress(MunimentError):
                await writing  # these turns are counted nowhere else any more
            raise

    async def _send_due(self, *, is_last: bool = False) -> float:
        """Send one batch for each owner for whom it is due, and return the seconds until something is due again."""
        _, owners = await self._sender.find_due(is_last=is_last)
        for owner in owners:
            await self._sender.push_operations(owner, batches=1)
        due, _ = await self._sender.find_due()
        return _IDLE_SECONDS if due is None else (due - self._now()).total_seconds()

    async def _pull_due(self) -> None:
        now = self._now()
        for owner, read_at in list(self._owners.items()):
            if read_at is None or now - read_at >= timedelta(seconds=self._options.pull_seconds):
                self._owners[owner] = now
                await self._sender.pull_changes(owner)


def _resolve_item(connection: sqlite3.Connection, item: MemoryItem) -> MemoryItem:
    owner = ItemOwner(tenant=item.tenant_id, user=item.user_id)
    return replace(item, id=outbox.resolve_id(connection, owner, item.id))


def _is_id(text: str) -> bool:
    try:
        return str(UUID(text)) == text
    except ValueError:
        return False


def _join_hits(hits: Sequence[MemoryHit], finds: Sequence[MemoryHit], query: SearchQuery) -> Sequence[MemoryHit]:
    """Return the best of both, each item and each statement once, as the file has it where both do."""
    ids = {hit.item.id for hit in hits}
    said = {_get_statement(hit.item) for hit in hits}
    joined = list(hits)
    for find in finds:
        statement = _get_statement(find.item)
        if find.item.id not in ids and statement not in said:
            ids.add(find.item.id)
            said.add(statement)
            joined.append(find)
    return choose_hits(joined, query)


def _get_statement(item: MemoryItem) -> tuple[str, str, str | None, str | None, str]:
    project = item.project_id if item.scope == "project" else None
    session = item.session_id if item.scope == "session" else None
    return item.type, item.scope, project, session, normalize_sentence(item.content)
