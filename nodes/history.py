"""The checkpoints of a thread: whether it had gone on from the start of a run, and what its turns have read.

Every checkpoint of a thread has a parent. A run is in the past when, on the way up from its start, some checkpoint is
not the one that was made right before its child: the thread had gone on from there."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple
from langgraph.runtime import Runtime

from muniment.nodes.state import Who

# The key of a run's saver in its config: a graph is compiled, and on the server served, with a saver that its builder
# does not know.
_SAVER_KEY = "__pregel_checkpointer"
_PAGE_SIZE = 4  # checkpoints that are read at once


@dataclass(frozen=True, slots=True)
class _CheckpointInfo:
    """Where a checkpoint belongs in its thread, and what its turn has read."""

    id: str
    parent: str | None
    step: int
    is_input: bool
    has_step: bool  # made by a node that has stored its step
    space: str | None
    speaker: str | None  # the space of the run that has saved it, where the saver stores that
    message_ids: tuple[str, ...]
    rev: int | None


@dataclass(frozen=True, slots=True)
class ThreadHistory:
    """The checkpoints of a thread. `start_id` is the one that the caller has named, if any."""

    saver: BaseCheckpointSaver[Any]
    thread: str
    current_id: str
    start_id: str | None

    async def list_checkpoints(self) -> AsyncIterator[_CheckpointInfo]:
        """All checkpoints, newest first."""
        before: RunnableConfig | None = None
        while True:
            page = [saved async for saved in self.saver.alist(self._make_config(), before=before, limit=_PAGE_SIZE)]
            for saved in page:
                yield _read_checkpoint(saved)
            if len(page) < _PAGE_SIZE:
                return
            before = page[-1].config

    async def has_diverged(self) -> bool:
        """Whether the thread had gone on from the start of this run. The run's own checkpoints do not count."""
        expected = self.start_id
        async for checkpoint in self.list_checkpoints():
            if expected in (None, checkpoint.id):
                expected = checkpoint.parent
                if checkpoint.has_step or expected is None:
                    return False
            elif checkpoint.id != self.current_id and not (checkpoint.is_input and checkpoint.parent == expected):
                return True
        return False

    async def find_turn_revision(self, ids: Sequence[str]) -> int | None:
        """The revision that was read when these messages were first sent from here; None when they were not."""
        async for checkpoint in self._list_ancestors():
            if (rev := await self._find_revision_after(checkpoint, ids)) is not None or checkpoint.has_step:
                return rev
        return None

    async def find_last_revision(self) -> int | None:
        """The last revision that any turn has read before the start of this run; None when none has."""
        return await anext((point.rev async for point in self._list_ancestors() if point.rev is not None), None)

    async def find_later_revision(self) -> int | None:
        """The first revision that a run from here has read; None when none has."""
        checkpoints = [checkpoint async for checkpoint in self.list_checkpoints()]
        by_id = {checkpoint.id: checkpoint for checkpoint in checkpoints}
        lineage: set[str] = set()
        at = by_id.get(self.start_id) if self.start_id else checkpoints[0]
        while at is not None:  # a run that began here may have been cut short before its first node
            lineage.add(at.id)
            at = None if at.has_step or at.parent is None else by_id.get(at.parent)
        for checkpoint in reversed(checkpoints):
            if checkpoint.parent in lineage:
                if checkpoint.rev is not None:
                    return checkpoint.rev
                lineage.add(checkpoint.id)
        return None

    async def _list_ancestors(self) -> AsyncIterator[_CheckpointInfo]:
        """The checkpoint at which this run starts, its parent, and so on."""
        id_ = self.start_id or await anext((checkpoint.id async for checkpoint in self.list_checkpoints()), None)
        while id_ is not None and (saved := await self.saver.aget_tuple(self._make_config(id_))) is not None:
            checkpoint = _read_checkpoint(saved)
            yield checkpoint
            id_ = checkpoint.parent

    async def _find_revision_after(self, origin: _CheckpointInfo, ids: Sequence[str]) -> int | None:
        """The revision that was first read for these messages after this checkpoint.

        A turn begins one step after it, two when its input was not applied yet, three when there was no input yet."""
        lineage, readers = {origin.id}, list[_CheckpointInfo]()
        for steps in (1, 2, 3):
            filter_ = {"step": origin.step + steps}
            checkpoints = [
                _read_checkpoint(saved) async for saved in self.saver.alist(self._make_config(), filter=filter_)
            ]
            children = [child for child in checkpoints if child.parent in lineage]
            lineage |= {child.id for child in children}
            readers += [child for child in children if child.rev is not None and child.message_ids == tuple(ids)]
        return min(readers, key=lambda reader: reader.id).rev if readers else None

    def _make_config(self, checkpoint: str | None = None) -> RunnableConfig:
        """The config of the thread, or of one checkpoint of it."""
        selection = {"checkpoint_id": checkpoint} if checkpoint else {}
        return {"configurable": {"thread_id": self.thread, "checkpoint_ns": "", **selection}}


def open_history(runtime: Runtime[Who], config: RunnableConfig) -> ThreadHistory | None:
    """The thread's checkpoints; None without a saver, and inside another graph, whose checkpoints are of its nodes."""
    info, saver = runtime.execution_info, config.get("configurable", {}).get(_SAVER_KEY)
    if info is None or not info.thread_id or "|" in info.checkpoint_ns or not isinstance(saver, BaseCheckpointSaver):
        return None
    start = config.get("metadata", {}).get("checkpoint_id")
    return ThreadHistory(
        saver=saver, thread=info.thread_id, current_id=info.checkpoint_id, start_id=str(start) if start else None
    )


def _read_checkpoint(saved: CheckpointTuple) -> _CheckpointInfo:
    values, parent = saved.checkpoint["channel_values"], saved.parent_config
    step, metadata = int(saved.metadata.get("step", 0)), dict[str, Any](saved.metadata)
    return _CheckpointInfo(
        id=saved.checkpoint["id"],
        parent=str(parent["configurable"]["checkpoint_id"]) if parent else None,
        step=step,
        is_input=saved.metadata.get("source") == "input",
        has_step=values.get("step") == step,
        space=values.get("space"),
        speaker=metadata.get("space"),
        message_ids=tuple(values.get("asked") or ()),
        rev=values.get("rev"),
    )
