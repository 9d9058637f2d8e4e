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

from muniment.nodes.state import State, Who, given

# Where LangGraph tells a node which saver its run has: a graph is compiled, and on the server served, with one that
# its builder does not know.
_SAVER = "__pregel_checkpointer"
_NEXT_TURN = 3  # steps from the last node of a turn to the first of the next: the input and the start are steps, too
_NEXT_NODE = 1
_BEFORE_ALL = -2  # so that the first node of a thread, which runs at step 1, is a next turn
_NEAR = 4  # checkpoints asked for at once, to see whether a run is in the past


@dataclass(frozen=True, slots=True)
class _Point:
    """A checkpoint, as far as it says where it belongs and what its turn read."""

    id: str
    parent: str | None
    step: int
    input: bool
    noted: bool  # made by a node that wrote down where it ran
    space: str | None
    speaker: str | None  # whose run saved it, where the saver writes that down
    asked: tuple[str, ...]
    rev: int | None


@dataclass(frozen=True, slots=True)
class _Line:
    """The checkpoints of a thread, and where in it a run is. `start` is the one that the caller has named, if any."""

    saver: BaseCheckpointSaver[Any]
    thread: str
    tip: str
    start: str | None

    async def points(self) -> AsyncIterator[_Point]:
        """Newest first."""
        before: RunnableConfig | None = None
        while True:
            page = [one async for one in self.saver.alist(self._whole(), before=before, limit=_NEAR)]
            for one in page:
                yield _point(one)
            if len(page) < _NEAR:
                return
            before = page[-1].config

    async def left(self) -> bool:
        """Whether the thread had gone on from where this run starts. What the run itself has saved so far does not count."""
        expected = self.start
        async for one in self.points():
            if expected in (None, one.id):
                expected = one.parent
                if one.noted or expected is None:
                    return False
            elif one.id != self.tip and not (one.input and one.parent == expected):
                return True
        return False

    async def read(self, ids: Sequence[str]) -> int | None:
        """The revision that was read for these messages when they were first asked from here; None when they were not."""
        id_ = self.start or await anext((one.id async for one in self.points()), None)
        while id_ is not None:
            saved = await self.saver.aget_tuple(self._whole(id_))
            if saved is None:
                return None
            origin = _point(saved)
            if (rev := await self._told(origin, ids)) is not None or origin.noted:
                return rev
            id_ = origin.parent
        return None

    async def known(self) -> int | None:
        """The last revision that was read before where this run starts, by whatever turn; None when none was."""
        id_ = self.start or await anext((one.id async for one in self.points()), None)
        while id_ is not None:
            saved = await self.saver.aget_tuple(self._whole(id_))
            if saved is None:
                return None
            point = _point(saved)
            if point.rev is not None:
                return point.rev
            id_ = point.parent
        return None

    async def later(self) -> int | None:
        """The revision that was first read by what went on from here; None when none was."""
        made = [one async for one in self.points()]
        known = {one.id: one for one in made}
        line: set[str] = set()
        at = known.get(self.start) if self.start else made[0]
        while at is not None:  # of what was begun here and cut short, nothing may have come
            line.add(at.id)
            at = None if at.noted or at.parent is None else known.get(at.parent)
        for one in reversed(made):
            if one.parent in line:
                if one.rev is not None:
                    return one.rev
                line.add(one.id)
        return None

    async def _told(self, origin: _Point, ids: Sequence[str]) -> int | None:
        """The same of one checkpoint. A turn begins one step after it, two when its message was not taken in, three when
        it was not there."""
        line, found = {origin.id}, []
        for steps in (1, 2, 3):
            filter_ = {"step": origin.step + steps}
            made = [_point(one) async for one in self.saver.alist(self._whole(), filter=filter_)]
            after = [one for one in made if one.parent in line]
            line |= {one.id for one in after}
            found += [one for one in after if one.rev is not None and one.asked == tuple(ids)]
        return min(found, key=lambda one: one.id).rev if found else None

    def _whole(self, checkpoint: str | None = None) -> RunnableConfig:
        """The thread, or one checkpoint of it."""
        named = {"checkpoint_id": checkpoint} if checkpoint else {}
        return {"configurable": {"thread_id": self.thread, "checkpoint_ns": "", **named}}


def here(config: RunnableConfig) -> int:
    """The step at which a node runs."""
    return int(config.get("metadata", {}).get("langgraph_step", 0))


async def owner(state: State, runtime: Runtime[Who], config: RunnableConfig) -> str | None:
    """Whose thread this is, None of a new one. Where a run starts from before its first turn, the thread's other
    checkpoints say it: a stranger could otherwise begin there, learn what its owner said, and take the thread. Of one
    whose first turn was cut short it is whoever spoke first."""
    line = _line(runtime, config)
    if "space" in state or line is None:
        return state.get("space")
    first: str | None = None
    async for one in line.points():
        if one.space:
            return one.space
        first = one.speaker or first
    return first


async def begin(state: State, runtime: Runtime[Who], config: RunnableConfig, ids: Sequence[str]) -> State:
    """For the first node of a turn: the revision to read memory at, None for the last one, and the step.

    The same messages asked again are answered from what they were answered from; other messages, from what the checkpoint
    knew: what its turn read, and wrote, or an earlier one, where its turn could not read; where none had read before, from
    what was read first after it. A thread that was begun so stays there until it is asked for now."""
    step, as_of = here(config), state.get("as_of")
    if _now(runtime):
        return State(as_of=None, step=step)
    line = _line(runtime, config)
    gap = step != state.get("step", _BEFORE_ALL) + _NEXT_TURN
    if line and (line.start or gap) and await line.left():
        as_of = await line.read(ids)
        if as_of is None:
            as_of = _known(state)
        if as_of is None:
            as_of = await line.known()
        if as_of is None:
            as_of = await line.later()
    return State(as_of=as_of, step=step)


async def go_on(state: State, runtime: Runtime[Who], config: RunnableConfig, *, written: bool = False) -> State:
    """For a later node of a turn: the same, where what the turn has read already decides.

    `written`: after the hot path, when the turn's own changes are part of what the checkpoint knew."""
    step, as_of = here(config), state.get("as_of")
    if _now(runtime):
        return State(as_of=None, step=step)
    gap = step != state.get("step", _BEFORE_ALL) + _NEXT_NODE
    if as_of is None and gap and (line := _line(runtime, config)) and await line.left():
        as_of = _known(state) if written else state.get("rev")
    return State(as_of=as_of, step=step)


def _now(runtime: Runtime[Who]) -> bool:
    return given(runtime).memory == "now"


def _known(state: State) -> int | None:
    """The last revision that a checkpoint knows of: what was read, or written after it."""
    if (as_of := state.get("as_of")) is not None:
        return as_of
    known = [state.get("rev"), *(one.get("rev") for one in state.get("writes", ()))]
    return max((one for one in known if one is not None), default=None)


def _line(runtime: Runtime[Who], config: RunnableConfig) -> _Line | None:
    """None without a saver, and inside another graph, whose checkpoints are not of this graph's turns."""
    info, saver = runtime.execution_info, config.get("configurable", {}).get(_SAVER)
    if info is None or not info.thread_id or "|" in info.checkpoint_ns or not isinstance(saver, BaseCheckpointSaver):
        return None
    start = config.get("metadata", {}).get("checkpoint_id")
    return _Line(saver=saver, thread=info.thread_id, tip=info.checkpoint_id, start=str(start) if start else None)


def _point(saved: CheckpointTuple) -> _Point:
    values, parent = saved.checkpoint["channel_values"], saved.parent_config
    step, told = int(saved.metadata.get("step", 0)), dict[str, Any](saved.metadata)
    return _Point(
        id=saved.checkpoint["id"],
        parent=str(parent["configurable"]["checkpoint_id"]) if parent else None,
        step=step,
        input=saved.metadata.get("source") == "input",
        noted=values.get("step") == step,
        space=values.get("space"),
        speaker=told.get("space"),
        asked=tuple(values.get("asked") or ()),
        rev=values.get("rev"),
    )
