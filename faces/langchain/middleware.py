"""`MemoryMiddleware` for `create_agent`: recall before the model, and learning behind the reply.

Nothing recalled enters the thread. What is recalled for a message is held in this process, so that each step of a tool
loop gets the same text. A failure of memory never fails a reply; a caller that does not say whose memory it is does."""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Annotated, Any, Literal, NotRequired, TypeAlias, TypeVar

from langchain.agents.middleware import AgentMiddleware, AgentState
from langchain.agents.middleware.types import ModelRequest, ModelResponse, PrivateStateAttr
from langchain_core.messages import AnyMessage
from langchain_core.runnables import RunnableConfig
from langgraph.config import get_config
from langgraph.runtime import Runtime

from muniment.faces.langchain.identity import resolve_caller
from muniment.faces.langchain.loop import get_memory_loop
from muniment.faces.langchain.placement import add_profile, add_recalled, find_last_user_message
from muniment.faces.langchain.profiles import ThreadProfiles
from muniment.faces.langchain.turns import list_recalled_texts, list_turn_messages, make_turns
from muniment.memory import codec
from muniment.memory.client import Memory
from muniment.memory.domain.ids import Revision
from muniment.memory.domain.plan import Receipt
from muniment.memory.domain.query import Brief
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import Turn
from muniment.memory.errors import BadInput, MunimentError
from muniment.nodes.entry import report_failure
from muniment.nodes.supervisor import find_seen_revision

_log = logging.getLogger(__name__)
_MAX_BRIEFS = 1_000  # messages whose recalled text is held
_MODES = ("on", "private", "off")

Mode: TypeAlias = Literal["on", "private", "off"]
Key: TypeAlias = tuple[str, str, str]  # space, thread and message
_Result = TypeVar("_Result")


class MemoryState(AgentState[Any]):
    """What the thread of an agent keeps beside its messages; no text of memory."""

    memory_mode: NotRequired[Mode]  # of the thread: private reads and writes nothing, off does neither
    memory_unwritten: NotRequired[Annotated[list[str], PrivateStateAttr]]  # ids of messages that memory could not take


class MemoryMiddleware(AgentMiddleware[MemoryState, Any, Any]):
    """Gives an agent long-term memory of the run's user.

    `agent` names the categories that are recalled, as `allowlists` of the settings and `open_memory(agents=…)` have
    them; `user` is the one of a program that has only one. Recall ends after `recall_seconds`, and recording after
    `record_seconds`: then the reply goes on without it, and the messages are recorded in the next turn."""

    state_schema = MemoryState

    def __init__(
        self,
        memory: Memory,
        agent: str = "supervisor",
        *,
        user: str | None = None,
        recall_seconds: float = 2.0,
        record_seconds: float = 5.0,
        name: str = "muniment_memory",
    ) -> None:
        super().__init__()
        self._memory, self._agent, self._user, self._name = memory, agent, user, name
        self._recall_seconds, self._record_seconds = recall_seconds, record_seconds
        self._loop = get_memory_loop(memory)
        self._briefs: OrderedDict[Key, Brief | None] = OrderedDict()
        self._profiles = ThreadProfiles()

    @property
    def name(self) -> str:
        """The name, of which an agent takes each once."""
        return self._name

    async def abefore_agent(self, state: MemoryState, runtime: Runtime[Any]) -> None:
        """Begin a turn. Raises BadInput where nobody says whose memory it is, and for an unknown mode."""
        self.before_agent(state, runtime)

    def before_agent(self, state: MemoryState, runtime: Runtime[Any]) -> None:
        """Begin a turn; the same for synchronous callers."""
        mode = state.get("memory_mode", "on")
        if mode not in _MODES:
            raise BadInput(f"memory_mode: allowed: {', '.join(_MODES)}")
        if mode != "off":
            self._briefs.pop(_make_key(self._resolve_scope(runtime), state["messages"]), None)

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]
    ) -> ModelResponse[Any]:
        """Call the model with the profile and with what is recalled for the user's last message."""
        if request.state.get("memory_mode") == "off":
            return await handler(request)
        scope = self._resolve_scope(request.runtime)
        return await handler(_place(request, await self._loop.run(lambda: self._recall(scope, request.messages))))

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any]:
        """Call the model with what is recalled; the same for synchronous callers."""
        if request.state.get("memory_mode") == "off":
            return handler(request)
        scope = self._resolve_scope(request.runtime)
        return handler(_place(request, self._loop.run_sync(lambda: self._recall(scope, request.messages))))

    async def aafter_agent(self, state: MemoryState, runtime: Runtime[Any]) -> dict[str, Any] | None:
        """Record the turn; what it says is learned behind the reply."""
        if state.get("memory_mode", "on") != "on":
            return None
        scope = self._resolve_scope(runtime)
        return await self._loop.run(lambda: self._record(scope, state))

    def after_agent(self, state: MemoryState, runtime: Runtime[Any]) -> dict[str, Any] | None:
        """Record the turn; the same for synchronous callers."""
        if state.get("memory_mode", "on") != "on":
            return None
        scope = self._resolve_scope(runtime)
        return self._loop.run_sync(lambda: self._record(scope, state))

    async def finish_learning(self) -> None:
        """Wait until this process has learned from the turns that are recorded. Closing the memory waits, too."""
        await self._loop.run(self._memory.engine.background_tasks.finish_all)

    def _resolve_scope(self, runtime: Runtime[Any]) -> Scope:
        try:
            config = get_config()
        except RuntimeError:  # a hook that is called by hand
            config = RunnableConfig()
        try:
            return resolve_caller(self._memory.engine.settings, config, runtime, user=self._user)
        except BadInput as error:
            raise BadInput(f"{self.name} cannot tell {error}") from None

    async def _recall(self, scope: Scope, messages: Sequence[AnyMessage]) -> Brief | None:
        """What goes before the model for the user's last message: once for the message, None where memory fails."""
        key = _make_key(scope, messages)
        if key not in self._briefs:
            place = find_last_user_message(messages)
            text = "" if place is None else str(messages[place].text)
            most = self._memory.engine.settings.limits.query_chars
            reading = self._memory.brief(scope, self._agent, text[:most])
            brief = await self._attempt(scope, "context", self._recall_seconds, reading)
            self._briefs[key] = brief and self._profiles.hold_profile(scope, brief, self._memory.now())
            while len(self._briefs) > _MAX_BRIEFS:
                self._briefs.popitem(last=False)
        return self._briefs.get(key)

    async def _record(self, scope: Scope, state: MemoryState) -> dict[str, Any] | None:
        """Append the turn to the ledger and begin to learn from it. Returns what the thread keeps of a failure."""
        brief = self._briefs.pop(_make_key(scope, state["messages"]), None)
        waiting = state.get("memory_unwritten", [])
        messages = list_turn_messages(state["messages"], waiting)
        texts = list_recalled_texts(brief, messages)
        recalled = self._memory.conversation.shingle_hashes(*texts)
        turns = make_turns(scope, self._memory, messages, recalled)
        record = self._memory.engine.turn_learning.record_turns(scope, turns)
        if await self._attempt(scope, "episodic", self._record_seconds, _confirm(record)) is None:
            return {"memory_unwritten": [str(message.id) for message in messages if message.id]}
        self._memory.engine.background_tasks.start(self._learn(scope, turns, brief))
        return {"memory_unwritten": []} if waiting else None

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


def _make_key(scope: Scope, messages: Sequence[AnyMessage]) -> Key:
    place = find_last_user_message(messages)
    return str(scope.space), scope.thread or "", "" if place is None else str(messages[place].id)


def _place(request: ModelRequest[Any], brief: Brief | None) -> ModelRequest[Any]:
    if brief is None:
        return request
    system = add_profile(request.system_message, brief.stable)
    return request.override(messages=add_recalled(request.messages, brief.moving), system_message=system)
