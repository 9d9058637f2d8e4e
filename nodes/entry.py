"""What each node of a turn does first: whose memory it uses, and as of when. And what it does when memory fails.

A run goes on where its thread ends, or from an earlier checkpoint: then it reads memory as it was then. Every
checkpoint of a thread has a parent. A run is in the past when, on the way up from its start, some checkpoint is not the
one that was made right before its child: the thread had gone on from there. The nodes store the step at which they ran,
so that a run whose steps go on without a gap reads no checkpoint."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple
from langgraph.runtime import Runtime
from langgraph.types import Command

from muniment.memory.client import Memory
from muniment.memory.config.settings import Settings
from muniment.memory.domain.journal import Node
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.usage import Op, OpsEvent
from muniment.memory.errors import BadInput, Denied, MunimentError
from muniment.nodes.state import State, Who, get_run_context, resolve_scope

_log = logging.getLogger(__name__)
# The key of a run's saver in its config: a graph is compiled, and on the server served, with a saver that its builder
# does not know.
_SAVER_KEY = "__pregel_checkpointer"
_STEPS_TO_NEXT_TURN = 3  # from the last node of a turn to the first of the next: input and start are steps, too
_STEPS_TO_NEXT_NODE = 1
_STEP_BEFORE_FIRST = -2  # so that the first node of a thread, which runs at step 1, is a next turn
_PAGE_SIZE = 4  # checkpoints that are read at once


async def run_node(
    state: State,
    runtime: Runtime[Who],
    config: RunnableConfig,
    *,
    step: Callable[[State, Scope], Awaitable[State | Command[Any]]],
    settings: Settings,
    has_writes: bool = False,
    is_parallel: bool = False,
) -> State | Command[Any]:
    """Settle whose memory the node uses and as of when, call `step(state, scope)`, and return its update with `as_of`.

    The owner is checked for each node: a run may resume or replay a turn at any of them. `has_writes`: the hot path is
    over. `is_parallel`: another node of the same step settles `as_of`. Raises Denied, BadInput."""
    scope = resolve_scope(runtime, config, settings.tenant)
    if state.get("space") not in {None, str(scope.space)}:
        raise Denied("This thread belongs to another user.")
    place = State() if is_parallel else await _continue_turn(state, runtime, config, has_writes=has_writes)
    result = await step(state | place, scope)
    if isinstance(result, Command):
        return replace(result, update=place | (result.update or {}))
    return place | result


async def report_failure(memory: Memory, scope: Scope, node: Node, op: Op, error: MunimentError) -> str:
    """Log the failure, track it where that is possible, and return the sentence for the user."""
    if isinstance(error, BadInput):
        return str(error)
    _log.warning("memory failed in %s: %s: %s", node, type(error).__name__, error)
    with suppress(MunimentError):  # the failure may be one of the store that keeps the events
        await memory.conversation.track(
            scope, OpsEvent(node=node, op=op, status="error", ts=memory.now(), thread_id=scope.thread)
        )
    consequence = "was made without it" if node == "context" else "may not be remembered"
    return f"Memory is unavailable at the moment ({type(error).__name__}), so this reply {consequence}."


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
class _ThreadHistory:
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


def get_step(config: RunnableConfig) -> int:
    """The step at which a node runs."""
    return int(config.get("metadata", {}).get("langgraph_step", 0))


async def find_owner(runtime: Runtime[Who], config: RunnableConfig) -> str | None:
    """The space that owns a thread whose state names none; None for a new thread.

    For a run that starts before the thread's first turn the other checkpoints name the owner: otherwise a stranger
    could start there and take the thread. A thread whose first turn was cut short belongs to the first speaker."""
    history = _open_history(runtime, config)
    if history is None:
        return None
    first: str | None = None
    async for checkpoint in history.list_checkpoints():
        if checkpoint.space:
            return checkpoint.space
        first = checkpoint.speaker or first
    return first


async def begin_turn(state: State, runtime: Runtime[Who], config: RunnableConfig, ids: Sequence[str]) -> State:
    """For the first node of a turn: the revision to read memory at, None for the last one, and the step.

    In the past, messages that are sent again read the revision that they have read before. Others read the last one
    that the checkpoint's turn has read or written, or a turn before it, or else the first one after it. A thread that
    goes on from there keeps this revision until a run's context has `memory="now"`."""
    step, as_of = get_step(config), state.get("as_of")
    if get_run_context(runtime).memory == "now":
        return State(as_of=None, step=step)
    history = _open_history(runtime, config)
    has_gap = step != state.get("step", _STEP_BEFORE_FIRST) + _STEPS_TO_NEXT_TURN
    if history and (history.start_id or has_gap) and await history.has_diverged():
        as_of = await history.find_turn_revision(ids)
        if as_of is None:
            as_of = _get_last_revision(state)
        if as_of is None:
            as_of = await history.find_last_revision()
        if as_of is None:
            as_of = await history.find_later_revision()
    return State(as_of=as_of, step=step)


async def _continue_turn(
    state: State, runtime: Runtime[Who], config: RunnableConfig, *, has_writes: bool = False
) -> State:
    """For a later node of a turn: the same. In the past, the turn's own revision decides.

    `has_writes`: after the hot path, when the turn's own changes are part of what it reads."""
    step, as_of = get_step(config), state.get("as_of")
    if get_run_context(runtime).memory == "now":
        return State(as_of=None, step=step)
    has_gap = step != state.get("step", _STEP_BEFORE_FIRST) + _STEPS_TO_NEXT_NODE
    if as_of is None and has_gap and (history := _open_history(runtime, config)) and await history.has_diverged():
        as_of = _get_last_revision(state) if has_writes else state.get("rev")
    return State(as_of=as_of, step=step)


def _get_last_revision(state: State) -> int | None:
    """The last revision that the turn of a checkpoint has read or written."""
    if (as_of := state.get("as_of")) is not None:
        return as_of
    revisions = [state.get("rev"), *(change.get("rev") for change in state.get("writes", ()))]
    return max((rev for rev in revisions if rev is not None), default=None)


def _open_history(runtime: Runtime[Who], config: RunnableConfig) -> _ThreadHistory | None:
    """The thread's checkpoints; None without a saver, and inside another graph, whose checkpoints are of its nodes."""
    info, saver = runtime.execution_info, config.get("configurable", {}).get(_SAVER_KEY)
    if info is None or not info.thread_id or "|" in info.checkpoint_ns or not isinstance(saver, BaseCheckpointSaver):
        return None
    start = config.get("metadata", {}).get("checkpoint_id")
    return _ThreadHistory(
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
