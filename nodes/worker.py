"""Last: hand over what can be done later. It never waits for it."""

from __future__ import annotations

from langchain_core.runnables import RunnableConfig
from langgraph.runtime import Runtime

from muniment.memory.client import Memory
from muniment.memory.config.settings import Settings
from muniment.memory.errors import MunimentError
from muniment.nodes import failures, time_travel
from muniment.nodes.state import State, Who, resolve_speaker


async def enqueue_jobs(
    state: State, runtime: Runtime[Who], config: RunnableConfig, *, memory: Memory, settings: Settings
) -> State:
    """Enqueue what a model should look at, write the buffered operational events."""
    scope = resolve_speaker(state, runtime, config, settings.tenant)
    place = await time_travel.continue_turn(state, runtime, config, has_writes=True)
    if state.get("to_record"):
        return place  # memory was down a moment ago; nobody should wait for it once more
    try:
        await memory.flush(scope)
        await memory.schedule_reflection(scope)
    except MunimentError as error:
        # The reply is out; the events stay in their buffer, with this one.
        await failures.report_failure(memory, scope, "worker", "create", error)
    return place
