"""Removal for good of what memory holds and of the checkpoints that hold it: a thread goes as a whole."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from typing import TYPE_CHECKING, Any, LiteralString

from langchain_core.messages import BaseMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver

from muniment.graph.janitor import delete_threads, list_space_threads
from muniment.graph.turn import make_thread_key
from muniment.memory.client import Memory
from muniment.memory.domain.erasure import ErasureReceipt, Traces
from muniment.memory.domain.ids import MemoryId, SpaceId
from muniment.memory.domain.scope import Scope

if TYPE_CHECKING:
    from muniment.graph.saver import PooledSaver

# The saver's blobs contain texts as they are.
_FIND_HOLDING_THREADS: LiteralString = """
with said as (select convert_to(text, 'UTF8') as bytes, text from unnest(%(texts)s::text[]) text)
select thread_id from checkpoint_blobs b where thread_id = any(%(threads)s)
  and exists (select from said where position(said.bytes in b.blob) > 0)
union
select thread_id from checkpoint_writes w where thread_id = any(%(threads)s)
  and exists (select from said where position(said.bytes in w.blob) > 0)
union
select thread_id from checkpoints c where thread_id = any(%(threads)s) and exists (
  select from said where position(btrim(to_jsonb(said.text)::text, '"') in c.checkpoint::text || c.metadata::text) > 0)
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ErasureResult:
    """What was removed: memory's receipt, and rows of the savers' tables by their names."""

    receipt: ErasureReceipt
    checkpoints: dict[str, int]


async def erase_with_checkpoints(
    memory: Memory,
    savers: Sequence[PooledSaver],
    scope: Scope,
    memory_id: MemoryId | None = None,
    traces: Traces | None = None,
) -> ErasureResult:
    """Remove a memory for good, or for None all of a space, and the threads that hold it from each saver.

    `traces` are those of `find_traces`, where the caller has them. The checkpoints are removed first: an interrupted
    erasure finds them again while the memory is there. Raises NotFound, Conflict, StoreDown."""
    traces = traces or await memory.admin.find_traces(scope, memory_id)
    counts: dict[str, int] = {}
    for saver in savers:
        if memory_id is None:
            threads = [
                *(make_thread_key(scope.space, thread) for thread in traces.threads),
                *await list_space_threads(saver, scope.space),
            ]
        else:
            texts = (*traces.texts, *traces.derived)
            threads = await find_holding_threads(
                saver, scope.space, traces.threads, texts, lambda text: memory.admin.mentions(traces, text)
            )
        for table, count in (await delete_threads(saver, threads)).items():
            counts[table] = counts.get(table, 0) + count
    receipt = await (memory.admin.erase_space(scope) if memory_id is None else memory.admin.erase(scope, memory_id))
    return ErasureResult(receipt=receipt, checkpoints={name: count for name, count in counts.items() if count})


async def find_holding_threads(
    saver: PooledSaver,
    space: SpaceId,
    threads: Collection[str],
    texts: Sequence[str] = (),
    is_said_in: Callable[[str], bool] | None = None,
) -> list[str]:
    """The checkpointer's keys of the space's threads that `threads` names, that contain one of the texts, or whose last
    state has a text for which `is_said_in` is true. Raises StoreDown."""
    own = await list_space_threads(saver, space)
    holding = {make_thread_key(space, thread) for thread in threads} | (set(own) & set(threads))
    async with saver.cursor() as cursor:
        await cursor.execute(_FIND_HOLDING_THREADS, {"threads": own, "texts": list(texts)})
        holding |= {str(row["thread_id"]) for row in await cursor.fetchall()}
    for thread in own if is_said_in else ():
        if thread not in holding and any(map(is_said_in or bool, await _read_last_texts(saver, thread))):
            holding.add(thread)
    return sorted(holding)


async def _read_last_texts(saver: PooledSaver, thread: str) -> list[str]:
    """The texts of a thread's last state, each once."""
    config = RunnableConfig(configurable={"thread_id": thread, "checkpoint_ns": ""})
    saved = await saver.aget_tuple(config)
    if saved is None:
        return []
    # The official method: it returns what is left of a thread that cannot be read in full.
    deltas = await AsyncPostgresSaver.aget_delta_channel_history(
        saver, config=saved.config, channels=[*saved.metadata.get("counters_since_delta_snapshot", {})]
    )
    values = (saved.checkpoint["channel_values"], saved.pending_writes, *deltas.values())
    return list(dict.fromkeys(_list_texts(values)))


def _list_texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, BaseMessage):
        yield from _list_texts(value.model_dump())
    elif isinstance(value, Mapping):
        yield from (text for item in value.values() for text in _list_texts(item))
    elif isinstance(value, list | tuple | set | frozenset):
        yield from (text for item in value for text in _list_texts(item))
    elif is_dataclass(value):
        yield from (text for field in fields(value) for text in _list_texts(getattr(value, field.name)))
