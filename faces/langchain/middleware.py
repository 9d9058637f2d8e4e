"""`MemoryMiddleware` for `create_agent`: recall before the model, and learning behind the reply.

It is a chain with one middleware, the engine's memory. Nothing recalled enters the thread. A failure of memory never
fails a reply; a caller that does not say whose memory it is does."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, NotRequired, TypeAlias

from langchain.agents.middleware import AgentState
from langchain.agents.middleware.types import PrivateStateAttr

from muniment.chain.host import Host
from muniment.chain.values import TurnContext, TurnOutput
from muniment.faces.langchain.chain import ChainMiddleware, Step
from muniment.faces.langchain.engine_memory import EngineMemory
from muniment.faces.langchain.loop import get_memory_loop
from muniment.faces.langchain.run import get_run
from muniment.memory.client import Memory
from muniment.memory.errors import BadInput

_MODES = ("on", "private", "off")
_SLACK_SECONDS = 1.0  # of the host beside the limits of the memory, which are told apart in the log

Mode: TypeAlias = Literal["on", "private", "off"]


class MemoryState(AgentState[Any]):
    """What the thread of an agent keeps beside its messages; no text of memory."""

    memory_mode: NotRequired[Mode]  # of the thread: private reads and writes nothing, off does neither
    memory_unwritten: NotRequired[Annotated[list[str], PrivateStateAttr]]  # ids of messages that memory could not take


class MemoryMiddleware(ChainMiddleware):
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
        self._memory = memory
        self._engine_memory = EngineMemory(memory, agent, recall_seconds, record_seconds)
        self._host = Host(
            [self._engine_memory],
            before_seconds=recall_seconds + _SLACK_SECONDS,
            after_seconds=record_seconds + _SLACK_SECONDS,
        )
        super().__init__(
            self._host,
            user=user,
            tenant=memory.engine.settings.tenant,
            agent=agent,
            name=name,
            loop=get_memory_loop(memory),
            now=memory.now,
        )

    def may_read(self, state: Mapping[str, Any]) -> bool:
        """Whether the thread reads memory. Raises BadInput for an unknown mode."""
        return _read_mode(state) != "off"

    def may_write(self, state: Mapping[str, Any]) -> bool:
        """Whether the thread writes memory."""
        return _read_mode(state) == "on"

    def make_ending(self, context: TurnContext, output: TurnOutput) -> Step:
        """Return what ends a turn, and waits until it is in the ledger; what it says is learned behind the reply."""

        async def end(host: Host) -> dict[str, Any] | None:
            is_recorded = await self._engine_memory.wait_recorded(context, lambda: host.finish(context, output))
            if not is_recorded:
                unwritten = self._engine_memory.list_unwritten(context)
                return {"memory_unwritten": [str(message.id) for message in unwritten if message.id]}
            run = get_run(context)
            is_answered = context.reply is not None  # then what waits still waits
            return {"memory_unwritten": []} if run and run.state.get("memory_unwritten") and not is_answered else None

        return end

    async def finish_learning(self) -> None:
        """Wait until this process has learned from the turns that are recorded. Closing the memory waits, too."""
        await self.door.call_host(lambda _: self._memory.engine.background_tasks.finish_all())


def _read_mode(state: Mapping[str, Any]) -> Mode:
    mode: Mode = state.get("memory_mode", "on")
    if mode not in _MODES:
        raise BadInput(f"memory_mode: allowed: {', '.join(_MODES)}")
    return mode
