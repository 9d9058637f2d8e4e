"""`Memory`: what an application calls."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Self
from uuid import UUID

from muniment.memory.codec import check_calls, check_each
from muniment.memory.domain.consent import Consent
from muniment.memory.domain.ids import MemoryId, Revision
from muniment.memory.domain.journal import ChangePage, JournalEntry, Node
from muniment.memory.domain.memory import Neighbour, Reach, StoredMemory
from muniment.memory.domain.plan import ImportReport, Receipt, raise_refusal
from muniment.memory.domain.query import Answer, Brief, Explanation, ListRequest, MemoryPage, Query
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import Candidate, Placement, ToolUse, Turn
from muniment.memory.domain.usage import OpsEvent, Purpose
from muniment.memory.doors import Doors
from muniment.memory.engine import Engine, MakeEmbedder
from muniment.memory.flows import metering
from muniment.memory.flows.background.reembed import EmbedderSwitch as EmbedderSwitch  # noqa: PLC0414 - for faces
from muniment.memory.ports.embedders import Embedder
from muniment.memory.ports.llm import ChatModel
from muniment.memory.ports.readers import VERY_LONG_TEXT
from muniment.memory.rules.procedures import tool_calls
from muniment.memory.rules.provenance.quoted import hash_shingles
from muniment.memory.rules.redaction.secret_names import describe_redactions
from muniment.memory.rules.retrieval.render import choose_vocabulary, count_message_tokens
from muniment.memory.rules.statements.relations import make_relation

OnProgress = Callable[[int], None]


@check_calls
class Memory(Doors):
    """The long-term memory of all spaces of one database. It opens itself on first use; close it, or use `async with`.

    The scope names the space. A memory's id may be a UUID or its text; another text raises BadInput. A method that
    reads or writes raises StoreError. The calls of a graph are in `conversation`, of an operator in `admin`, of a
    worker in `jobs`."""

    def __init__(self, engine: Engine, *, loop: asyncio.AbstractEventLoop | None = None) -> None:
        super().__init__(engine)
        self.conversation = Conversation(self)  # the calls of a graph around one turn
        self.loop = loop  # on which it was opened

    async def __aenter__(self) -> Self:
        self.loop = asyncio.get_running_loop()
        await self.engine.open_or_close()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.engine.close()

    async def open(self) -> None:
        """Connect, and check that the vectors are of this embedder. Raises StoreDown, WrongEmbedder."""
        self.loop = asyncio.get_running_loop()
        await self.engine.open()

    async def close(self) -> None:
        """Write what is buffered, and close the connections, the embedder and the model."""
        await self.engine.close()

    def configure(
        self, *, embedder: Embedder, model: ChatModel | None, make_former: MakeEmbedder, prompt: str | None = None
    ) -> Memory:
        """Return the memory of spaces with models of their own, over the same connections; it is not closed itself.

        `prompt` says what is worth remembering; `make_former` returns an embedder that such a space had, by its
        name."""
        engine = self.engine.configure(embedder=embedder, model=model, prompt=prompt, make_former=make_former)
        return Memory(engine, loop=self.loop)

    def now(self) -> datetime:
        """Return the time in UTC by the engine's clock."""
        return self.engine.clock.now()

    async def learn(
        self, scope: Scope, turn: Turn, *, previous: Sequence[Turn] = (), aliases: Sequence[str] = ()
    ) -> Receipt:
        """Keep what a turn says: gate, redact, extract by rule, validate, embed, merge, commit.

        `previous` are the turns before it in the thread, oldest first: they say what a short answer answers. Returns
        what was changed, refused and skipped. The `aliases` are other names of what the turn is about: each statement
        is found by them, too. The same turn twice is one write. Raises TooLarge, BadInput for an alias that cannot be
        kept, StoreError, ModelError (the embedder)."""
        return await self.engine.engines.run(
            scope, lambda engine: engine.writer.learn_turn(scope, turn, previous, aliases)
        )

    async def remember(
        self,
        scope: Scope,
        text: str,
        *,
        category: str | None = None,
        aliases: Sequence[str] = (),
        reach: Reach = "user",
        source: str | None = None,
        expires_at: datetime | None = None,
    ) -> Receipt:
        """Keep a text that a person asks to remember, with other names of what it is about.

        `reach` says where it is found: everywhere, in the scope's project, or in its session. `source` is the name or
        address of what it comes from, and from `expires_at` on no answer has it. Raises BadInput for what cannot be
        kept as it stands."""
        placement = Placement(reach=reach, source=source, expires_at=expires_at)
        return await self.engine.engines.run(
            scope, lambda engine: engine.requested_texts.remember_text(scope, text, category, aliases, placement)
        )

    async def relate(
        self,
        scope: Scope,
        subject: str,
        predicate: str,
        value: str,
        *,
        category: str = "relationships",
        single: bool = False,
    ) -> Receipt:
        """Keep how one thing stands to another, such as ("Wayfinder", "depends on", "Kafka"): a question about either
        finds it. The same relation again changes nothing; with `single` a new value replaces the old one.

        Raises BadInput for an empty or too long part, an unknown category, and what may not be kept."""
        text, fact = make_relation(subject, predicate, value, single=single)
        return await self.engine.engines.run(
            scope, lambda engine: engine.requested_texts.keep_relation(scope, text, fact, category)
        )

    async def keep_candidates(
        self, scope: Scope, candidates: Sequence[Candidate], turns: Sequence[Turn] = ()
    ) -> Receipt:
        """Keep candidates that are extracted already. The receipt has the reasons of those that cannot be kept.

        Raises BadInput where for such a reason nothing is kept at all; its data has all `reasons`."""
        given, said = tuple(candidates), tuple(turns)
        return raise_refusal(
            await self.engine.engines.run(
                scope, lambda engine: engine.writer.keep_candidates(scope, given, said, node="worker")
            )
        )

    async def write_once(
        self, scope: Scope, key: str, write: Callable[..., Awaitable[Receipt]], *args: Any, **options: Any
    ) -> Receipt:
        """Call a method of this memory that writes, such as `remember`, once for a key, and return its receipt: the
        same call with this key within a day returns that receipt again, in any process, and writes nothing.

        Raises BadInput for a key that is no text of 1 to 200 printable characters, KeyReused for that of another
        call, and what the method raises: then the key is free."""
        return await self.engine.requests.run_once(scope, key, write, *args, **options)

    async def query(self, scope: Scope, agent: str, query: Query) -> Answer:
        """Return the best memories within the agent's allowlist, at most `top_k` and `budget_tokens` of fenced JSON.

        An explanation is not part of the budget. Procedures are searched only when their category is named. Raises
        Denied, BadInput."""
        return await self.engine.engines.run(scope, lambda engine: engine.recall.query_memories(scope, agent, query))

    async def why_not(self, scope: Scope, agent: str, memory_id: MemoryId | str, query: Query) -> Explanation:
        """Return the first reason that keeps a memory out of the answer to a query, found by the code that answers it.

        Of a memory of another space it says only that this space has none. Raises Denied, BadInput, Conflict."""
        id_ = await self.find_id(scope, memory_id)
        return await self.engine.engines.run(
            scope, lambda engine: engine.absence_explainer.explain_absence(scope, agent, id_, query)
        )

    async def brief(
        self, scope: Scope, agent: str, text: str, *, as_of: Revision | None = None, limit: int | None = None
    ) -> Brief:
        """Return what goes before a model for a message: stable profile, delta header and relevant bullets.

        With `as_of` as it would have been at that revision, with a `limit` of so many memories at most, of which the
        profile gets no more than half. Raises BadInput for a revision that is not reached."""
        return await self.engine.engines.run(
            scope, lambda engine: engine.recall.build_brief(scope, agent, text, as_of=as_of, limit=limit)
        )

    async def find_id(self, scope: Scope, given: MemoryId | str) -> MemoryId:
        """Return the id of the memory whose id begins as given. Every call that takes an id takes such a beginning.

        Raises BadInput for what is no id or is the beginning of several, NotFound where no memory has it."""
        return await self.engine.browser.find_id(scope, given)

    async def get(
        self, scope: Scope, memory_id: MemoryId | str, *, as_of: Revision | datetime | None = None
    ) -> StoredMemory:
        """Return a memory, whatever its state, now or as of a revision or a time. Raises NotFound, BadInput."""
        return await self.engine.browser.get_memory(scope, await self.find_id(scope, memory_id), as_of)

    async def find_related(self, scope: Scope, memory_id: MemoryId | str) -> Sequence[Neighbour]:
        """Return the active memories that an edge ties to this one, strongest first; `sim`, in [0, 1], says how."""
        return await self.engine.browser.find_related(scope, await self.find_id(scope, memory_id))

    async def list(
        self,
        scope: Scope,
        *,
        categories: Sequence[str] = (),
        states: Sequence[str] = ("active",),
        limit: int = 100,
        offset: int = 0,
    ) -> Sequence[StoredMemory]:
        """Return memories of the space, newest change first. Raises BadInput, as `page`."""
        listing = ListRequest(categories=tuple(categories), states=tuple(states), limit=limit, offset=offset)
        return [*(await self.list_page(scope, listing)).memories]

    async def list_page(
        self, scope: Scope, listing: ListRequest, *, as_of: Revision | datetime | None = None
    ) -> MemoryPage:
        """Return the memories that a request asks for, newest change first, their total number, and the revision.

        Raises BadInput for an unknown category, kind, trust or state, and a limit, offset or `as_of` out of range."""
        return await self.engine.browser.list_page(scope, listing, as_of)

    async def history(
        self, scope: Scope, memory_id: MemoryId | str | None = None, limit: int = 100
    ) -> Sequence[JournalEntry]:
        """Return journal entries of a memory or of the whole space, newest first. Raises NotFound, BadInput."""
        id_ = None if memory_id is None else await self.find_id(scope, memory_id)
        return await self.engine.browser.read_history(scope, id_, limit)

    async def changes(self, scope: Scope, since: int = 0, limit: int = 100, *, agent: str | None = None) -> ChangePage:
        """Return what has changed after a revision, oldest first, each change with the memory as it was then; an agent
        sees its own categories. Begin at 0, go on at `next`. Raises BadInput, BadConfig for an unknown agent."""
        return await self.engine.change_log.read_page(scope, agent, since, limit)

    async def pin(self, scope: Scope, memory_id: MemoryId | str, *, pinned: bool = True) -> Receipt:
        """Pin or unpin a memory. Raises NotFound, BadInput for a pin on a forgotten memory."""
        return await self.engine.lifecycle.pin_memory(scope, await self.find_id(scope, memory_id), pinned)

    async def set_aliases(self, scope: Scope, memory_id: MemoryId | str, aliases: Sequence[str]) -> Receipt:
        """Replace the other names of what a memory is about, by each of which it is found: at most 16 of 80 characters.

        Raises NotFound, BadInput, ModelError."""
        id_ = await self.find_id(scope, memory_id)
        return await self.engine.engines.run(scope, lambda engine: engine.lifecycle.set_aliases(scope, id_, aliases))

    async def forget(self, scope: Scope, memory_id: MemoryId | str) -> Receipt:
        """Soft-delete a memory: no answer has it, and it can be restored until it is purged. Raises NotFound."""
        return await self.engine.lifecycle.forget_memory(scope, await self.find_id(scope, memory_id))

    async def restore(self, scope: Scope, memory_id: MemoryId | str) -> Receipt:
        """Bring a soft-deleted memory back as it was. Raises NotFound, BadInput when another says the same by now."""
        id_ = await self.find_id(scope, memory_id)
        return await self.engine.engines.run(scope, lambda engine: engine.lifecycle.restore_memory(scope, id_))

    async def list_consents(self, scope: Scope, *, decided: bool = False) -> Sequence[Consent]:
        """Return the pending requests for consent, newest first; with `decided` all requests.

        Pending memories are not among them: list them by their state."""
        return await self.engine.consents.list_consents(scope, include_decided=decided)

    async def decide_consents(
        self, scope: Scope, ids: Sequence[UUID], *, approve: bool, by: str | None = None, node: Node = "face"
    ) -> Receipt:
        """Approve or reject pending requests and memories, all or none, in the name of `by` or the scope's actor.

        Raises NotFound for one that is not pending, BadInput when another memory says the same by now."""
        return await self.engine.engines.run(
            scope, lambda engine: engine.consents.decide_consents(scope, ids, approve=approve, by=by, node=node)
        )

    async def ingest(self, scope: Scope, candidates: Iterable[Candidate], on_progress: OnProgress | None = None) -> int:
        """Store candidates as they are, redacted, in batches. Returns the number of new ones; those of a known turn are
        left out.

        `on_progress` gets the number of candidates of each write. Raises StoreError, ModelError."""
        source = self.engine.transfer.open_source(check_each("candidates", candidates))
        return await self.engine.run_checked(
            scope, lambda engine: engine.transfer.ingest_candidates(scope, source, on_progress)
        )

    async def export(self, scope: Scope, *, content: bool = False) -> Sequence[dict[str, Any]]:
        """Return the space as JSON rows: memories, versions, journal, relations, cursors, ledger.

        With `content` only memories and relations, without revisions: two spaces that know the same have the same
        rows."""
        return await self.engine.transfer.export_space(scope, content=content)

    async def load(
        self, scope: Scope, rows: Iterable[Mapping[str, Any]], on_progress: OnProgress | None = None
    ) -> ImportReport:
        """Import the rows of an export, or plain `{"text", "category"}` rows; a text alone is read as a turn is.

        The report has the rows that only changed a memory. `on_progress` gets numbers of rows. A sequence other than a
        list is read where it is, so that one of rows in a file may be of any length. Raises BadInput."""
        given = rows if isinstance(rows, Sequence) and not isinstance(rows, list) else list(rows)
        return await self.engine.run_checked(scope, lambda engine: engine.transfer.load_rows(scope, given, on_progress))

    async def read_status(self, scope: Scope) -> dict[str, Any]:
        """Return counts, revision, embedder and database of the space, and when it was and will be maintained."""
        return await self.engine.statistics.read_status(scope)


@check_calls
class Conversation:
    """The calls of a graph around one turn. It uses the engine of its `Memory`, which opens and closes it."""

    def __init__(self, memory: Doors) -> None:
        self._memory = memory

    def sanitize_turn(self, scope: Scope, turn: Turn) -> Turn:
        """Return a turn with its texts redacted, for `learn` and `record`, which do not redact it again.

        A turn that the denylist names is returned as it is; `learn` and `record` refuse it. Raises TooLarge."""
        engine = self._memory.engine
        return (
            turn if engine.redactor.find_denial_reason(scope, turn) else engine.writer.turn_reader.sanitize_turn(turn)
        )

    async def record(self, scope: Scope, turns: Sequence[Turn]) -> None:
        """Append turns to the ledger, redacted, and enqueue the jobs that follow from them. A turn that is there stays.

        Raises TooLarge, StoreError."""
        await self._memory.engine.writer.record_turns(scope, turns)

    async def mark_seen(self, scope: Scope, rev: Revision) -> None:
        """Record that the scope's thread has seen everything up to `rev`. Raises BadInput for a scope without a
        thread."""
        await self._memory.engine.recall.mark_seen(scope, rev)

    async def capture(self, scope: Scope) -> Receipt:
        """Summarize the scope's thread as an episode, when enough was said since the last one. Raises ModelError,
        StoreError."""
        return await self._memory.engine.run_checked(scope, lambda engine: engine.episodes.capture_episode(scope))

    async def learn_path(self, scope: Scope) -> Receipt:
        """Keep how goals were reached with tools in the scope's thread, as procedures: where the user asked for it, and
        where tools report a success after failures. A procedure is kept once. Raises StoreError, ModelError."""
        return await self._memory.engine.run_checked(scope, lambda engine: engine.procedures.learn_procedures(scope))

    async def schedule_reflection(self, scope: Scope) -> None:
        """Enqueue the daily job for insights, when there is a model. Mostly this costs one lookup in a dictionary."""
        await self._memory.engine.writer.schedule_reflection(scope)

    async def track(self, scope: Scope, event: OpsEvent) -> None:
        """Buffer an operational event; the next flush writes it."""
        await self._memory.engine.write_behind.track_event(scope, event)

    async def flush(self, scope: Scope) -> None:
        """Write the buffered events, settlements and access counts of the scope. Raises StoreError."""
        await self._memory.engine.write_behind.flush(scope)

    def meter_model(self, scope: Scope, model: ChatModel, purpose: Purpose = "reply") -> ChatModel:
        """Return a model whose requests are redacted and paid for by the tenant; its `chat` raises OverBudget, too."""
        return metering.MeteredModel(self._memory.engine.usage_meter, scope, model, purpose)

    def shingle_hashes(self, *texts: str) -> tuple[int, ...]:
        """Return hashes of the texts' word sequences, by which a later reply that repeats them is recognized."""
        return hash_shingles(texts)

    def redact(self, text: str) -> str:
        """Return the text without secrets. A text that holds none is returned unchanged, to the byte. Call it from a
        thread for a long text."""
        engine = self._memory.engine
        redact = engine.redactor.redact_text
        return engine.text_reader.call_function(redact, text) if len(text) > VERY_LONG_TEXT else redact(text)

    def count_tokens(self, text: str) -> int:
        """Return the number of tokens of a message, by the vocabulary of the configured model."""
        return count_message_tokens(text, choose_vocabulary(self._memory.engine.settings.chat_model))

    def describe_redactions(self, text: str) -> tuple[str, ...]:
        """Return what was taken out of a redacted text, in words: "a password", "an API key"."""
        return describe_redactions(text)

    def make_tool_turn(self, scope: Scope, call: ToolUse) -> Turn:
        """Return a use of a tool as a turn for `record`, redacted and shortened."""
        return tool_calls.make_tool_turn(
            call, session=scope.session or "", thread=scope.thread, redact=self._memory.engine.redactor.redact_text
        )

    async def answer_consents(self, scope: Scope, ids: Sequence[UUID], text: str) -> Sequence[Consent]:
        """Decide the pending requests among `ids` by a message, and return those that it answers: approved, rejected,
        or pending, where the answer is unclear and is to be asked again. None for a message that is no answer."""
        return await self._memory.engine.engines.run(
            scope, lambda engine: engine.consents.answer_consents(scope, ids, text)
        )

    async def resume_consents(self, scope: Scope, ids: Sequence[UUID], answer: Any) -> Sequence[Consent]:
        """Decide like `answer_consents`, by the value that resumes an interrupt: true or false, words, an object, or
        the response of an inbox."""
        return await self._memory.engine.engines.run(
            scope, lambda engine: engine.consents.resume_consents(scope, ids, answer)
        )

    async def answer_replacement(self, scope: Scope, memory_id: MemoryId | str, text: str) -> Receipt | None:
        """Settle by a message which known memories a memory replaces that perhaps replaces some: they are superseded,
        the others stay and are no longer asked about. None for a message that is no answer; no change for a yes that
        does not say which of several. Raises NotFound, StoreError."""
        id_ = await self._memory.engine.browser.find_id(scope, memory_id)
        return await self._memory.engine.engines.run(
            scope, lambda engine: engine.lifecycle.answer_replacement(scope, id_, text)
        )
