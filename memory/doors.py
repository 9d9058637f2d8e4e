"""The doors of a memory by theme: what its operator, its worker and its readers of sessions and projections call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from uuid import UUID

from muniment.memory.admin import START, Admin
from muniment.memory.codec import check_calls
from muniment.memory.configuration import Configuration
from muniment.memory.domain.console.inbox import DecidedItem, InboxCounts, InboxItem, InboxKind
from muniment.memory.domain.evidence.seals import Anchor, VerificationReport
from muniment.memory.domain.ids import MemoryId, Revision
from muniment.memory.domain.layers.bisection import Bisection, BisectProgress, BisectRequest
from muniment.memory.domain.layers.host_items import DropReason, KeptHostItem
from muniment.memory.domain.memory import StoredMemory
from muniment.memory.domain.plan import Receipt
from muniment.memory.domain.query import Answer, Brief, Query
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import Candidate
from muniment.memory.engine import Engine
from muniment.memory.flows.reading.bisection import OnReply
from muniment.memory.flows.reading.untracked import stop_tracking
from muniment.memory.jobs import Jobs
from muniment.memory.ports.layers.bisections import TurnReplay
from muniment.memory.projections import Projections
from muniment.memory.resources import Resources
from muniment.memory.rules.policy.edits import Edit
from muniment.memory.sessions import Sessions
from muniment.memory.transfer.imports import Imports
from muniment.memory.transfer.personal_data import PersonalData


@check_calls
class Doors:
    """What leads to the calls of each theme, all over one engine."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    @property
    def admin(self) -> Admin:
        """Consolidation, erasure, indexes, the embedder, usage and maintenance."""
        return Admin(self.engine)

    @property
    def projections(self) -> Projections:
        """What the memories say slot by slot: profile, episodes, skills."""
        return Projections(self.engine)

    @property
    def host_items(self) -> HostItems:
        """What hosts keep under ids of their own."""
        return HostItems(self.engine)

    @property
    def edits(self) -> Edits:
        """What a person changes of a memory by hand."""
        return Edits(self.engine)

    @property
    def inbox(self) -> Inbox:
        """What waits for a person, and the answers."""
        return Inbox(self.engine)

    @property
    def personal_data(self) -> PersonalData:
        """All that is kept of one person."""
        return PersonalData(self.engine)

    @property
    def resources(self) -> Resources:
        """The documents that were taken in."""
        return Resources(self.engine)

    @property
    def imports(self) -> Imports:
        """What comes from other memories."""
        return Imports(self.engine)

    @property
    def sessions(self) -> Sessions:
        """What was said, session by session."""
        return Sessions(self.engine)

    @property
    def configuration(self) -> Configuration:
        """The settings by stages, and what changes them."""
        return Configuration(self.engine)

    @property
    def jobs(self) -> Jobs:
        """The background jobs."""
        return Jobs(self.engine)

    async def verify(
        self, scope: Scope, *, since: Revision = START, anchors: Sequence[Anchor] = ()
    ) -> VerificationReport:
        """Return what was changed, removed or added in a space by other means than the product's, the first revision
        first. Raises NotFound for a space that does not exist, BadInput for a revision that its journal has not
        reached, StoreError."""
        return await self.admin.verify(scope, since=since, anchors=anchors)

    @property
    def replays(self) -> Replays:
        """The replies that a bisection has made, and how far it has come."""
        return Replays(self.engine)

    async def bisect(
        self,
        scope: Scope,
        replay: TurnReplay,
        *,
        expect: str | None = None,
        judge: str | None = None,
        runs: int = 1,
        missing: bool = False,
        on_reply: OnReply | None = None,
    ) -> Bisection:
        """Return which remembered statements made the reply of a turn, which `replay` makes again with parts of what
        stood before the model; of a thread of the supervisor `muniment.graph.replay.turns.open_turn` returns it.

        A reply is looked at for a pattern to `expect` (words, with `*` for any text and `|` between alternatives), or
        by a model for a question to `judge` it by. With `runs` above 1 the model need not be deterministic: a decision
        is then wrong with a probability of at most 3^-runs. With `missing` the answer is what would have to be shown so
        that the reply has it. Each reply is kept: a call that was cut short, as by OverBudget, goes on where it was
        when it is repeated. `on_reply` gets the number of replies. Raises BadInput, ModelError, StoreError."""
        request = BisectRequest(expect=expect, judge=judge, runs=runs, missing=missing)
        return await self.engine.engines.run(
            scope, lambda engine: engine.bisecting.bisect_turn(scope, replay, request, on_reply)
        )


@check_calls
class Replays:
    """Turns that are made again: reads that leave no trace, and the replies of bisections. It shares the engine of
    `Memory`."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    async def query(self, scope: Scope, agent: str, query: Query) -> Answer:
        """Return what `Memory.query` returns, and record no search. Raises Denied, BadInput."""
        return await self.engine.engines.run(
            scope, lambda engine: stop_tracking(engine.recall).query_memories(scope, agent, query)
        )

    async def brief(self, scope: Scope, agent: str, text: str, *, as_of: Revision) -> Brief:
        """Return what `Memory.brief` returns as of a revision, and record no search. Raises BadInput."""
        return await self.engine.engines.run(
            scope, lambda engine: stop_tracking(engine.recall).build_brief(scope, agent, text, as_of=as_of)
        )

    async def read_progress(self, scope: Scope, replay: TurnReplay, request: BisectRequest) -> BisectProgress:
        """Return how far a bisection has come, and its result once it is there. No model is asked. Raises BadInput,
        StoreError."""
        return await self.engine.engines.run(
            scope, lambda engine: engine.bisecting.read_progress(scope, replay, request)
        )

    async def find_revision(self, scope: Scope, moment: datetime) -> Revision:
        """Return the revision that the space had at a time. Raises BadInput for a time to come, StoreError."""
        return await self.engine.browser.resolve_revision(scope, moment) or Revision(0)

    async def forget(self, scope: Scope, replay: TurnReplay, request: BisectRequest) -> None:
        """Remove the replies of a bisection: it begins anew. Raises BadInput, StoreError."""
        await self.engine.engines.run(scope, lambda engine: engine.bisecting.forget_replies(scope, replay, request))


@check_calls
class HostItems:
    """The items of hosts in a space. It shares the engine of `Memory`.

    The id of an item leads to its memory for ever: also where the memory knew the same fact already, or another one
    takes its place later."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    async def keep(self, scope: Scope, candidate: Candidate) -> KeptHostItem:
        """Keep a candidate under the key in its `item`, like any other: it is redacted, validated and merged.

        The same again changes nothing, and another content under a known id changes its memory. What was forgotten is
        not made again. Raises BadInput for a candidate without a key, StoreError, ModelError."""
        return await self.engine.engines.run(scope, lambda engine: engine.host_item_keeper.keep_item(scope, candidate))

    async def find_memories(self, scope: Scope, ids: Sequence[UUID]) -> Mapping[UUID, StoredMemory]:
        """Return the memories to which ids lead, whatever their state. An unknown id, and that of an item that was
        forgotten, is left out. Raises StoreError."""
        return await self.engine.host_item_keeper.find_memories(scope, ids)

    async def forget(self, scope: Scope, item_id: UUID) -> Receipt:
        """Forget an item with its memory, which can be restored until it is purged; nothing makes it again under this
        id. Without a change where it was not there. Raises StoreError."""
        return await self.engine.host_item_keeper.forget_item(scope, item_id)

    async def drop(self, scope: Scope, memory_id: MemoryId, reason: DropReason) -> Receipt:
        """Let a memory go that has expired or has no room: unlike one that was forgotten it may be kept again, under
        each id that led to it. Without a change where it was gone already. Raises NotFound, StoreError."""
        return await self.engine.lifecycle.drop_memory(scope, memory_id, reason)

    async def pin(self, scope: Scope, item_id: UUID, *, pinned: bool) -> Receipt:
        """Pin or unpin the memory to which an id leads. Raises NotFound where it leads to none, StoreError."""
        return await self.engine.host_item_keeper.pin_item(scope, item_id, pinned=pinned)


@check_calls
class Edits:
    """Changes of a memory by hand, each of them a new version. It shares the engine of `Memory`.

    The id of a memory may be given by its beginning."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    async def change_memory(
        self,
        scope: Scope,
        memory_id: MemoryId | str,
        *,
        text: str | None = None,
        category: str | None = None,
        importance: int | None = None,
        aliases: Sequence[str] | None = None,
        expected_rev: Revision | None = None,
    ) -> Receipt:
        """Give a memory other words, another category, another importance from 1 to 5, or other names; None leaves a
        part as it is.

        The words pass the write gate and the redaction like any others, and from then on they are the user's own. With
        `expected_rev`, the revision of the memory that was seen, a memory that has changed since raises Conflict.
        Raises NotFound, BadInput for what cannot be kept and for a memory that is not in force, StoreError,
        ModelError."""
        id_ = await self.engine.browser.find_id(scope, memory_id)
        edit = Edit(
            text=text, category=category, importance=importance, aliases=None if aliases is None else (*aliases,)
        )
        return await self.engine.engines.run(
            scope, lambda engine: engine.hand_edits.edit_memory(scope, id_, edit, expected_rev)
        )

    async def restore_version(self, scope: Scope, memory_id: MemoryId | str, version: Revision) -> Receipt:
        """Let a memory say again what it said at a revision; that is a new version, too, and can be taken back.

        Raises NotFound where it was not there at that revision, BadInput for a memory that is not in force and where
        another says the same by now, StoreError, ModelError."""
        id_ = await self.engine.browser.find_id(scope, memory_id)
        return await self.engine.engines.run(
            scope, lambda engine: engine.hand_edits.restore_version(scope, id_, version)
        )


@check_calls
class Inbox:
    """What waits for a person: values for the profile, instructions of documents, skills, and contradictions. It shares
    the engine of `Memory`."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    async def count_waiting(self, scope: Scope, *, known: InboxCounts | None = None) -> InboxCounts:
        """Return how many things wait; the `known` counts where the space is as it was then. Raises StoreError."""
        return await self.engine.inbox.count_waiting(scope, known)

    async def list_items(
        self, scope: Scope, *, kinds: Sequence[InboxKind] = (), limit: int = 20, offset: int = 0
    ) -> Sequence[InboxItem]:
        """Return a page of what waits, newest first, of these kinds or of all. Raises BadInput, StoreError."""
        return await self.engine.inbox.list_items(scope, kinds, limit, offset)

    async def list_decided(self, scope: Scope, limit: int = 10) -> Sequence[DecidedItem]:
        """Return the latest decisions that can be taken back, newest first. Raises BadInput, StoreError."""
        return await self.engine.inbox.list_decided(scope, limit)

    async def answer_item(
        self, scope: Scope, kind: InboxKind, item: UUID, *, approve: bool, keep: MemoryId | None = None
    ) -> Receipt:
        """Say yes or no to what waits. Of a contradiction a yes says that the newer memory takes the place of the
        others; a dispute is ended by the memory to `keep`, or by a no to all of them, which are forgotten.

        Raises NotFound for what does not wait, BadInput for a yes to a dispute that names no memory and where another
        memory says the same by now, StoreError."""
        return await self.engine.engines.run(
            scope, lambda engine: engine.inbox.answer_item(scope, kind, item, approve=approve, keep=keep)
        )

    async def correct_item(self, scope: Scope, item: UUID, text: str) -> None:
        """Say yes to other words than those that wait: another value for the profile, or another text of a memory.

        Raises NotFound, BadInput for what cannot be kept, StoreError, ModelError."""
        await self.engine.engines.run(scope, lambda engine: engine.inbox.correct_item(scope, item, text))

    async def undo_decision(self, scope: Scope, decision: UUID) -> Receipt:
        """Take the last decision on a thing back: its memories become what they were, and it waits again.

        Raises NotFound where there is none lately, BadInput where what was decided has changed since, StoreError,
        ModelError."""
        return await self.engine.engines.run(scope, lambda engine: engine.inbox.undo_decision(scope, decision))
