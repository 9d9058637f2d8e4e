"""Whether a run goes on where its thread ends, or from an earlier checkpoint: then it reads memory as it was then.

Every checkpoint of a thread has a parent. A run is in the past when, going up from where it starts, some checkpoint is not
the one that was made right before its child: the thread had gone on from there. The nodes write down the step at which
they ran, so that a run whose steps go on without a gap need not look."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple
from langgraph.runtime import Runtime

from muniment.nodes.state import State, Who, get_run_context

# Where LangGraph tells a node which saver its run has: a graph is compiled, and on the server served, with one that
# its builder does not know.
_SAVER_KEY = "__pregel_checkpointer"
_STEPS_TO_NEXT_TURN = (
    3  # steps from the last node of a turn to the first of the next: the input and the start are steps, too
)
_STEPS_TO_NEXT_NODE = 1
_STEP_BEFORE_FIRST = -2  # so that the first node of a thread, which runs at step 1, is a next turn
_PAGE_SIZE = 4  # checkpoints asked for at once, to see whether a run is in the past


@dataclass(frozen=True, slots=True)
class _CheckpointInfo:
    """A checkpoint, as far as it says where it belongs and what its turn read."""

    id: str
    parent: str | None
    step: int
    is_input: bool
    has_step: bool  # made by a node that wrote down where it ran
    space: str | None
    speaker: str | None  # whose run saved it, where the saver writes that down
    message_ids: tuple[str, ...]
    rev: int | None


@dataclass(frozen=True, slots=True)
class _ThreadHistory:
    """The checkpoints of a thread, and where in it a run is. `start` is the one that the caller has named, if any."""

    saver: BaseCheckpointSaver[Any]
    thread: str
    current_id: str
    start_id: str | None

    async def list_checkpoints(self) -> AsyncIterator[_CheckpointInfo]:
        """Newest first."""
        before: RunnableConfig | None = None
        while True:
            page = [one async for one in self.saver.alist(self._make_config(), before=before, limit=_PAGE_SIZE)]
            for one in page:
                yield _read_checkpoint(one)
            if len(page) < _PAGE_SIZE:
                return
            before = page[-1].config

    async def has_diverged(self) -> bool:
        """Whether the thread had gone on from where this run starts. What the run itself has saved so far does not count."""
        expected = self.start_id
        async for one in self.list_checkpoints():
            if expected in (None, one.id):
                expected = one.parent
                if one.has_step or expected is None:
                    return False
            elif one.id != self.current_id and not (one.is_input and one.parent == expected):
                return True
        return False

    async def find_turn_revision(self, ids: Sequence[str]) -> int | None:
        """The revision that was read for these messages when they were first asked from here; None when they were not."""
        id_ = self.start_id or await anext((one.id async for one in self.list_checkpoints()), None)
        while id_ is not None:
            saved = await self.saver.aget_tuple(self._make_config(id_))
            if saved is None:
                return None
            origin = _read_checkpoint(saved)
            if (rev := await self._find_revision_after(origin, ids)) is not None or origin.has_step:
                return rev
            id_ = origin.parent
        return None

    async def find_last_revision(self) -> int | None:
        """The last revision that was read before where this run starts, by whatever turn; None when none was."""
        id_ = self.start_id or await anext((one.id async for one in self.list_checkpoints()), None)
        while id_ is not None:
            saved = await self.saver.aget_tuple(self._make_config(id_))
            if saved is None:
                return None
            point = _read_checkpoint(saved)
            if point.rev is not None:
                return point.rev
            id_ = point.parent
        return None

    async def find_later_revision(self) -> int | None:
        """The revision that was first read by what went on from here; None when none was."""
        made = [one async for one in self.list_checkpoints()]
        by_id = {one.id: one for one in made}
        lineage: set[str] = set()
        at = by_id.get(self.start_id) if self.start_id else made[0]
        while at is not None:  # of what was begun here and cut short, nothing may have come
            lineage.add(at.id)
            at = None if at.has_step or at.parent is None else by_id.get(at.parent)
        for one in reversed(made):
            if one.parent in lineage:
                if one.rev is not None:
                    return one.rev
                lineage.add(one.id)
        return None

    async def _find_revision_after(self, origin: _CheckpointInfo, ids: Sequence[str]) -> int | None:
        """The same of one checkpoint. A turn begins one step after it, two when its message was not taken in, three when
        it was not there."""
        line, found = {origin.id}, []
        for steps in (1, 2, 3):
            filter_ = {"step": origin.step + steps}
            made = [_read_checkpoint(one) async for one in self.saver.alist(self._make_config(), filter=filter_)]
            after = [one for one in made if one.parent in line]
            line |= {one.id for one in after}
            found += [one for one in after if one.rev is not None and one.message_ids == tuple(ids)]
        return min(found, key=lambda one: one.id).rev if found else None

    def _make_config(self, checkpoint: str | None = None) -> RunnableConfig:
        """The thread, or one checkpoint of it."""
        named = {"checkpoint_id": checkpoint} if checkpoint else {}
        return {"configurable": {"thread_id": self.thread, "checkpoint_ns": "", **named}}


def get_step(config: RunnableConfig) -> int:
    """The step at which a node runs."""
    return int(config.get("metadata", {}).get("langgraph_step", 0))


async def find_owner(state: State, runtime: Runtime[Who], config: RunnableConfig) -> str | None:
    """Whose thread this is, None of a new one. Where a run starts from before its first turn, the thread's other
    checkpoints say it: a stranger could otherwise begin there, learn what its owner said, and take the thread. Of one
    whose first turn was cut short it is whoever spoke first."""
    history = _open_history(runtime, config)
    if "space" in state or history is None:
        return state.get("space")
    first: str | None = None
    async for one in history.list_checkpoints():
        if one.space:
            return one.space
        first = one.speaker or first
    return first


async def begin_turn(state: State, runtime: Runtime[Who], config: RunnableConfig, ids: Sequence[str]) -> State:
    """For the first node of a turn: the revision to read memory at, None for the last one, and the step.

    The same messages asked again are answered from what they were answered from; other messages, from what the checkpoint
    knew: what its turn read, and wrote, or an earlier one, where its turn could not read; where none had read before, from
    what was read first after it. A thread that was begun so stays there until it is asked for now."""
    step, as_of = get_step(config), state.get("as_of")
    if _is_reading_now(runtime):
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


async def continue_turn(
    state: State, runtime: Runtime[Who], config: RunnableConfig, *, has_writes: bool = False
) -> State:
    """For a later node of a turn: the same, where what the turn has read already decides.

    `written`: after the hot path, when the turn's own changes are part of what the checkpoint knew."""
    step, as_of = get_step(config), state.get("as_of")
    if _is_reading_now(runtime):
        return State(as_of=None, step=step)
    has_gap = step != state.get("step", _STEP_BEFORE_FIRST) + _STEPS_TO_NEXT_NODE
    if as_of is None and has_gap and (history := _open_history(runtime, config)) and await history.has_diverged():
        as_of = _get_last_revision(state) if has_writes else state.get("rev")
    return State(as_of=as_of, step=step)


def _is_reading_now(runtime: Runtime[Who]) -> bool:
    return get_run_context(runtime).memory == "now"


def _get_last_revision(state: State) -> int | None:
    """The last revision that a checkpoint knows of: what was read, or written after it."""
    if (as_of := state.get("as_of")) is not None:
        return as_of
    revisions = [state.get("rev"), *(one.get("rev") for one in state.get("writes", ()))]
    return max((one for one in revisions if one is not None), default=None)


def _open_history(runtime: Runtime[Who], config: RunnableConfig) -> _ThreadHistory | None:
    """None without a saver, and inside another graph, whose checkpoints are not of this graph's turns."""
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
