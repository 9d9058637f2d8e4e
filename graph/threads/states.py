"""The last state of each thread of a space, as JSON: what its checkpoints hold of a person."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from langchain_core.messages import BaseMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver

from muniment.graph.checkpointer import open_existing_tables, open_savers
from muniment.graph.janitor import list_space_threads
from muniment.graph.redaction import Redact
from muniment.graph.saver import PooledSaver
from muniment.memory.config.settings import Settings
from muniment.memory.domain.ids import SpaceId


async def stream_thread_states(settings: Settings, space: SpaceId, redact: Redact) -> AsyncIterator[bytes]:
    """Yield the last state of each thread of a space, one line of JSON each, from all databases that have some.

    Nothing is created where there are no checkpoints. The memory of these settings has to be open. Raises BadConfig,
    StoreDown, Denied."""
    async with open_existing_tables(settings) as found:
        has_threads = found is not None
    if not has_threads:
        return
    async with open_savers(settings, redact) as savers:
        for saver in savers:
            for thread in await list_space_threads(saver, space):
                state = await _read_state(saver, thread)
                if state is not None:
                    yield json.dumps(state, ensure_ascii=False).encode() + b"\n"


async def _read_state(saver: PooledSaver, thread: str) -> dict[str, Any] | None:
    config = RunnableConfig(configurable={"thread_id": thread, "checkpoint_ns": ""})
    saved = await saver.aget_tuple(config)
    if saved is None:
        return None
    # The official method: it returns what is left of a thread that cannot be read in full.
    deltas = await AsyncPostgresSaver.aget_delta_channel_history(
        saver, config=saved.config, channels=[*saved.metadata.get("counters_since_delta_snapshot", {})]
    )
    return {
        "thread": thread,
        "checkpoint": saved.checkpoint["id"],
        "at": saved.checkpoint["ts"],
        "values": _to_json(saved.checkpoint["channel_values"]),
        "writes": _to_json(saved.pending_writes or []),
        "deltas": _to_json(deltas),
    }


def _to_json(value: Any) -> Any:
    """Return a value of a channel as JSON; of an object that has none, the name of its type."""
    if value is None or isinstance(value, str | int | float | bool):
        return value
    if isinstance(value, BaseMessage):
        return value.model_dump(mode="json")
    if isinstance(value, Mapping):
        return {str(key): _to_json(each) for key, each in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_to_json(each) for each in value]
    if is_dataclass(value) and not isinstance(value, type):
        return {each.name: _to_json(getattr(value, each.name)) for each in fields(value)}
    return str(value) if type(value).__module__ in ("uuid", "datetime") else f"({type(value).__name__})"
