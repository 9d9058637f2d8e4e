"""Threads from another saver: copied checkpoint by checkpoint, each read again and compared."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple
from langgraph.checkpoint.memory import InMemorySaver

from muniment.graph.checkpointer import PooledSaver
from muniment.memory.errors import CopyDiffers

Saver: TypeAlias = BaseCheckpointSaver[Any]
Told: TypeAlias = Callable[[int], None]
_NOT_KEPT = "writes"  # of the metadata: LangGraph itself has stopped to save them


@dataclass(frozen=True, slots=True, kw_only=True)
class Copied:
    """What became of the source's threads: checkpoints that were copied, with their writes, and that were there already."""

    threads: int = 0
    checkpoints: int = 0
    writes: int = 0
    there: int = 0


async def migrate(source: Saver, target: Saver, told: Told | None = None) -> Copied:
    """Copy every thread with all its checkpoints, in order, with parents and what was written on the way; what the target
    takes out of texts (secrets) is not held against it. `told` hears of each checkpoint.

    What is there already stays as it is, so that it can be done again after an interruption. Raises CopyDiffers, which names
    the thread and the checkpoint, for one that does not read as in the source, or that is there with another content."""
    places = [(one.config["configurable"], one.checkpoint["id"]) async for one in source.alist(None)]
    known = {id_ for _, id_ in places}
    checkpoints = writes = there = 0
    for where, id_ in sorted(places, key=lambda one: (str(one[0]["thread_id"]), one[1])):
        config = _config(where["thread_id"], where.get("checkpoint_ns", ""), id_)
        saved = await source.aget_tuple(config)
        if saved is None:  # gone since it was listed
            continue
        if _parent(saved) not in known:
            saved = saved._replace(parent_config=None)  # gone before: pruned by whoever had it
        if await _is_there(target, saved):
            there += 1
        else:
            await _copy(source, saved, target)
            checkpoints, writes = checkpoints + 1, writes + len(saved.pending_writes or ())
        if told is not None:
            told(1)
    threads = len({str(where["thread_id"]) for where, _ in places})
    return Copied(threads=threads, checkpoints=checkpoints, writes=writes, there=there)


async def _is_there(target: Saver, saved: CheckpointTuple) -> bool:
    """Whether nothing is missing. A thread that has gone on since, or was pruned, has more writes or no parent."""
    found = await target.aget_tuple(_own(saved))
    if found is None:
        return False
    if differing := _differences(target, saved, found):
        raise _differs(saved, differing)
    had = _writes(target, found.pending_writes, stored=True)
    return all(one in had for one in _writes(target, saved.pending_writes))


async def _copy(source: Saver, saved: CheckpointTuple, target: Saver) -> None:
    own = _own(saved)
    thread, ns = own["configurable"]["thread_id"], own["configurable"]["checkpoint_ns"]
    parent = saved.parent_config["configurable"]["checkpoint_id"] if saved.parent_config else None
    # Every value of a checkpoint, not only the new ones: the target knows which it has.
    versions = saved.checkpoint["channel_versions"]
    try:
        await target.aput(_config(thread, ns, parent), saved.checkpoint, saved.metadata, versions)
        for task, path, written in _by_task(source, saved):
            await target.aput_writes(own, written, task, path)
    except (TypeError, ValueError):
        raise _differs(saved, ["what the target cannot store"]) from None
    found = await target.aget_tuple(own)
    if found is None:
        raise _differs(saved, ["all of it"])
    differing = _differences(target, saved, found)
    if _parent(saved) != _parent(found):
        differing.append("parent")
    if _writes(target, saved.pending_writes) != _writes(target, found.pending_writes, stored=True):
        differing.append("writes")
    if differing:
        raise _differs(saved, differing)


def _by_task(source: Saver, saved: CheckpointTuple) -> list[tuple[str, str, Sequence[tuple[str, Any]]]]:
    """What each task wrote, in order, with the path that puts the tasks in order."""
    found: dict[str, list[tuple[str, Any]]] = {}
    for task, channel, value in saved.pending_writes or ():
        found.setdefault(task, []).append((channel, value))
    paths: dict[str, str] = {}
    if isinstance(source, InMemorySaver):
        where = saved.config["configurable"]
        raw = source.writes.get((where["thread_id"], where["checkpoint_ns"], where["checkpoint_id"]), {})
        paths = {task: path for task, _, _, path in raw.values()}
    elif list(found) != sorted(found):
        # A saver tells no paths; they only matter for the order.
        paths = {task: f"{number:08}" for number, task in enumerate(found)}
    return [(task, paths.get(task, ""), written) for task, written in found.items()]


def _differences(target: Saver, saved: CheckpointTuple, found: CheckpointTuple) -> list[str]:
    """The names of what differs of a checkpoint: its channels, `checkpoint`, `metadata`."""
    wanted, had = saved.checkpoint["channel_values"], found.checkpoint["channel_values"]
    names = [name for name in sorted({*wanted, *had}) if not _same(
        target, _stored(target, name, wanted.get(name)), had.get(name)) or (name in wanted) != (name in had)]  # fmt: skip
    rest = [{key: one for key, one in checkpoint.items() if key != "channel_values"}
            for checkpoint in (saved.checkpoint, found.checkpoint)]  # fmt: skip
    if _json(rest[0]) != _json(rest[1]):
        names.append("checkpoint")
    metadata = {key: one for key, one in saved.metadata.items() if key != _NOT_KEPT}
    if _json(_stored(target, "", metadata)) != _json(found.metadata):
        names.append("metadata")
    return names


def _writes(target: Saver, pending: Sequence[tuple[str, str, Any]] | None, *, stored: bool = False) -> list[Any]:
    """Writes as they compare: task, channel, and the value as the target stores it."""
    values = [
        (task, channel, value if stored else _stored(target, channel, value))
        for task, channel, value in pending or ()
    ]  # fmt: skip
    return [(task, channel, target.serde.dumps_typed(value)) for task, channel, value in values]


def _stored(target: Saver, channel: str, value: Any) -> Any:
    return target.stored(channel, value) if isinstance(target, PooledSaver) else value


def _same(target: Saver, wanted: Any, found: Any) -> bool:
    # An object without an equality of its own is the same when it is stored the same.
    return bool(wanted == found) or target.serde.dumps_typed(wanted) == target.serde.dumps_typed(found)


def _json(value: Any) -> Any:
    """As JSON has it: tuples are lists, and the order of keys is nothing."""
    return json.loads(json.dumps(value, default=str))


def _parent(one: CheckpointTuple) -> str | None:
    return str(one.parent_config["configurable"]["checkpoint_id"]) if one.parent_config else None


def _own(saved: CheckpointTuple) -> RunnableConfig:
    where = saved.config["configurable"]
    return _config(str(where["thread_id"]), where.get("checkpoint_ns", ""), saved.checkpoint["id"])


def _config(thread: Any, ns: str, checkpoint: str | None) -> RunnableConfig:
    named = {"checkpoint_id": checkpoint} if checkpoint else {}
    return {"configurable": {"thread_id": thread, "checkpoint_ns": ns, **named}}


def _differs(saved: CheckpointTuple, names: Sequence[str]) -> CopyDiffers:
    where = saved.config["configurable"]
    thread, checkpoint = str(where["thread_id"]), str(saved.checkpoint["id"])
    return CopyDiffers(
        f"Checkpoint {checkpoint} of thread {thread} does not read as in the source: {', '.join(names)} differ.",
        thread=thread, checkpoint=checkpoint, differing=list(names),
    )  # fmt: skip
