"""For callers of the graph: the key of a thread, and the end of a turn that was cut short."""

from __future__ import annotations

from typing import Any
from uuid import uuid5

from langchain_core.runnables import RunnableConfig
from langgraph.pregel import Pregel

from muniment.memory.domain.ids import SpaceId
from muniment.nodes.state import Who


def make_thread_key(space: SpaceId, thread: str) -> str:
    """The checkpointer's key of an owner's thread: two owners may both have a thread called `main`."""
    return str(uuid5(space, thread))


async def finish_turn(graph: Pregel[Any, Who, Any, Any], config: RunnableConfig, context: Who | None = None) -> bool:
    """Finish the thread's last turn if it was interrupted; whether there was one to finish.

    Nothing is done twice: learning and recording the same turn again changes nothing."""
    if not (await graph.aget_state(config)).next:
        return False
    await graph.ainvoke(None, config, context=context)
    return True
