"""Copies of the threads of another saver: each checkpoint is copied, read again and compared."""

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
_UNSAVED_METADATA = "writes"  # of the metadata: LangGraph does not save it any more


@dataclass(frozen=True, slots=True, kw_only=True)
class MigrationResult:
    """Counts of the source's threads, of copied checkpoints and writes, and of checkpoints that were there already."""

    threads: int = 0
    checkpoints: int = 0
    writes: int = 0
    there: int = 0


async def migrate_threads(source: Saver, target: Saver, on_progress: OnProgress | None = None) -> MigrationResult:
    """Copy every thread with all its checkpoints in order, with parents and writes. `on_progress` gets 1 for each one.

    Checkpoints that are there already stay, so that an interrupted copy can be repeated. Raises CopyDiffers with the
    thread and the checkpoint for one that reads otherwise than in the source; redaction is no difference."""
    places = [(saved.config["configurable"], saved.checkpoint["id"]) async for saved in source.alist(None)]
    ids = {id_ for _, id_ in places}
    checkpoints = writes = there = 0
    for where, id_ in sorted(places, key=lambda place: (str(place[0]["thread_id"]), place[1])):
        config = _make_config(where["thread_id"], where.get("checkpoint_ns", ""), id_)
        saved = await source.aget_tuple(config)
        if saved is None:  # removed since it was listed
            continue
        if _get_parent_id(saved) not in ids:
            saved = saved._replace(parent_config=None)  # pruned in the source
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
    """Whether the target has the checkpoint with all its writes; it may have more. Raises CopyDiffers."""
    copy = await target.aget_tuple(_make_own_config(saved))
    if copy is None:
        return False
    if differing := _find_differences(target, saved, copy):
        raise _make_difference_error(saved, differing)
    stored_writes = _dump_writes(target, copy.pending_writes, is_stored=True)
    return all(write in stored_writes for write in _dump_writes(target, saved.pending_writes))


async def _copy_checkpoint(source: Saver, saved: CheckpointTuple, target: Saver) -> None:
    own_config = _make_own_config(saved)
    thread, ns = own_config["configurable"]["thread_id"], own_config["configurable"]["checkpoint_ns"]
    parent = saved.parent_config["configurable"]["checkpoint_id"] if saved.parent_config else None
    # Every value of a checkpoint, not only the new ones: the target skips those that it has.
    versions = saved.checkpoint["channel_versions"]
    try:
        await target.aput(_make_config(thread, ns, parent), saved.checkpoint, saved.metadata, versions)
        for task, path, writes in _group_by_task(source, saved):
            await target.aput_writes(own_config, writes, task, path)
    except (TypeError, ValueError):
        raise _make_difference_error(saved, ["what the target cannot store"]) from None
    copy = await target.aget_tuple(own_config)
    if copy is None:
        raise _make_difference_error(saved, ["all of it"])
    differing = _find_differences(target, saved, copy)
    if _get_parent_id(saved) != _get_parent_id(copy):
        differing.append("parent")
    if _dump_writes(target, saved.pending_writes) != _dump_writes(target, copy.pending_writes, is_stored=True):
        differing.append("writes")
    if differing:
        raise _make_difference_error(saved, differing)


def _group_by_task(source: Saver, saved: CheckpointTuple) -> list[tuple[str, str, Sequence[tuple[str, Any]]]]:
    """The writes of each task in order, with the path by which the tasks are ordered."""
    by_task: dict[str, list[tuple[str, Any]]] = {}
    for task, channel, value in saved.pending_writes or ():
        by_task.setdefault(task, []).append((channel, value))
    paths: dict[str, str] = {}
    if isinstance(source, InMemorySaver):
        where = saved.config["configurable"]
        raw = source.writes.get((where["thread_id"], where["checkpoint_ns"], where["checkpoint_id"]), {})
        paths = {task: path for task, _, _, path in raw.values()}
    elif list(by_task) != sorted(by_task):
        # Other savers show no paths, which only matter for the order.
        paths = {task: f"{number:08}" for number, task in enumerate(by_task)}
    return [(task, paths.get(task, ""), writes) for task, writes in by_task.items()]


def _find_differences(target: Saver, saved: CheckpointTuple, copy: CheckpointTuple) -> list[str]:
    """The names of the parts that differ: channels, `checkpoint`, `metadata`."""
    expected, actual = saved.checkpoint["channel_values"], copy.checkpoint["channel_values"]
    names = [
        name
        for name in sorted({*expected, *actual})
        if (name in expected) != (name in actual)
        or not _is_same(target, _redact_value(target, name, expected.get(name)), actual.get(name))
    ]
    without_values: Any = {"channel_values": None}
    if _to_json(saved.checkpoint | without_values) != _to_json(copy.checkpoint | without_values):
        names.append("checkpoint")
    metadata = {key: value for key, value in saved.metadata.items() if key != _UNSAVED_METADATA}
    if _to_json(_redact_value(target, "", metadata)) != _to_json(copy.metadata):
        names.append("metadata")
    return names


def _dump_writes(
    target: Saver, pending: Sequence[tuple[str, str, Any]] | None, *, is_stored: bool = False
) -> list[Any]:
    """Writes in a form that compares: task, channel, and the value as the target stores it."""
    values = [
        (task, channel, value if is_stored else _redact_value(target, channel, value))
        for task, channel, value in pending or ()
    ]
    return [(task, channel, target.serde.dumps_typed(value)) for task, channel, value in values]


def _redact_value(target: Saver, channel: str, value: Any) -> Any:
    return target.redact_channel(channel, value) if isinstance(target, PooledSaver) else value


def _is_same(target: Saver, expected: Any, actual: Any) -> bool:
    # Objects without an equality of their own are compared in stored form.
    return bool(expected == actual) or target.serde.dumps_typed(expected) == target.serde.dumps_typed(actual)


def _to_json(value: Any) -> Any:
    """The value after JSON: tuples are lists."""
    return json.loads(json.dumps(value, default=str))


def _get_parent_id(saved: CheckpointTuple) -> str | None:
    return str(saved.parent_config["configurable"]["checkpoint_id"]) if saved.parent_config else None


def _make_own_config(saved: CheckpointTuple) -> RunnableConfig:
    where = saved.config["configurable"]
    return _make_config(str(where["thread_id"]), where.get("checkpoint_ns", ""), saved.checkpoint["id"])


def _make_config(thread: Any, ns: str, checkpoint: str | None) -> RunnableConfig:
    selection = {"checkpoint_id": checkpoint} if checkpoint else {}
    return {"configurable": {"thread_id": thread, "checkpoint_ns": ns, **selection}}


def _make_difference_error(saved: CheckpointTuple, names: Sequence[str]) -> CopyDiffers:
    where = saved.config["configurable"]
    thread, checkpoint = str(where["thread_id"]), str(saved.checkpoint["id"])
    return CopyDiffers(
        f"Checkpoint {checkpoint} of thread {thread} does not read as in the source: {', '.join(names)} differ.",
        thread=thread,
        checkpoint=checkpoint,
        differing=list(names),
    )
