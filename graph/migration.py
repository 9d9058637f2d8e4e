"""Threads from another saver: copied checkpoint by checkpoint, each read again and compared."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple
from langgraph.checkpoint.memory import InMemorySaver

from muniment.graph.saver import PooledSaver
from muniment.memory.errors import CopyDiffers

Saver: TypeAlias = BaseCheckpointSaver[Any]
OnProgress: TypeAlias = Callable[[int], None]
_UNSAVED_METADATA = "writes"  # of the metadata: LangGraph itself has stopped to save them


@dataclass(frozen=True, slots=True, kw_only=True)
class MigrationResult:
    """What became of the source's threads: checkpoints that were copied, with their writes, and that were there already."""

    threads: int = 0
    checkpoints: int = 0
    writes: int = 0
    there: int = 0


async def migrate_threads(source: Saver, target: Saver, on_progress: OnProgress | None = None) -> MigrationResult:
    """Copy every thread with all its checkpoints, in order, with parents and what was written on the way; what the target
    takes out of texts (secrets) is not held against it. `told` hears of each checkpoint.

    What is there already stays as it is, so that it can be done again after an interruption. Raises CopyDiffers, which names
    the thread and the checkpoint, for one that does not read as in the source, or that is there with another content."""
    places = [(one.config["configurable"], one.checkpoint["id"]) async for one in source.alist(None)]
    known_ids = {id_ for _, id_ in places}
    checkpoints = writes = there = 0
    for where, id_ in sorted(places, key=lambda one: (str(one[0]["thread_id"]), one[1])):
        config = _make_config(where["thread_id"], where.get("checkpoint_ns", ""), id_)
        saved = await source.aget_tuple(config)
        if saved is None:  # gone since it was listed
            continue
        if _get_parent_id(saved) not in known_ids:
            saved = saved._replace(parent_config=None)  # gone before: pruned by whoever had it
        if await _is_copied(target, saved):
            there += 1
        else:
            await _copy_checkpoint(source, saved, target)
            checkpoints, writes = checkpoints + 1, writes + len(saved.pending_writes or ())
        if on_progress is not None:
            on_progress(1)
    threads = len({str(where["thread_id"]) for where, _ in places})
    return MigrationResult(threads=threads, checkpoints=checkpoints, writes=writes, there=there)


async def _is_copied(target: Saver, saved: CheckpointTuple) -> bool:
    """Whether nothing is missing. A thread that has gone on since, or was pruned, has more writes or no parent."""
    found = await target.aget_tuple(_make_own_config(saved))
    if found is None:
        return False
    if differing := _find_differences(target, saved, found):
        raise _make_difference_error(saved, differing)
    stored_writes = _dump_writes(target, found.pending_writes, is_stored=True)
    return all(one in stored_writes for one in _dump_writes(target, saved.pending_writes))


async def _copy_checkpoint(source: Saver, saved: CheckpointTuple, target: Saver) -> None:
    own_config = _make_own_config(saved)
    thread, ns = own_config["configurable"]["thread_id"], own_config["configurable"]["checkpoint_ns"]
    parent = saved.parent_config["configurable"]["checkpoint_id"] if saved.parent_config else None
    # Every value of a checkpoint, not only the new ones: the target knows which it has.
    versions = saved.checkpoint["channel_versions"]
    try:
        await target.aput(_make_config(thread, ns, parent), saved.checkpoint, saved.metadata, versions)
        for task, path, written in _group_by_task(source, saved):
            await target.aput_writes(own_config, written, task, path)
    except (TypeError, ValueError):
        raise _make_difference_error(saved, ["what the target cannot store"]) from None
    found = await target.aget_tuple(own_config)
    if found is None:
        raise _make_difference_error(saved, ["all of it"])
    differing = _find_differences(target, saved, found)
    if _get_parent_id(saved) != _get_parent_id(found):
        differing.append("parent")
    if _dump_writes(target, saved.pending_writes) != _dump_writes(target, found.pending_writes, is_stored=True):
        differing.append("writes")
    if differing:
        raise _make_difference_error(saved, differing)


def _group_by_task(source: Saver, saved: CheckpointTuple) -> list[tuple[str, str, Sequence[tuple[str, Any]]]]:
    """What each task wrote, in order, with the path that puts the tasks in order."""
    by_task: dict[str, list[tuple[str, Any]]] = {}
    for task, channel, value in saved.pending_writes or ():
        by_task.setdefault(task, []).append((channel, value))
    paths: dict[str, str] = {}
    if isinstance(source, InMemorySaver):
        where = saved.config["configurable"]
        raw = source.writes.get((where["thread_id"], where["checkpoint_ns"], where["checkpoint_id"]), {})
        paths = {task: path for task, _, _, path in raw.values()}
    elif list(by_task) != sorted(by_task):
        # A saver tells no paths; they only matter for the order.
        paths = {task: f"{number:08}" for number, task in enumerate(by_task)}
    return [(task, paths.get(task, ""), writes) for task, writes in by_task.items()]


def _find_differences(target: Saver, saved: CheckpointTuple, copy: CheckpointTuple) -> list[str]:
    """The names of what differs of a checkpoint: its channels, `checkpoint`, `metadata`."""
    expected, actual = saved.checkpoint["channel_values"], copy.checkpoint["channel_values"]
    names = [name for name in sorted({*expected, *actual}) if not _is_same(
        target, _redact_value(target, name, expected.get(name)), actual.get(name)) or (name in expected) != (name in actual)]  # fmt: skip
    rest = [{key: one for key, one in checkpoint.items() if key != "channel_values"}
            for checkpoint in (saved.checkpoint, copy.checkpoint)]  # fmt: skip
    if _to_json(rest[0]) != _to_json(rest[1]):
        names.append("checkpoint")
    metadata = {key: one for key, one in saved.metadata.items() if key != _UNSAVED_METADATA}
    if _to_json(_redact_value(target, "", metadata)) != _to_json(copy.metadata):
        names.append("metadata")
    return names


def _dump_writes(
    target: Saver, pending: Sequence[tuple[str, str, Any]] | None, *, is_stored: bool = False
) -> list[Any]:
    """Writes as they compare: task, channel, and the value as the target stores it."""
    values = [
        (task, channel, value if is_stored else _redact_value(target, channel, value))
        for task, channel, value in pending or ()
    ]  # fmt: skip
    return [(task, channel, target.serde.dumps_typed(value)) for task, channel, value in values]


def _redact_value(target: Saver, channel: str, value: Any) -> Any:
    return target.redact_channel(channel, value) if isinstance(target, PooledSaver) else value


def _is_same(target: Saver, expected: Any, actual: Any) -> bool:
    # An object without an equality of its own is the same when it is stored the same.
    return bool(expected == actual) or target.serde.dumps_typed(expected) == target.serde.dumps_typed(actual)


def _to_json(value: Any) -> Any:
    """As JSON has it: tuples are lists, and the order of keys is nothing."""
    return json.loads(json.dumps(value, default=str))


def _get_parent_id(saved: CheckpointTuple) -> str | None:
    return str(saved.parent_config["configurable"]["checkpoint_id"]) if saved.parent_config else None


def _make_own_config(saved: CheckpointTuple) -> RunnableConfig:
    where = saved.config["configurable"]
    return _make_config(str(where["thread_id"]), where.get("checkpoint_ns", ""), saved.checkpoint["id"])


def _make_config(thread: Any, ns: str, checkpoint: str | None) -> RunnableConfig:
    named = {"checkpoint_id": checkpoint} if checkpoint else {}
    return {"configurable": {"thread_id": thread, "checkpoint_ns": ns, **named}}


def _make_difference_error(saved: CheckpointTuple, names: Sequence[str]) -> CopyDiffers:
    where = saved.config["configurable"]
    thread, checkpoint = str(where["thread_id"]), str(saved.checkpoint["id"])
    return CopyDiffers(
        f"Checkpoint {checkpoint} of thread {thread} does not read as in the source: {', '.join(names)} differ.",
        thread=thread, checkpoint=checkpoint, differing=list(names),
    )  # fmt: skip
