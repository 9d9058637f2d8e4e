"""`ChainMiddleware` for `create_agent`: the hooks of a chain around the runs of an agent.

A turn is prepared once, so that each step of a tool loop gets the same additions in the same places; none of them
enters the thread. What a middleware has answered itself stays in the thread, and no model is shown it."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, TypeAlias

from langchain.agents.middleware import AgentMiddleware, hook_config
from langchain.agents.middleware.types import ModelRequest, ModelResponse, ToolCallRequest
from langchain_core.messages import AnyMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langgraph.config import get_config
from langgraph.errors import GraphBubbleUp
from langgraph.runtime import Runtime
from langgraph.types import Command

from muniment.chain.host import Host
from muniment.chain.outcome import build_end, build_reply
from muniment.chain.sync import SyncHost
from muniment.chain.values import TurnContext, TurnOutput
from muniment.faces.langchain.host_door import HostDoor
from muniment.faces.langchain.identity import resolve_scope_of_run
from muniment.faces.langchain.loop import MemoryLoop
from muniment.faces.langchain.placement import LastingText, describe_lasting, find_last_user_message, place_texts
from muniment.faces.langchain.run import Run, make_context, make_output, make_reply, make_tool_output, set_run
from muniment.memory.domain.scope import Scope
from muniment.memory.errors import BadInput
from muniment.nodes.chain.messages import convert_messages, list_shown, mark_aside

_MOST_TURNS = 1_000  # that are held
_Thread: TypeAlias = tuple[str, str, str]  # tenant, user and thread or run
_Result: TypeAlias = ToolMessage | Command[Any]
Step: TypeAlias = Callable[[Any], Any]


@dataclass(slots=True)
class _Held:
    turn: TurnContext
    error: BaseException | None = None  # of the last call of the model; another middleware may try again


class ChainMiddleware(AgentMiddleware[Any, Any, Any]):
    """Runs the middlewares of a host around an agent of LangChain: the door between the two.

    Whose turn it is says the run: its context, its config, or the login of LangGraph's server. `user` is the one of a
    program that has only one, `tenant` that of runs that name none, and `agent` says which agent it is. The host is
    closed by whoever opened it. A program without asyncio gives a `SyncHost`."""

    def __init__(
        self,
        host: Host | SyncHost,
        *,
        user: str | None = None,
        tenant: str = "default",
        agent: str | None = None,
        name: str = "muniment_chain",
        loop: MemoryLoop | None = None,
        now: Callable[[], datetime] | None = None,
    ) -> None:
        super().__init__()
        self.door = HostDoor(host, loop)
        self._user, self._tenant, self._agent, self._name = user, tenant, agent, name
        self._now = now or _read_clock
        self._turns: OrderedDict[_Thread, _Held] = OrderedDict()
        self._lasting = LastingText()

    @property
    def name(self) -> str:
        """The name, of which an agent takes each once."""
        return self._name

    @hook_config(can_jump_to=["end"])
    async def abefore_agent(self, state: Any, runtime: Runtime[Any]) -> dict[str, Any] | None:
        """Begin a turn, which may be answered here. Raises BadInput where nobody says whose turn it is."""
        if not self.may_read(state):
            return None
        turn = self._begin_turn(state, runtime)
        await self.door.call_host(self._end_left_over(turn))
        return self._hold_turn(await self.door.call_host(lambda host: host.prepare(turn)), state)

    @hook_config(can_jump_to=["end"])
    def before_agent(self, state: Any, runtime: Runtime[Any]) -> dict[str, Any] | None:
        """Begin a turn; the same for synchronous callers."""
        if not self.may_read(state):
            return None
        turn = self._begin_turn(state, runtime)
        self.door.call_host_sync(self._end_left_over(turn))
        return self._hold_turn(self.door.call_host_sync(lambda host: host.prepare(turn)), state)

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]
    ) -> ModelResponse[Any]:
        """Call the model with the additions of the turn."""
        self._lasting = describe_lasting(request, self._lasting)
        request = request.override(messages=list_shown(request.messages))
        if not self.may_read(request.state):
            return await handler(request)
        begun = self._begin_turn(request.state, request.runtime)
        if (held := self._find_turn(begun)) is None:  # of a run that goes on in another process
            self._hold_turn(await self.door.call_host(lambda host: host.prepare(begun)), request.state)
            held = self._turns[_make_key(begun)]
        try:
            response = await handler(place_texts(request, held.turn.additions))
        except BaseException as error:
            held.error = error
            raise
        held.error = None
        return response

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any]:
        """Call the model with the additions of the turn; the same for synchronous callers."""
        self._lasting = describe_lasting(request, self._lasting)
        request = request.override(messages=list_shown(request.messages))
        if not self.may_read(request.state):
            return handler(request)
        begun = self._begin_turn(request.state, request.runtime)
        if (held := self._find_turn(begun)) is None:
            self._hold_turn(self.door.call_host_sync(lambda host: host.prepare(begun)), request.state)
            held = self._turns[_make_key(begun)]
        try:
            response = handler(place_texts(request, held.turn.additions))
        except BaseException as error:
            held.error = error
            raise
        held.error = None
        return response

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[_Result]]
    ) -> _Result:
        """Call a tool, and tell the chain what it gave before the model is told."""
        try:
            result = await handler(request)
        except GraphBubbleUp:  # the run waits for a person: nothing has failed
            raise
        except Exception as error:
            await self.door.call_host(self._report_tool(request, error))
            raise
        await self.door.call_host(self._report_tool(request, result))
        return result

    def wrap_tool_call(self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], _Result]) -> _Result:
        """Call a tool; the same for synchronous callers."""
        try:
            result = handler(request)
        except GraphBubbleUp:
            raise
        except Exception as error:
            self.door.call_host_sync(self._report_tool(request, error))
            raise
        self.door.call_host_sync(self._report_tool(request, result))
        return result

    async def aafter_agent(self, state: Any, runtime: Runtime[Any]) -> dict[str, Any] | None:
        """End a turn. What is done behind the reply begins."""
        if not self.may_write(state):
            return None
        update: dict[str, Any] | None = await self.door.call_host(self.make_ending(*self._end_turn(state, runtime)))
        return update

    def after_agent(self, state: Any, runtime: Runtime[Any]) -> dict[str, Any] | None:
        """End a turn; the same for synchronous callers."""
        if not self.may_write(state):
            return None
        update: dict[str, Any] | None = self.door.call_host_sync(self.make_ending(*self._end_turn(state, runtime)))
        return update

    def compose_beside(self, state: Any, runtime: Runtime[Any]) -> str:
        """Return all that goes before the model beside the messages of a thread, as one text, to be counted: the
        additions of the turn, and the system prompt and the tools as the last call of the model had them."""
        if not self.may_read(state):
            return self._lasting.text
        held = self._find_turn(self._begin_turn(state, runtime))
        added = [addition.text for addition in held.turn.additions] if held else []
        return "\n\n".join([self._lasting.text, *added])

    async def acompact_thread(self, state: Any, runtime: Runtime[Any], leaving: Sequence[AnyMessage]) -> bool:
        """Return whether messages may leave the thread: False where a middleware failed or was late."""
        if not self.may_write(state):
            return True
        return bool(await self.door.call_host(self._make_compaction(state, runtime, leaving)))

    def compact_thread(self, state: Any, runtime: Runtime[Any], leaving: Sequence[AnyMessage]) -> bool:
        """Return whether messages may leave; the same for synchronous callers."""
        if not self.may_write(state):
            return True
        return bool(self.door.call_host_sync(self._make_compaction(state, runtime, leaving)))

    def may_read(self, state: Mapping[str, Any]) -> bool:
        """Whether the chain sees the turns of a thread at all."""
        del state
        return True

    def may_write(self, state: Mapping[str, Any]) -> bool:
        """Whether the chain sees what a turn has become, and what leaves the thread."""
        return self.may_read(state)

    def make_ending(self, context: TurnContext, output: TurnOutput) -> Step:
        """Return what ends a turn on the loop of its host, and gives what the thread is to keep of it."""
        return lambda host: host.finish(context, output)

    def resolve_scope(self, runtime: Runtime[Any] | None) -> Scope:
        """Return whose turn it is. Raises BadInput where nobody says so."""
        try:
            config = get_config()
        except RuntimeError:  # a hook that is called by hand
            config = RunnableConfig()
        try:
            return resolve_scope_of_run(self._tenant, config, runtime, user=self._user)
        except BadInput as error:
            raise BadInput(f"{self.name} cannot tell {error}") from None

    def _begin_turn(self, state: Any, runtime: Runtime[Any] | None) -> TurnContext:
        messages = list_shown(state["messages"])
        run = Run(scope=self.resolve_scope(runtime), messages=messages, state=state)
        return make_context(run, self._now(), self._agent)

    def _hold_turn(self, turn: TurnContext, state: Any) -> dict[str, Any] | None:
        key = _make_key(turn)
        self._turns.pop(key, None)
        self._turns[key] = _Held(turn)
        while len(self._turns) > _MOST_TURNS:
            self._turns.popitem(last=False)
        if turn.reply is None:
            return None
        place = find_last_user_message(state["messages"])
        own = [] if place is None else [mark_aside(state["messages"][place])]
        return {"messages": [*own, mark_aside(make_reply(turn.reply, self.name))], "jump_to": "end"}

    def _find_turn(self, begun: TurnContext) -> _Held | None:
        """The turn that is under way in a thread, also where a summary has taken the place of its message."""
        held = self._turns.get(_make_key(begun))
        has_message = any(message.role == "user" for message in begun.messages)
        return held if held and (held.turn.turn_id == begun.turn_id or not has_message) else None

    def _end_left_over(self, turn: TurnContext) -> Step:
        """What ends the last turn of the thread, which an error has cut short."""
        held = self._turns.pop(_make_key(turn), None)
        if held is None or held.error is None:
            return lambda _: None
        end = build_end(held.error, self._now())
        return lambda host: host.finish(held.turn, end)

    def _end_turn(self, state: Any, runtime: Runtime[Any]) -> tuple[TurnContext, TurnOutput]:
        begun = self._begin_turn(state, runtime)
        held = self._turns.pop(_make_key(begun), None)
        turn = begun if held is None else held.turn
        run = Run(scope=self.resolve_scope(runtime), messages=state["messages"], state=state)
        output = build_reply(turn, self._now()) or make_output(state["messages"], self._now())
        return replace(turn, attributes=set_run(turn, run)), output

    def _report_tool(self, request: ToolCallRequest, result: object) -> Step:
        output = make_tool_output(request.tool_call, result, self._now())
        if output is None or not self.may_write(request.state):
            return lambda _: None
        begun = self._begin_turn(request.state, None)
        held = self._find_turn(begun)
        turn = begun if held is None else held.turn
        return lambda host: host.report_tool(turn, output)

    def _make_compaction(self, state: Any, runtime: Runtime[Any], leaving: Sequence[AnyMessage]) -> Step:
        begun = self._begin_turn(state, runtime)
        held = self._find_turn(begun)
        turn = begun if held is None else held.turn
        shown = list_shown(leaving)
        run = Run(scope=self.resolve_scope(runtime), messages=state["messages"], state=state)
        turn = replace(turn, attributes=set_run(turn, run))
        return lambda host: host.compact(turn, convert_messages(shown))


def _make_key(turn: TurnContext) -> _Thread:
    identity = turn.identity
    return identity.tenant, identity.user, identity.session


def _read_clock() -> datetime:
    return datetime.now(UTC)
