"""A conversation with the supervisor graph: open, say, close."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AsyncExitStack, suppress
from typing import Any, cast

from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.pregel import Pregel

from muniment.chain.host import Host
from muniment.graph.checkpointer import open_thread_saver
from muniment.graph.janitor import run_janitor
from muniment.graph.supervisor import build
from muniment.graph.threads.commands import ThreadCommands
from muniment.graph.turn import finish_turn, make_thread_key
from muniment.memory import bootstrap
from muniment.memory.client import Memory
from muniment.memory.config.settings import Settings
from muniment.memory.domain.scope import Scope
from muniment.memory.errors import StoreError
from muniment.nodes.state import Input, State, Who


class ChatSession:
    """One thread of one user. `start` it, `say` what is typed, `close` it, all in the same event loop.

    While that loop runs, a worker does the background jobs, when a model is configured, and checkpoints are pruned."""

    def __init__(self, settings: Settings, scope: Scope) -> None:
        self.settings = settings
        self.scope = scope
        self._run_context = Who(user=scope.owner, tenant=scope.tenant, thread=scope.thread)
        key = make_thread_key(scope.space, scope.thread or "")
        self._config = RunnableConfig(configurable={"thread_id": key})
        self._exit_stack = AsyncExitStack()
        self._graph: Pregel[Any, Who, Any, Any]
        self._memory: Memory
        self._has_model = False

    @property
    def memory(self) -> Memory:
        """The memory of this chat, once it has started."""
        return self._memory

    async def start(self) -> dict[str, Any] | None:
        """Open everything and finish a turn that was cut short. Returns that turn, None without one.

        Raises BadConfig, StoreDown."""
        memory = self._memory = await self._exit_stack.enter_async_context(bootstrap.create_memory(self.settings))
        self.settings = memory.engine.settings  # which follow what an operator changes
        saver = await self._exit_stack.enter_async_context(open_thread_saver(self.settings))
        model = memory.engine.model
        self._has_model = model is not None
        if model is not None:
            # Jobs that need no model can wait until the chat is over.
            await self._exit_stack.enter_async_context(bootstrap.run_worker(self.settings, memory))
        await self._exit_stack.enter_async_context(run_janitor(saver, self.settings))
        host = None
        if self.settings.plugin.enabled:
            host = await self._exit_stack.enter_async_context(Host([ThreadCommands(memory)]))
        self._graph = build(memory, model, self.settings, host=host).compile(checkpointer=saver)
        if not await finish_turn(self._graph, self._config, self._run_context):
            return None
        return _turn_to_json((await self._graph.aget_state(self._config)).values)

    async def send_message(self, text: str, on_reply: Callable[[dict[str, Any]], None] | None = None) -> dict[str, Any]:
        """One turn: `reply, rev, header, context, writes`, and `warnings`, sentences on what did not work.

        `on_reply` is called with the turn as it is when a model's reply is there, before it is recorded. Without a
        model there is nothing to wait for, and the reply says at once what was noted."""
        # Opening memory starts an embedded server that has ended, which the checkpoints cannot do.
        with suppress(StoreError):
            await self._memory.open()
        graph_input, state = Input(messages=[HumanMessage(text)]), State()
        turn = self._graph.astream(
            graph_input,
            self._config,
            context=self._run_context,
            durability=self.settings.checkpoints.durability,
            stream_mode=["values", "updates"],
        )
        async for event in turn:
            kind, part = cast("tuple[str, Any]", event)  # with several modes it is a pair, whatever the types say
            if kind == "values":
                state = part
            elif on_reply is not None and self._has_model and (reply := (part.get("supervisor") or {}).get("messages")):
                on_reply(_turn_to_json(state | {"messages": reply}))
        return _turn_to_json(state)

    async def close(self) -> None:
        """Close what `start` has opened."""
        await self._exit_stack.aclose()


def _turn_to_json(state: State | dict[str, Any]) -> dict[str, Any]:
    lasting = [line.removeprefix("- ") for line in state.get("stable", "").splitlines()]
    last = state["messages"][-1] if state["messages"] else None
    return {
        "reply": str(last.text) if isinstance(last, AIMessage) else "",
        "rev": state.get("rev"),
        "header": state.get("header", ""),
        "context": [*lasting, *state.get("bullets", [])],
        "writes": state.get("writes", []),
        "warnings": [warning for warning in (state.get("unread", ""), state.get("unwritten", "")) if warning],
    }
