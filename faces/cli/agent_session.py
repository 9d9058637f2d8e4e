"""A conversation with the graph `hybrid`: open, say, close."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AsyncExitStack, suppress
from typing import Any, cast

from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.pregel import Pregel

from muniment.agent.transcript import PREFIX
from muniment.graph.checkpointer import open_thread_saver
from muniment.graph.hybrid.runtime import AgentRuntime
from muniment.graph.turn import make_thread_key
from muniment.memory.config.settings import Settings
from muniment.memory.domain.scope import Scope
from muniment.memory.errors import StoreError
from muniment.nodes.state import Input, Who


class AgentSession:
    """One session of an agent. `start` it, `send_message` what is typed, `close` it, all in the same event loop."""

    def __init__(self, runtime: AgentRuntime, settings: Settings, session: str) -> None:
        self.settings, self.session = settings, session
        self._runtime = runtime
        self._exit_stack = AsyncExitStack()
        self._graph: Pregel[Any, Who, Any, Any]
        owner = Scope(tenant=settings.tenant, owner=runtime.host.user)
        self._run_context = Who(user=owner.owner, tenant=owner.tenant, thread=session)
        # A chat of the same name has another thread.
        key = make_thread_key(owner.space, f"{PREFIX}{session}")
        self._config = RunnableConfig(configurable={"thread_id": key})

    async def start(self) -> None:
        """Open everything. Raises BadConfig, StoreDown."""
        runtime = await self._exit_stack.enter_async_context(self._runtime)
        saver = await self._exit_stack.enter_async_context(open_thread_saver(self.settings))
        self._graph = runtime.build_graph().compile(checkpointer=saver)

    async def send_message(self, text: str, on_text: Callable[[str], None] | None = None) -> str:
        """One run: the text of the answer. `on_text` is called with parts of the answer as the model writes them.

        Raises ModelError, StoreError, BadInput."""
        # Opening memory starts an embedded server that has ended, which the checkpoints cannot do.
        with suppress(StoreError):
            await self._runtime.memory.open()
        run = self._graph.astream(
            Input(messages=[HumanMessage(text)]),
            self._config,
            context=self._run_context,
            durability=self.settings.checkpoints.durability,
            stream_mode=["messages", "values"],
        )
        state: dict[str, Any] = {}
        async for event in run:
            kind, part = cast("tuple[str, Any]", event)  # with several modes it is a pair, whatever the types say
            if kind == "values":
                state = part
            elif on_text is not None and isinstance(part[0], AIMessageChunk) and (new := str(part[0].text)):
                on_text(new)
        last = state["messages"][-1] if state.get("messages") else None
        return str(last.text) if isinstance(last, AIMessage) else ""

    async def close(self) -> None:
        """Close what `start` has opened."""
        await self._exit_stack.aclose()
