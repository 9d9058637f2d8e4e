"""The plugin: the hooks of a chain, by which any host has a memory."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Self

from muniment.chain.hook_call import HookCalls, HookFault
from muniment.chain.values import Addition, Message, Placement, ToolOutput, TurnContext, TurnOutput
from muniment.memory.errors import MunimentError
from muniment.memory.rules.extraction.turn_reader import TurnReader
from muniment.memory.rules.language.tokens import extract_terms
from muniment.memory.rules.procedures.requests import is_continuation, parse_work_request
from muniment.memory.rules.redaction.redact import Redactor
from muniment.plugin.commands.handler import COMMAND_SECONDS, PluginState, run_command
from muniment.plugin.commands.parsing import Command, parse_command
from muniment.plugin.compaction import RecordLeaving, make_turns, write_leaving
from muniment.plugin.domain.book import TurnReport
from muniment.plugin.domain.item import ItemOwner, ListQuery
from muniment.plugin.domain.policy import choose_policy
from muniment.plugin.embedding import TextEmbedder, guard_embedder
from muniment.plugin.gates.decision import Decision
from muniment.plugin.gates.privacy import decide_source
from muniment.plugin.gates.recall import MACHINE_TURN
from muniment.plugin.ports import ProblemReporting, QueueingStore, RemoteCounts, read_counts, read_queue
from muniment.plugin.problems import Problem, ProblemLog
from muniment.plugin.prompt import PromptBuilder
from muniment.plugin.reading.tool_results import find_fixes, make_work_turn
from muniment.plugin.recall import MessageEmbedder, Recall
from muniment.plugin.sessions import Sessions, SessionState, TurnDraft, add_milliseconds, make_owner
from muniment.plugin.upkeep import StoreUpkeep
from muniment.plugin.writing import ItemWriter, WriteRequest, WriteResult

if TYPE_CHECKING:
    from muniment.memory.config.settings import Settings
    from muniment.memory.domain.turn import Turn
    from muniment.memory.ports.embedders import Embedder
    from muniment.plugin.ports import MemoryStore, PluginBook

_FAULTS = (MunimentError, TimeoutError, OSError)  # of a store or a book: no turn fails by them
_PLACES: tuple[Placement, ...] = ("system", "user")
_NOBODY, _ANY_TIME = "-", datetime(2000, 1, 1, tzinfo=UTC)
_MOST_KEYWORDS = 8
_GOAL_CHARS = 2_000  # of a message that may ask for work
OFF, UNKNOWN_SWITCH, NO_STORE = "off", "switch unknown", "memory failed"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MemoryPlugin:
    """A middleware that recalls before a prompt, and writes behind the reply. No fault of a store fails a turn.

    Without a store it is switched off, and does nothing."""

    settings: Settings
    store: MemoryStore | None
    book: PluginBook | None
    reader: TurnReader | None
    embedder: MessageEmbedder | None = None
    prompt: PromptBuilder | None = None
    writer: ItemWriter | None = None
    sessions: Sessions
    upkeep: StoreUpkeep | None = None
    record_leaving: RecordLeaving | None = None  # of an engine: it keeps what leaves a thread as turns
    problems: ProblemLog
    name: str = "memory"

    @classmethod
    def make_inactive(cls, settings: Settings) -> Self:
        """Return a plugin that does nothing: no host has to ask whether it is on."""
        return cls(settings=settings, store=None, book=None, reader=None, sessions=Sessions(), problems=ProblemLog())

    @classmethod
    def make(
        cls,
        settings: Settings,
        store: MemoryStore,
        book: PluginBook,
        *,
        embedder: Embedder | TextEmbedder | None = None,
        record_leaving: RecordLeaving | None = None,
    ) -> Self:
        """Return a plugin over an open store and an open book. `embedder` tells topics apart, beside their words."""
        reader = TurnReader(
            redactor=Redactor(settings.redact), limits=settings.limits, per_turn=settings.write.per_turn
        )
        sessions, problems = Sessions(), ProblemLog()
        messages = None
        if embedder is not None:
            profile = settings.find_profile(embedder.name)
            messages = MessageEmbedder(embedder=guard_embedder(embedder), profile=profile)
        return cls(
            settings=settings,
            store=store,
            book=book,
            reader=reader,
            embedder=messages,
            prompt=PromptBuilder(
                settings=settings, recall=Recall(store=store, embedder=messages), reader=reader, sessions=sessions
            ),
            writer=ItemWriter(store=store, book=book, reader=reader, settings=settings),
            sessions=sessions,
            upkeep=StoreUpkeep(store, settings.plugin, sessions, problems),
            record_leaving=record_leaving,
            problems=problems,
        )

    async def before_prompt(self, context: TurnContext) -> TurnContext:
        """Return the turn with what memory has for it, or with the reply to a command."""
        if self.store is None or self.book is None or self.prompt is None:
            return context
        owner = make_owner(context.identity)
        if isinstance(self.store, QueueingStore):
            self.store.note_turn(owner)
        command = None if context.is_machine else parse_command(context.user_text)
        if command is not None:
            return replace(context, reply=await self._run_command(command, context, owner, self.store, self.book))
        state = self.sessions.get_state(owner)
        draft = TurnDraft(policy=choose_policy(context.identity.session, self.settings.plugin))
        state.keep_draft(context.turn_id, draft)
        blocks: dict[str, str] = {}
        try:
            async with asyncio.timeout(self.settings.plugin.recall_seconds):
                if await self._may_use(context, owner, state, draft):
                    await self.prompt.build_blocks(context, owner, state, draft, blocks)
            if draft.recall:
                for kind in ("opening", "search"):
                    self.problems.note_success(kind)
        except _FAULTS as error:
            self.problems.note_problem("book" if draft.recall_reason == UNKNOWN_SWITCH else "search", error)
            draft.recall_reason = draft.recall_reason or NO_STORE
        if draft.policy.is_shadow:
            return context
        added = [
            Addition(source=self.name, text=text, placement=place) for place in _PLACES if (text := blocks.get(place))
        ]
        return replace(context, additions=(*context.additions, *added)) if added else context

    async def on_tool_result(self, context: TurnContext, output: ToolOutput) -> None:
        """Note what a tool gave, for the fixes that it may verify."""
        state = self._get_active_state(context)
        if state is not None and self.reader is not None:
            turn = await asyncio.to_thread(make_work_turn, context, output, self.reader.redactor.sanitize_text)
            state.work.append(turn)

    async def after_prompt(self, context: TurnContext, output: TurnOutput) -> None:
        """Write what the turn has said and its tools have verified, and report the turn. A turn that failed or was
        aborted writes nothing."""
        if self.store is None or self.book is None or context.reply is not None:
            return
        owner = make_owner(context.identity)
        state = self.sessions.get_state(owner)
        draft = state.drafts.pop(context.turn_id, None)
        if draft is None:
            return
        result = WriteResult()
        remote = read_counts(self.store)
        if not draft.is_allowed:
            result.refusals[draft.recall_reason] += 1
        elif output.status != "done":
            result.refusals[f"{output.status} turn"] += 1
        else:
            try:
                async with asyncio.timeout(self.settings.plugin.after_seconds):
                    result = await self._write(context, owner, state, draft)
                if result.written:
                    self.problems.note_success("write")
            except _FAULTS as error:
                result.refusals[NO_STORE] += 1
                self.problems.note_problem("write", error)
        await self._report(context, owner, draft, result, remote, self.book)
        if self.upkeep is not None and draft.is_allowed and not draft.policy.is_shadow:
            self.upkeep.note_turn(owner, context.at, draft.policy.gates, result.written)

    async def before_compact(self, context: TurnContext, messages: Sequence[Message]) -> None:
        """Write what is about to leave the thread, and return when it is written. Raises what the store raises, so that
        the messages stay."""
        state = self._get_active_state(context)
        policy = choose_policy(context.identity.session, self.settings.plugin)
        if state is None or self.writer is None or self.book is None or policy.is_shadow:
            return
        owner = make_owner(context.identity)
        state.is_on = await self.book.read_switch(owner)  # each time: another process may have changed it
        if state.is_on and self._decide_source(context).allowed:
            if self.record_leaving is not None:
                await self.record_leaving(context, messages)
                self.sessions.note_write(owner)
            else:
                changed = await write_leaving(self.writer, context, owner, policy.gates, messages)
                self.sessions.note_write(owner, changed)

    async def warm_up(self, seconds: float) -> None:
        """Load what the first turn needs, so that it does not wait: the rules, the embedder, and the files of the store
        and the book. At most so long; what fails here fails again when it is asked for."""
        loading = [self.embedder.embedder.load_model(seconds)] if self.embedder is not None else []
        calls = [partial(asyncio.to_thread, self.prompt.load_rules)] if self.prompt is not None else []
        if self.book is not None and self.store is not None:
            calls.append(partial(self._open_files, self.store, self.book))
        hooks = HookCalls()
        results = await asyncio.gather(*(hooks.call_hook(call, seconds) for call in calls), *loading)
        for result in results:
            if isinstance(result, HookFault):
                self.problems.note_problem("opening", result.error or TimeoutError())

    async def _open_files(self, store: MemoryStore, book: PluginBook) -> None:
        nobody = ItemOwner(user=_NOBODY, session=_NOBODY)
        await book.read_switch(nobody)
        if self.settings.plugin.store in ("local", "hybrid"):  # a server is asked for somebody only
            await store.list(ListQuery(owner=nobody, at=_ANY_TIME, limit=1))

    async def close(self) -> None:
        """Wait for what is under way: a compaction of the store, and what the embedder does."""
        if self.upkeep is not None:
            await self.upkeep.close()
        if self.embedder is not None:
            await self.embedder.embedder.close()

    def _get_active_state(self, context: TurnContext) -> SessionState | None:
        return self.sessions.get_state(make_owner(context.identity)) if self.store is not None else None

    def _decide_source(self, context: TurnContext) -> Decision:
        return decide_source(
            self.settings.redact, tags=context.tags, path=context.path, project=context.identity.project
        )

    def _list_problems(self) -> tuple[Problem, ...]:
        parts = (self.store, self.book, self.embedder.embedder if self.embedder else None, self.problems)
        return tuple(each for part in parts if isinstance(part, ProblemReporting) for each in part.list_problems())

    async def _run_command(
        self, command: Command, context: TurnContext, owner: ItemOwner, store: MemoryStore, book: PluginBook
    ) -> str:
        plugin = self.settings.plugin
        status = PluginState(
            store=plugin.store,
            policy=choose_policy(context.identity.session, plugin).name,
            is_shadow=plugin.shadow,
            queue_length=await read_queue(store),
            problems=self._list_problems(),
        )
        seconds = max(COMMAND_SECONDS, plugin.recall_seconds)
        reply = await run_command(command, context, owner, store, book, status, seconds=seconds)
        state = self.sessions.get_state(owner)
        if command.name in ("off", "on"):
            state.is_on = None  # read anew: the command may have failed
            state.stable, state.hits = None, ()
        elif command.name in ("pin", "unpin", "forget"):
            self.sessions.note_write(owner)
            for each in self.sessions.list_states(owner):
                each.stable, each.hits = None, ()
        return reply

    async def _may_use(self, context: TurnContext, owner: ItemOwner, state: SessionState, draft: TurnDraft) -> bool:
        """Whether the turn may read and write: its session is on, and nothing of it is denied. A switch that cannot be
        read counts as off."""
        draft.is_allowed = False
        draft.recall_reason = UNKNOWN_SWITCH
        if self.book is not None:
            state.is_on = await self.book.read_switch(owner)  # each turn: another process may have changed it
        if not state.is_on:
            draft.recall_reason = OFF
            return False
        source = self._decide_source(context)
        draft.recall_reason = "" if source.allowed else source.reason
        draft.is_allowed = source.allowed
        return source.allowed

    async def _write(
        self, context: TurnContext, owner: ItemOwner, state: SessionState, draft: TurnDraft
    ) -> WriteResult:
        if self.writer is None or self.reader is None:
            return WriteResult()
        own, previous = make_turns(context)
        goal = await self._note_work(context, own, state, self.reader)
        fixes = await asyncio.to_thread(find_fixes, list_work(state.work))
        new = [fix for fix in fixes if fix.key not in state.fixes]
        state.fixes.update(fix.key for fix in new)
        request = WriteRequest(
            owner=owner,
            at=context.at,
            gates=draft.policy.gates,
            keywords=extract_terms((goal if context.is_machine else state.goal) or "", _MOST_KEYWORDS),
            is_shadow=draft.policy.is_shadow,
        )
        if context.is_machine:  # nobody has said it: only what its tools have shown is kept
            result = await self.writer.write_fixes(request, new)
            result.refusals[MACHINE_TURN] += 1
        else:
            result = await self.writer.write_turn(request, own, previous, new)
        if result.written or result.changed:
            self.sessions.note_write(owner, frozenset(result.changed))
        if not draft.overruled.isdisjoint(result.changed):
            state.stable = None  # which the item had left, and to which it comes back with what it says since
        return result

    async def _note_work(self, context: TurnContext, own: Turn, state: SessionState, reader: TurnReader) -> str | None:
        """Add the redacted message to the work of the session, and return what it asks for. The first request of a
        person, and each that goes on with another thing, is the goal of the session."""
        if len(own.text) > self.settings.limits.turn_chars:
            return None
        safe = await asyncio.to_thread(reader.sanitize_turn, own)
        state.work.append(safe)
        text = safe.text[:_GOAL_CHARS]
        goal = await asyncio.to_thread(parse_work_request, text)
        if goal and not context.is_machine and (state.goal is None or not is_continuation(text, state.goal)):
            state.goal = goal
        return goal

    async def _report(
        self,
        context: TurnContext,
        owner: ItemOwner,
        draft: TurnDraft,
        result: WriteResult,
        before: RemoteCounts,
        book: PluginBook,
    ) -> None:
        now, queued = read_counts(self.store), await read_queue(self.store)
        add_milliseconds(draft.milliseconds, result.milliseconds)
        report = TurnReport(
            turn_id=context.turn_id,
            owner=owner,
            at=context.at,
            policy=draft.policy.name,
            is_shadow=draft.policy.is_shadow,
            recall=draft.recall,
            recall_reason=draft.recall_reason,
            is_hit=draft.is_hit,
            item_ids=draft.item_ids,
            tokens=draft.tokens,
            written=result.written,
            duplicates=result.duplicates,
            refusals=dict(result.refusals),
            remote_reads=draft.remote_reads + now.reads - before.reads,
            remote_writes=now.writes - before.writes,
            queue_length=queued,
            milliseconds={name: round(value, 3) for name, value in draft.milliseconds.items()},
        )
        try:
            await book.record_turn(report)
            self.problems.note_success("book")
        except _FAULTS as error:
            self.problems.note_problem("book", error)


def list_work(work: Iterable[Turn]) -> list[Turn]:
    """Return work in the order in which it was done: a request is noted behind the tools that it set to work."""
    return sorted(work, key=lambda turn: (turn.at, turn.role != "user"))
