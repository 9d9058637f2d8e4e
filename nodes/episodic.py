"""After the reply: the turn goes to the ledger, and the thread has now seen what memory said."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableConfig
from langgraph.runtime import Runtime

from muniment.memory.client import Memory
from muniment.memory.config.settings import Settings
from muniment.memory.domain.ids import Revision
from muniment.memory.domain.scope import Scope
from muniment.memory.errors import BadInput, MunimentError
from muniment.nodes import failures, time_travel, tool_turns as acting
from muniment.nodes.state import PendingToolTurn, State, Who, find_turn_messages, get_reply, make_turn, resolve_speaker


async def record_turn(
    state: State, runtime: Runtime[Who], config: RunnableConfig, *, memory: Memory, settings: Settings
) -> State:
    """Record the turn with what was done in it, advance the thread's cursor, and tell the user what was not kept or not forgotten."""
    scope = resolve_speaker(state, runtime, config, settings.tenant)
    place = await time_travel.continue_turn(state, runtime, config, has_writes=True)
    answer = get_reply(state)
    waiting = state.get("to_record", {}) | {one.id: state["at"] for one in find_turn_messages(state) if one.id}
    if answer is not None and answer.id:
        waiting[answer.id] = memory.now().isoformat()
    tool_turns, earlier = acting.collect_tool_turns(state, scope, memory)
    waiting, acts = earlier | waiting, acting.add_pending_turns(state, scope, tool_turns)
    failed = state.get("unwritten", "")
    if not state.get("to_learn"):  # memory was up a moment ago; otherwise nobody should wait for it once more
        try:
            await _record_messages(state, scope, memory, waiting, acts, settings.limits.turn_chars)
            await _advance_cursor(state, scope, memory, place)
        except BadInput as error:
            failed, waiting, acts = failed or str(error), {}, []  # a later turn would fare no better
        except MunimentError as error:
            failed = failed or await failures.report_failure(memory, scope, "episodic", "create", error)
        else:
            waiting, acts = {}, []
    found = place | State(to_record=waiting, unwritten=failed, acts=acts)
    if not waiting:
        found |= await _capture_episode(state, scope, memory, settings)
    notes = [one for one in (state.get("unmet", ""), "" if state.get("unread") else failed) if one]
    if answer is not None and notes:
        # The same id: the message is replaced, the thread has one reply.
        found["messages"] = [AIMessage("\n\n".join([str(answer.text), *notes]), id=answer.id, name=answer.name)]
    return found


async def _record_messages(
    state: State,
    scope: Scope,
    memory: Memory,
    pending: dict[str, str],
    pending_turns: Sequence[PendingToolTurn],
    max_chars: int,
) -> None:
    """The ledger takes no message of more than `most` characters; its refusal was told by the hot path."""
    messages = [one for one in state["messages"] if one.id in pending and len(str(one.text)) <= max_chars]
    last_reply = get_reply(state)
    turns = [make_turn(scope, one, pending[str(one.id)]) for one in messages if one is not last_reply]
    turns += acting.load_turns(pending_turns, scope)
    if last_reply in messages:
        answer = make_turn(scope, last_reply, pending[str(last_reply.id)], state.get("recalled", ()))
        turns += acting.tag_turns(state, scope, [replace(answer, tags=(), path=None)])
    if turns:
        await memory.record(scope, turns)


async def _advance_cursor(state: State, scope: Scope, memory: Memory, place: State) -> None:
    """What a run in the past was shown says nothing about what the thread has seen."""
    rev = state.get("rev")
    if rev is not None and scope.thread and place["as_of"] is None:
        await memory.mark_seen(scope, Revision(rev))


async def _capture_episode(state: State, scope: Scope, memory: Memory, settings: Settings) -> State:
    """Capture an episode once enough was said by the thread's own count: until then it costs nothing."""
    rules, now = settings.episodes, memory.now()
    turn_count, since = state.get("untold", 0) + bool(find_turn_messages(state)), state.get("told_at") or state["at"]
    is_early = now - datetime.fromisoformat(since) < timedelta(minutes=rules.cooldown_minutes)
    if is_early or turn_count < rules.cooldown_turns or not rules.per_day or not scope.thread:
        return State(untold=turn_count, told_at=since)
    try:
        await memory.capture(scope)
    except MunimentError as error:
        # Everything that was said is in the ledger: the next look finds it.
        await failures.report_failure(memory, scope, "episodic", "create", error)
    return State(untold=0, told_at=now.isoformat())
