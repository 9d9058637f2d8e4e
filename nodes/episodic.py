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
from muniment.nodes import acting, past, trouble
from muniment.nodes.state import Acted, State, Who, asked, reply, speaker, turn


async def episodic(
    state: State, runtime: Runtime[Who], config: RunnableConfig, *, memory: Memory, settings: Settings
) -> State:
    """Record the turn with what was done in it, advance the thread's cursor, and tell the user what was not kept or not forgotten."""
    who = speaker(state, runtime, config, settings.tenant)
    place = await past.go_on(state, runtime, config, written=True)
    answer = reply(state)
    waiting = state.get("to_record", {}) | {one.id: state["at"] for one in asked(state) if one.id}
    if answer is not None and answer.id:
        waiting[answer.id] = memory.now().isoformat()
    handed, told = acting.handed(state, who, memory)
    waiting, acts = told | waiting, acting.waiting(state, who, handed)
    failed = state.get("unwritten", "")
    if not state.get("to_learn"):  # memory was up a moment ago; otherwise nobody should wait for it once more
        try:
            await _record(state, who, memory, waiting, acts, settings.limits.turn_chars)
            await _seen(state, who, memory, place)
        except BadInput as error:
            failed, waiting, acts = failed or str(error), {}, []  # a later turn would fare no better
        except MunimentError as error:
            failed = failed or await trouble.note(memory, who, "episodic", "create", error)
        else:
            waiting, acts = {}, []
    found = place | State(to_record=waiting, unwritten=failed, acts=acts)
    if not waiting:
        found |= await _tell(state, who, memory, settings)
    notes = [one for one in (state.get("unmet", ""), "" if state.get("unread") else failed) if one]
    if answer is not None and notes:
        # The same id: the message is replaced, the thread has one reply.
        found["messages"] = [AIMessage("\n\n".join([str(answer.text), *notes]), id=answer.id, name=answer.name)]
    return found


async def _record(
    state: State, who: Scope, memory: Memory, waiting: dict[str, str], acts: Sequence[Acted], most: int
) -> None:
    """The ledger takes no message of more than `most` characters; its refusal was told by the hot path."""
    known = [one for one in state["messages"] if one.id in waiting and len(str(one.text)) <= most]
    said = reply(state)
    turns = [turn(who, one, waiting[str(one.id)]) for one in known if one is not said]
    turns += acting.done(acts, who)
    if said in known:
        answer = turn(who, said, waiting[str(said.id)], state.get("recalled", ()))
        turns += acting.marked(state, who, [replace(answer, tags=(), path=None)])
    if turns:
        await memory.record(who, turns)


async def _seen(state: State, who: Scope, memory: Memory, place: State) -> None:
    """What a run in the past was shown says nothing about what the thread has seen."""
    rev = state.get("rev")
    if rev is not None and who.thread and place["as_of"] is None:
        await memory.seen(who, Revision(rev))


async def _tell(state: State, who: Scope, memory: Memory, settings: Settings) -> State:
    """Capture an episode once enough was said by the thread's own count: until then it costs nothing."""
    rules, now = settings.episodes, memory.now()
    untold, since = state.get("untold", 0) + bool(asked(state)), state.get("told_at") or state["at"]
    early = now - datetime.fromisoformat(since) < timedelta(minutes=rules.cooldown_minutes)
    if early or untold < rules.cooldown_turns or not rules.per_day or not who.thread:
        return State(untold=untold, told_at=since)
    try:
        await memory.capture(who)
    except MunimentError as error:
        # Everything that was said is in the ledger: the next look finds it.
        await trouble.note(memory, who, "episodic", "create", error)
    return State(untold=0, told_at=now.isoformat())
