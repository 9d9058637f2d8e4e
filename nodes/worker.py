"""Last: hand over what can be done later. It never waits for it."""

from __future__ import annotations

from langchain_core.runnables import RunnableConfig
from langgraph.runtime import Runtime

from muniment.memory.client import Memory
from muniment.memory.config.settings import Settings
from muniment.memory.errors import MunimentError
from muniment.nodes import past, trouble
from muniment.nodes.state import State, Who, speaker


async def worker(
    state: State, runtime: Runtime[Who], config: RunnableConfig, *, memory: Memory, settings: Settings
) -> State:
    """Enqueue what a model should look at, write the buffered operational events."""
    who = speaker(state, runtime, config, settings.tenant)
    place = await past.go_on(state, runtime, config, written=True)
    if state.get("to_record"):
        return place  # memory was down a moment ago; nobody should wait for it once more
    try:
        await memory.flush(who)
        await memory.reflect_later(who)
    except MunimentError as error:
        # The reply is out; the events stay in their buffer, with this one.
        await trouble.note(memory, who, "worker", "create", error)
    return place
