"""A turn of the supervisor graph as it was, from its checkpoint or from the ledger, and the replies made of it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence, Set as AbstractSet
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langchain_core.tools import BaseTool
from langgraph.graph import END, START, StateGraph
from langgraph.prebuilt import ToolNode
from langgraph.pregel import Pregel
from langgraph.types import Command

from muniment.graph.checkpointer import open_thread_saver
from muniment.graph.replay.recorded_tools import RecordedTools, list_uses, parse_call
from muniment.graph.replay.replay_memory import ReplayMemory
from muniment.graph.replay.statements import keep_statements, list_changes, list_statements, name_memories
from muniment.graph.supervisor import build
from muniment.graph.threads.records import find_turn_checkpoint
from muniment.memory.client import Memory
from muniment.memory.domain.ids import MemoryId, Revision
from muniment.memory.domain.layers.bisection import ReplayedTurn, ShownStatement
from muniment.memory.domain.memory import STATES
from muniment.memory.domain.query import Brief, ListRequest
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import Turn
from muniment.memory.errors import BadInput, Denied, NotFound
from muniment.memory.payload import parse_agent_query
from muniment.memory.ports.llm import ChatModel
from muniment.nodes.chat_model import adapt_model
from muniment.nodes.prompts import build_supervisor_prompt
from muniment.nodes.state import State, Who
from muniment.nodes.subagents import Subagent, load_subagents, run_subagent
from muniment.nodes.supervisor import NAME, write_reply
from muniment.nodes.tools import QUERY_TOOL

_BEFORE, _AFTER = 100, 40  # turns of the session that are read before and after the position
# What the nodes of a turn add to its state, and what only those after the reply read.
_MADE_IN_TURN = frozenset(
    {"reports", "handoff", "handoffs", "tool_messages", "recalled", "confidence", "writes", "from_memory", "unmet"}
)


async def open_turn(
    memory: Memory,
    scope: Scope,
    position: int,
    *,
    model: ChatModel | BaseChatModel | None = None,
    instructions: str = "",
    subagents: Sequence[Subagent] | None = None,
    tools: Sequence[BaseTool | Callable[..., Any]] = (),
) -> SupervisorReplay:
    """Return the turn at a position of the scope's session, that of the message or of its reply, to be made again.

    `model`, `instructions`, `subagents` and `tools` are those of the graph, as `build` takes them; without a model it
    is the memory's own, and where there is none the reply is made from memory alone. No tool runs: a call has the
    result that it had in the turn, and a tool that the turn called and that is not given takes any arguments. Raises
    BadInput for a scope without a session and for a message that was no question to the model, NotFound, StoreError,
    Denied."""
    session = scope.session or scope.thread
    if session is None:
        raise BadInput("thread: is missing; name the thread of the turn")
    turns, message = await _read_turns(memory, scope, session, position)
    exchange = _cut_exchange(turns, message)
    state, is_kept, called = await _read_state(memory, scope, session, turns, message)
    rev = Revision(state["rev"] or 0)
    brief = await _make_brief(memory, scope, message, rev)
    if not is_kept and brief is not None:
        state |= State(stable=brief.stable, header=brief.header, bullets=[*brief.bullets], moving=brief.moving)
        state |= State(fresh=[*brief.bullets])
    state["relevance"] = brief.relevance if brief else 0.0  # which no checkpoint keeps
    memories = name_memories(state, brief)
    memories |= await _name_changes(memory, scope, list_changes(state), rev)
    found = await _find_by_tool(memory, scope, exchange, rev)
    shown = list_statements(state, memories)
    by_tool = [each for each in found if each.key not in {one.key for one in shown}]
    reply = next((each.text for each in reversed(exchange) if each.role == "assistant"), None)
    graph = _SupervisorNodes(
        memory=ReplayMemory(memory),
        scope=scope,
        model=adapt_model(memory.engine.model if model is None else model),
        instructions=instructions,
        subagents=subagents,
        tools=tools,
        recorded=RecordedTools(list_uses(called, exchange), memory.conversation.redact),
    )
    turn = ReplayedTurn(
        thread=session,
        position=message.position or 0,
        message=message.text,
        reply=reply,
        at=message.at,
        rev=rev,
        shown=(*shown, *by_tool),
        is_kept=is_kept,
        digest=graph.compute_digest(state),
    )
    return SupervisorReplay(turn, state, memories, graph)


async def _read_turns(memory: Memory, scope: Scope, session: str, position: int) -> tuple[list[Turn], Turn]:
    """The turns about a position of a session, and the message of its turn. Raises NotFound."""
    since = max(0, position - _BEFORE)
    record = await memory.sessions.get(scope, session, since=since, limit=position - since + _AFTER)
    # What was imported without a conversation has no position.
    turns = [each for each in record.turns if each.kind in ("message", "tool") and each.position is not None]
    message = next((each for each in reversed(turns) if (each.position or 0) <= position and each.role == "user"), None)
    if message is None or not any(each.position == position for each in turns):
        raise NotFound(
            f"no turn {position} with a message in the session {session!r}; `muniment sessions show` has its turns"
        )
    return turns, message


class SupervisorReplay:
    """A turn of the supervisor graph that can be made again. The nodes are those of the graph: the prompt, the tools
    and the subagents are the same, memory is read as of the revision of the turn, and nothing is written. No tool runs:
    a call has its recorded result.

    What the model finds by `memory_query` it finds among the statements that are kept. A search in conversations is not
    offered, as in any run in the past."""

    def __init__(
        self, turn: ReplayedTurn, state: State, memories: dict[str, MemoryId], graph: _SupervisorNodes
    ) -> None:
        self._turn, self._state, self._memories, self._nodes = turn, state, memories, graph
        self._graph = graph.compile()

    @property
    def turn(self) -> ReplayedTurn:
        """The turn as it was."""
        return self._turn

    async def make_reply(self, kept: AbstractSet[str], added: Sequence[ShownStatement] = ()) -> str:
        """Return the reply with the shown statements of these keys, and with `added` ones. Raises WentAnotherWay for a
        call of a tool that the turn did not make, ModelError, OverBudget, StoreError."""
        memory = self._nodes.memory
        self._nodes.recorded.begin_reply()
        visible = [each for each in self._turn.shown if each.key in kept]
        memory.visible = frozenset(each.memory for each in (*visible, *added) if each.memory is not None)
        memory.failures.clear()
        state = self._state | keep_statements(self._state, self._memories, kept, added)
        ended: Any = await self._graph.ainvoke(state, context=Who(user=self._nodes.scope.owner))
        if ended.get("from_memory") and memory.failures:
            raise memory.failures[-1]
        last = ended["messages"][-1] if ended["messages"] else None
        return str(last.text) if isinstance(last, AIMessage) else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class _SupervisorNodes:
    """The nodes of the graph that make a reply, over a memory that finds what is kept."""

    memory: ReplayMemory
    scope: Scope
    model: BaseChatModel | None
    instructions: str
    subagents: Sequence[Subagent] | None
    tools: Sequence[BaseTool | Callable[..., Any]]
    recorded: RecordedTools

    def compile(self) -> Pregel[Any, Who, Any, Any]:
        """Return the graph of the supervisor and its subagents, without what learns, records and saves."""
        settings = self.memory.engine.settings
        colleagues = self._list_colleagues()
        described = {each.name: each.description for each in colleagues}
        common: dict[str, Any] = {"scope": self.scope, "memory": self.memory, "settings": settings}
        graph = StateGraph(State, context_schema=Who)
        reply = partial(
            write_reply,
            **common,
            model=self.model,
            instructions=build_supervisor_prompt(self.instructions, described),
            colleagues=described,
            own=self.recorded.make_node(NAME, self.tools),
        )
        graph.add_node("supervisor", _bind(reply), destinations=(*described, "episodic"))
        graph.add_node("episodic", _end_turn)
        for each in colleagues:
            own = self.recorded.make_node(each.name, each.tools)
            agent: dict[str, Any] = {"model": adapt_model(each.model) or self.model, "subagent": each, "own": own}
            work = partial(run_subagent, **common, **agent)
            graph.add_node(each.name, _bind(work))
            graph.add_edge(each.name, "supervisor")
        graph.add_edge(START, "supervisor")
        graph.add_edge("episodic", END)
        return graph.compile()

    def compute_digest(self, state: State) -> str:
        """Return a digest of what decides a reply beside the statements: the model, the instructions, the thread, and
        the tools with their results."""
        name = (
            getattr(self.model, "model_name", None) or getattr(self.model, "model", None) or type(self.model).__name__
        )
        colleagues = [[each.name, each.instructions] for each in self._list_colleagues()]
        thread = [[message.type, str(message.text)] for message in state["messages"]]
        parts = [str(name), self.instructions, colleagues, thread, state.get("additions", [])]
        parts += [sorted(ToolNode(self.tools).tools_by_name) if self.tools else [], self.recorded.list_keys()]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()

    def _list_colleagues(self) -> Sequence[Subagent]:
        if self.subagents is not None:
            return self.subagents
        return [each for each in load_subagents() if each.name in self.memory.engine.settings.allowlists]


def _bind(step: Any) -> Any:
    """Return a node of a step, whose scope and parts are bound."""

    async def run(state: State) -> State | Command[str]:
        result: State | Command[str] = await step(state)
        return result

    return run


async def _end_turn(state: State) -> State:  # noqa: ARG001 - the name is part of LangGraph's type
    """Write nothing: the reply is all that is wanted."""
    return State()


async def _read_state(
    memory: Memory, scope: Scope, session: str, turns: Sequence[Turn], message: Turn
) -> tuple[State, bool, Sequence[AnyMessage]]:
    """Return the state of a turn before its reply, whether a checkpoint has it, and the calls of tools that this one
    has; else it is made of the ledger, with the revision of its time.

    Raises BadInput for a message that a command has answered."""
    settings = memory.engine.settings
    threads = [*dict.fromkeys([message.thread or session, session])]
    place = await find_turn_checkpoint(settings, scope.space, threads, message.at)
    values: dict[str, Any] = {}
    if place is not None:
        async with open_thread_saver(settings) as saver:
            graph = build(memory, None, settings).compile(checkpointer=saver)
            thread, checkpoint = place
            config = {"configurable": {"thread_id": thread, "checkpoint_id": checkpoint, "checkpoint_ns": ""}}
            values = (await graph.aget_state(config)).values  # type: ignore[arg-type] # a dict is a RunnableConfig
    if values.get("is_aside") or values.get("is_off") or values.get("refused"):
        raise BadInput("turn: no memory was put before a model: a command has answered it, or memory was off")
    if values.get("asked") and values.get("rev") is not None:
        kept: dict[str, Any] = {name: value for name, value in values.items() if name not in _MADE_IN_TURN}
        state = State(**kept)  # type: ignore[typeddict-item] # what a checkpoint kept of a state
        state |= _begin_again(kept["messages"], kept["asked"], kept["rev"])
        return state, True, values.get("tool_messages") or ()
    rev = await memory.replays.find_revision(scope, message.at)
    spoken = [each for each in turns if each.kind == "message" and (each.position or 0) <= (message.position or 0)]
    start = next((n for n in range(len(spoken), 0, -1) if spoken[n - 1].role == "assistant"), 0)
    asked = [str(each.id) for each in spoken[start:] if each.role == "user"]
    messages = [_make_message(each) for each in spoken if each.role in ("user", "assistant")]
    state = State(space=str(scope.space), at=message.at.isoformat()) | _begin_again(messages, asked, int(rev))
    return state, False, ()


def _begin_again(messages: Sequence[AnyMessage], asked: Sequence[str], rev: int) -> State:
    """Return what a turn begins with: the thread to its message, and the revision that it reads."""
    last = max((n for n, each in enumerate(messages) if each.id in asked), default=len(messages) - 1)
    return State(
        messages=[*messages[: last + 1]],
        asked=[*asked],
        rev=rev,
        as_of=rev,
        told_offline=True,
        handoffs=0,
        reports=[],
        tool_messages=[],
        recalled=[],
    )


def _make_message(turn: Turn) -> AnyMessage:
    kind = HumanMessage if turn.role == "user" else AIMessage
    return kind(turn.text, id=str(turn.id))


async def _make_brief(memory: Memory, scope: Scope, message: Turn, rev: Revision) -> Brief | None:
    """Return what memory gives for a message as of a revision; None where that was erased since."""
    try:
        return await memory.replays.brief(scope, NAME, message.text, as_of=rev)
    except BadInput:
        return None


async def _name_changes(memory: Memory, scope: Scope, changes: Sequence[str], rev: Revision) -> dict[str, MemoryId]:
    """Return the memories of the texts in a header of changes, by these; what two memories say has none."""
    found = dict[str, MemoryId]()
    for text in changes:
        listing = ListRequest(contains=text, states=STATES, limit=2, everywhere=True)
        page = await memory.list_page(scope, listing, as_of=rev)
        if len(page.memories) == 1:
            found[text] = page.memories[0].id
    return found


async def _find_by_tool(memory: Memory, scope: Scope, exchange: Sequence[Turn], rev: Revision) -> list[ShownStatement]:
    """Return what the calls of `memory_query` in a turn find, as of its revision."""
    settings, found = memory.engine.settings, dict[str, ShownStatement]()
    for turn in exchange:
        call = parse_call(turn)
        if call is None or call[0] != QUERY_TOOL:
            continue
        try:
            query = parse_agent_query(settings, NAME, call[1], threshold=0.0)
            answer = await memory.replays.query(scope, NAME, replace(query, as_of=rev))
        except (BadInput, Denied):  # a call that was refused then, too
            continue
        for hit in answer.hits:
            key, text = str(hit.memory.id), f"[{hit.memory.category}] {hit.memory.text}"
            found[key] = ShownStatement(key=key, text=text, part="tool", memory=hit.memory.id)
    return [*found.values()]


def _cut_exchange(turns: Sequence[Turn], message: Turn) -> Sequence[Turn]:
    """Return a message with all that follows until the next one."""
    start = next(place for place, each in enumerate(turns) if each.id == message.id)
    end = next((place for place in range(start + 1, len(turns)) if turns[place].role == "user"), len(turns))
    return turns[start:end]
