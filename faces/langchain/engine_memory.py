"""The engine's memory as a middleware of a chain: recall before a prompt, recording and learning behind the reply."""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Awaitable, Coroutine, Sequence
from dataclasses import replace
from typing import Any, Literal, TypeAlias, TypeVar

from langchain_core.messages import AnyMessage

from muniment.chain.values import Addition, Message, TurnContext, TurnOutput
from muniment.faces.langchain.profiles import ThreadProfiles
from muniment.faces.langchain.run import get_run
from muniment.faces.langchain.turns import list_recalled_texts, list_turn_messages, make_turns
from muniment.memory import codec
from muniment.memory.client import Memory
from muniment.memory.domain.ids import Revision
from muniment.memory.domain.plan import Receipt
from muniment.memory.domain.query import Brief
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import Turn
from muniment.memory.errors import MunimentError
from muniment.memory.payload import fence_text
from muniment.nodes.entry import report_failure
from muniment.nodes.supervisor import find_seen_revision
from muniment.plugin.stores.engine.leaving import build_leaving

_log = logging.getLogger(__name__)
_HEADING = "What is known about the person:"
_MAX_BRIEFS = 1_000  # turns whose recalled text is held
_Key: TypeAlias = tuple[str, str]  # space and turn
_Result = TypeVar("_Result")


class EngineMemory:
    """The middleware. It works for turns of LangChain's agents, whose messages it records as they are.

    What memory cannot take is named in the thread's state `memory_unwritten`, and recorded in a later turn."""

    name = "muniment"

    def __init__(self, memory: Memory, agent: str, recall_seconds: float, record_seconds: float) -> None:
        self._memory, self._agent = memory, agent
        self._recall_seconds, self._record_seconds = recall_seconds, record_seconds
        self._briefs: OrderedDict[_Key, Brief] = OrderedDict()
        self._records: dict[_Key, asyncio.Future[bool]] = {}
        self._profiles = ThreadProfiles()

    async def before_prompt(self, context: TurnContext) -> TurnContext:
        """Return the turn with the profile, and with what is recalled for the user's last message."""
        if (run := get_run(context)) is None:
            return context
        text = context.user_text[: self._memory.engine.settings.limits.query_chars]
        reading = self._memory.brief(run.scope, self._agent, text)
        brief = await self._attempt(run.scope, "context", self._recall_seconds, reading)
        if brief is None:
            return context
        brief = self._profiles.hold_profile(run.scope, brief, self._memory.now())
        self._briefs[_make_key(run.scope, context)] = brief
        while len(self._briefs) > _MAX_BRIEFS:
            self._briefs.popitem(last=False)
        profile = f"{_HEADING}\n{fence_text(brief.stable)}" if brief.stable else ""
        added = (
            Addition(source=self.name, text=profile, placement="system"),
            Addition(source=self.name, text=brief.moving, placement="user"),
        )
        return replace(context, additions=(*context.additions, *added))

    async def after_prompt(self, context: TurnContext, output: TurnOutput) -> None:
        """Append the turn to the ledger, and begin to learn from it. A turn that failed, or that a middleware has
        answered, is not recorded."""
        run = get_run(context)
        if run is None:
            return
        key = _make_key(run.scope, context)
        brief = self._briefs.pop(key, None)
        if output.status != "done" or context.reply is not None:
            self._settle(key, is_recorded=True)
            return
        messages = list_turn_messages(run.messages, run.state.get("memory_unwritten", ()))
        recalled = self._memory.conversation.shingle_hashes(*list_recalled_texts(brief, messages))
        turns = make_turns(run.scope, self._memory, messages, recalled)
        record = self._memory.engine.turn_learning.record_turns(run.scope, turns)
        is_recorded = await self._attempt(run.scope, "episodic", self._record_seconds, _confirm(record)) is not None
        if is_recorded:
            self._memory.engine.background_tasks.start(self._learn(run.scope, turns, brief))
        self._settle(key, is_recorded=is_recorded)

    async def before_compact(self, context: TurnContext, messages: Sequence[Message]) -> None:
        """Record what of the messages memory does not have yet, and build memories from all that is recorded of the
        session. Raises what memory raises: then the messages stay."""
        if (run := get_run(context)) is None:
            return
        leaving = {message.id for message in messages}
        waiting = list_turn_messages(run.messages, run.state.get("memory_unwritten", ()))
        turns = make_turns(run.scope, self._memory, [each for each in waiting if each.id in leaving], ())
        await build_leaving(self._memory, run.scope, turns)

    async def wait_recorded(self, context: TurnContext, starting: Any) -> bool:
        """Call `starting()`, which ends a turn, and return whether the turn is in the ledger: False after the time."""
        run = get_run(context)
        if run is None:
            starting()
            return True
        key = _make_key(run.scope, context)
        future = self._records[key] = asyncio.get_running_loop().create_future()
        starting()
        try:
            await asyncio.wait({future}, timeout=self._record_seconds + 1)
        finally:
            self._records.pop(key, None)
        return future.done() and future.result()

    def list_unwritten(self, context: TurnContext) -> list[AnyMessage]:
        """Return the messages of a turn that is not in the ledger."""
        run = get_run(context)
        return [] if run is None else list_turn_messages(run.messages, run.state.get("memory_unwritten", ()))

    def _settle(self, key: _Key, *, is_recorded: bool) -> None:
        future = self._records.get(key)
        if future is not None and not future.done():
            future.set_result(is_recorded)

    async def _learn(self, scope: Scope, turns: Sequence[Turn], brief: Brief | None) -> None:
        """Learn from the user's turns. What fails is left to the job of the turn."""
        writes: list[dict[str, Any]] = []
        try:
            for key in [str(turn.id) for turn in turns if turn.role == "user"]:
                writes += [codec.encode_change(change) for change in (await self._learn_turn(scope, key)).changes]
            if brief is not None and scope.thread:
                await self._memory.conversation.mark_seen(scope, find_seen_revision(Revision(brief.rev), writes))
        except MunimentError as error:
            await report_failure(self._memory, scope, "hotpath", "create", error)

    async def _learn_turn(self, scope: Scope, key: str) -> Receipt:
        return await self._memory.engine.engines.run(
            scope, lambda engine: engine.turn_learning.perform_learning(scope, key)
        )

    async def _attempt(
        self, scope: Scope, node: Literal["context", "episodic"], seconds: float, call: Coroutine[Any, Any, _Result]
    ) -> _Result | None:
        """The result of a call on memory within a time; None for one that fails or lasts longer, which is logged."""
        try:
            async with asyncio.timeout(seconds):
                return await call
        except TimeoutError:
            _log.warning("memory took longer than %s s in %s: the reply goes on without it", seconds, node)
        except MunimentError as error:
            await report_failure(self._memory, scope, node, "search" if node == "context" else "create", error)
        return None


async def _confirm(call: Awaitable[None]) -> Literal[True]:
    await call
    return True


def _make_key(scope: Scope, context: TurnContext) -> _Key:
    return str(scope.space), f"{scope.thread or ''} {context.turn_id}"
