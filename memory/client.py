"""`Memory`: the door of a user."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Self
from uuid import UUID

from muniment.memory.admin import Admin
from muniment.memory.conversation import Conversation
from muniment.memory.domain.consent import Consent
from muniment.memory.domain.ids import MemoryId, Revision, parse_memory_id
from muniment.memory.domain.journal import JournalEntry, Node
from muniment.memory.domain.memory import Memory as Record, Neighbour
from muniment.memory.domain.plan import Receipt
from muniment.memory.domain.query import Answer, Brief, Explanation, ListRequest, MemoryPage, Query
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import Candidate, Turn
from muniment.memory.engine import Engine
from muniment.memory.flows.background.reembed import EmbedderSwitch as EmbedderSwitch  # noqa: PLC0414 - a face says what it was given
from muniment.memory.jobs import Jobs

OnProgress = Callable[[int], None]


class Memory:
    """The long-term memory of every space of one database. It opens itself on first use; close it, or use `async with`.

    A memory's id may be given as text; a text that is no UUID raises BadInput. What a graph does around a turn is in
    `conversation`, what an operator does in `admin`, what a worker does in `jobs`."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    @property
    def conversation(self) -> Conversation:
        """What a graph does with memory around one turn."""
        return Conversation(self.engine)

    @property
    def admin(self) -> Admin:
        """What an operator does: consolidation, erasure, indexes, the embedder, usage, maintenance."""
        return Admin(self.engine)

    @property
    def jobs(self) -> Jobs:
        """The background jobs."""
        return Jobs(self.engine)

    async def __aenter__(self) -> Self:
        try:
            await self.engine.open()
        except BaseException:
            await self.engine.close()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.engine.close()

    async def open(self) -> None:
        """Reach the database and check that its vectors are of this embedder. Raises StoreDown, WrongEmbedder."""
        await self.engine.open()

    async def close(self) -> None:
        """Write what is buffered and let the connections go."""
        await self.engine.close()

    def now(self) -> datetime:
        """The time by the engine's clock, UTC."""
        return self.engine.clock.now()

    async def learn(self, scope: Scope, turn: Turn) -> Receipt:
        """Keep what a turn says: gate, redact, extract by rule, validate, embed, merge, commit.

        The same turn twice is one write. Raises TooLarge, StoreError, ModelError (the embedder)."""
        return await self.engine.writer.learn_turn(scope, turn)

    async def remember(self, scope: Scope, text: str, *, category: str | None = None) -> Receipt:
        """Keep a statement because a person said so. Raises BadInput when it cannot be kept as it stands."""
        return await self.engine.writer.remember_text(scope, text, category)

    async def keep_candidates(
        self, scope: Scope, candidates: Sequence[Candidate], turns: Sequence[Turn] = ()
    ) -> Receipt:
        """Keep candidates that are extracted already; those that fail validation are named in the receipt."""
        return await self.engine.writer.keep_candidates(scope, tuple(candidates), tuple(turns), node="worker")

    async def query(self, scope: Scope, agent: str, query: Query) -> Answer:
        """`memory.query`: the best memories within the agent's allowlist. The budget holds for the JSON of bullets or of
        full memories with the fence around it; an explanation comes on top. How-to memory is looked into only where its
        category is named. Raises Denied, BadInput."""
        return await self.engine.recall.query_memories(scope, agent, query)

    async def why_not(self, scope: Scope, agent: str, memory_id: MemoryId | str, query: Query) -> Explanation:
        """Why the memory is not in the answer to this query: the first reason that decides, by the same path as `query`;
        of another space's memory it only says that this space has none. Raises Denied, BadInput, Conflict."""
        return await self.engine.absence_explainer.explain_absence(scope, agent, parse_memory_id(memory_id), query)

    async def brief(self, scope: Scope, agent: str, text: str, *, as_of: Revision | None = None) -> Brief:
        """What goes before a model for this message: stable profile, delta header, relevant bullets; with `as_of` as it
        would have been at that revision. Raises BadInput for a revision that the space has not reached."""
        return await self.engine.recall.build_brief(scope, agent, text, as_of)

    async def get(self, scope: Scope, memory_id: MemoryId | str, *, as_of: Revision | datetime | None = None) -> Record:
        """One memory, whatever its state, as it is or was. Raises NotFound, BadInput for what cannot be read as of."""
        return await self.engine.browser.get_memory(scope, parse_memory_id(memory_id), as_of)

    async def related(self, scope: Scope, memory_id: MemoryId | str) -> Sequence[Neighbour]:
        """The active memories that an edge ties to this one, strongest first; `sim` is the edge's strength."""
        return await self.engine.browser.find_related(scope, parse_memory_id(memory_id))

    async def list(
        self,
        scope: Scope,
        *,
        categories: Sequence[str] = (),
        states: Sequence[str] = ("active",),
        limit: int = 100,
        offset: int = 0,
    ) -> Sequence[Record]:
        """Memories of the space, newest change first."""
        listing = ListRequest(categories=tuple(categories), states=tuple(states), limit=limit, offset=offset)
        return [*(await self.engine.browser.list_page(scope, listing)).memories]

    async def page(self, scope: Scope, listing: ListRequest, *, as_of: Revision | datetime | None = None) -> MemoryPage:
        """Memories of the space, newest change first, as they are or were, and how many there are in all.

        Raises BadInput for an unknown name, a page that cannot be, and what cannot be read as of."""
        return await self.engine.browser.list_page(scope, listing, as_of)

    async def history(
        self, scope: Scope, memory_id: MemoryId | str | None = None, limit: int = 100
    ) -> Sequence[JournalEntry]:
        """The journal of one memory, or of the whole space; newest first. Raises NotFound."""
        return await self.engine.browser.read_history(
            scope, None if memory_id is None else parse_memory_id(memory_id), limit
        )

    async def pin(self, scope: Scope, memory_id: MemoryId | str, *, pinned: bool = True) -> Receipt:
        """Pin or unpin. Raises NotFound, BadInput for a pin on what is forgotten."""
        return await self.engine.lifecycle.pin_memory(scope, parse_memory_id(memory_id), pinned)

    async def forget(self, scope: Scope, memory_id: MemoryId | str) -> Receipt:
        """Soft-delete: out of every answer at once, restorable until it is purged. Raises NotFound."""
        return await self.engine.lifecycle.forget_memory(scope, parse_memory_id(memory_id))

    async def restore(self, scope: Scope, memory_id: MemoryId | str) -> Receipt:
        """Bring a soft-deleted memory back, as what it was before. Raises NotFound, BadInput when another says the same by now."""
        return await self.engine.lifecycle.restore_memory(scope, parse_memory_id(memory_id))

    async def consents(self, scope: Scope, *, decided: bool = False) -> Sequence[Consent]:
        """The requests that wait for a person's yes, newest first; with `decided` all that there ever were.

        Memories that wait are listed by their state, `pending`."""
        return await self.engine.consents.list_consents(scope, include_decided=decided)

    async def decide_consents(
        self, scope: Scope, ids: Sequence[UUID], *, approve: bool, by: str | None = None, node: Node = "face"
    ) -> Receipt:
        """Approve or reject requests and waiting memories, all or none; `by` is who did, the scope's actor if not given.

        Raises NotFound when one of them waits no more, BadInput when another memory says the same by now."""
        return await self.engine.consents.decide_consents(scope, ids, approve=approve, by=by, node=node)

    async def ingest(self, scope: Scope, candidates: Iterable[Candidate], on_progress: OnProgress | None = None) -> int:
        """Store candidates as they are, in batches; one that is there already (same turn) is left out. Returns new ones."""
        return await self.engine.transfer.ingest_candidates(scope, candidates, on_progress)

    async def export(self, scope: Scope, *, content: bool = False) -> Sequence[dict[str, Any]]:
        """The whole space as JSON rows: memories, versions, journal, relations, cursors, ledger. With `content` memories and
        relations alone, without revisions: the same rows for two moments at which the same is known."""
        return await self.engine.transfer.export_space(scope, content=content)

    async def load(self, scope: Scope, rows: Iterable[Mapping[str, Any]], on_progress: OnProgress | None = None) -> int:
        """Read the rows of an export, or plain `{"text", "category"}` rows; one with a text alone is read as a turn is. Returns
        the changes written, of an export the memories. Raises BadInput."""
        return await self.engine.transfer.load_rows(scope, rows, on_progress)

    async def status(self, scope: Scope) -> dict[str, Any]:
        """Counts, revision, embedder and database of the space."""
        return await self.engine.statistics.read_status(scope)
