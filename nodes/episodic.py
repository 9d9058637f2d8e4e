"""After the reply, the nodes `episodic` and `worker`: the turn goes to the ledger, and slow work to the queue."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from langchain_core.messages import AIMessage

from muniment.memory.client import Memory
from muniment.memory.config.settings import Settings
from muniment.memory.domain.ids import Revision
from muniment.memory.domain.scope import Scope
from muniment.memory.errors import BadInput, MunimentError
from muniment.nodes import tool_turns
from muniment.nodes.entry import report_failure
from muniment.nodes.state import PendingToolTurn, State, find_turn_messages, get_reply, make_turn


async def record_turn(state: State, scope: Scope, *, memory: Memory, settings: Settings) -> State:
    """Record the turn and its tool calls, advance the thread's cursor, and add to the reply what was not stored."""
    reply = get_reply(state)
    waiting = state.get("to_record", {}) | {
        message.id: state["at"] for message in find_turn_messages(state) if message.id
    }
    if reply is not None and reply.id:
        waiting[reply.id] = memory.now().isoformat()
    turns, times = tool_turns.collect_tool_turns(state, scope, memory)
    waiting, pending = times | waiting, tool_turns.add_pending_turns(state, scope, turns)
    failure, rev = state.get("unwritten", ""), state.get("rev")
    if not state.get("to_learn"):  # otherwise memory has just failed in the hot path: no second wait for it
        try:
            await _record_messages(state, scope, memory, waiting, pending, settings.limits.turn_chars)
            # What a run in the past has read says nothing about what the thread has seen.
            if rev is not None and scope.thread and state.get("as_of") is None:
                await memory.conversation.mark_seen(scope, Revision(rev))
        except BadInput as error:
            failure, waiting, pending = failure or str(error), {}, []  # a later turn would fail in the same way
        except MunimentError as error:
            failure = failure or await report_failure(memory, scope, "episodic", "create", error)
        else:
            waiting, pending = {}, []
    update = State(to_record=waiting, unwritten=failure, acts=pending)
    if not waiting:
        update |= await _capture_episode(state, scope, memory, settings)
    notes = [note for note in (state.get("unmet", ""), "" if state.get("unread") else failure) if note]
    if reply is not None and notes:
        # The same id: the message is replaced, the thread has one reply.
        update["messages"] = [AIMessage("\n\n".join([str(reply.text), *notes]), id=reply.id, name=reply.name)]
    return update


async def _record_messages(
    state: State,
    scope: Scope,
    memory: Memory,
    waiting: dict[str, str],
    pending: Sequence[PendingToolTurn],
    max_chars: int,
) -> None:
    """Record the waiting messages of at most `max_chars` characters; the hot path has reported the longer ones."""
    messages = [
        message for message in state["messages"] if message.id in waiting and len(str(message.text)) <= max_chars
    ]
    reply = get_reply(state)
    turns = [make_turn(scope, message, waiting[str(message.id)]) for message in messages if message is not reply]
    turns += tool_turns.load_turns(pending, scope)
    if reply in messages:
        reply_turn = make_turn(scope, reply, waiting[str(reply.id)], state.get("recalled", ()))
        turns += tool_turns.tag_turns(state, scope, [replace(reply_turn, tags=(), path=None)])
    if turns:
        await memory.conversation.record(scope, turns)


async def _capture_episode(state: State, scope: Scope, memory: Memory, settings: Settings) -> State:
    """Capture an episode when the thread's own count of turns and minutes says so; before that it costs nothing."""
    rules, now = settings.episodes, memory.now()
    turn_count, since = state.get("untold", 0) + bool(find_turn_messages(state)), state.get("told_at") or state["at"]
    is_early = now - datetime.fromisoformat(since) < timedelta(minutes=rules.cooldown_minutes)
    if is_early or turn_count < rules.cooldown_turns or not rules.per_day or not scope.thread:
        return State(untold=turn_count, told_at=since)
    try:
        await memory.conversation.capture(scope)
    except MunimentError as error:
        # The ledger has all messages: the next capture reads them.
        await report_failure(memory, scope, "episodic", "create", error)
    return State(untold=0, told_at=now.isoformat())


async def enqueue_jobs(state: State, scope: Scope, *, memory: Memory) -> State:
    """Write the buffered operational events and enqueue what a model should read. It waits for no job."""
    if state.get("to_record"):
        return State()  # memory has just failed in `record_turn`: no second wait for it
    try:
        await memory.conversation.flush(scope)
        await memory.conversation.schedule_reflection(scope)
    except MunimentError as error:
        # The reply is out; the events stay in their buffer, with this one.
        await report_failure(memory, scope, "worker", "create", error)
    return State()
