"""Beside the reply: keep what the user said. Deterministic and cheap; no model is asked."""

from __future__ import annotations

from uuid import UUID

from langchain_core.messages import HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.runtime import Runtime

from muniment.memory import codec as wire
from muniment.memory.client import Memory
from muniment.memory.config.settings import Settings
from muniment.memory.domain.consent import SENSITIVE
from muniment.memory.domain.scope import Scope
from muniment.memory.errors import BadInput, MunimentError, StoreError
from muniment.nodes import trouble
from muniment.nodes.state import State, Who, asked, speaker, turn

_RECENT = 20  # messages of a thread that a background job may have found something in


async def hotpath(
    state: State, runtime: Runtime[Who], config: RunnableConfig, *, memory: Memory, settings: Settings
) -> State:
    """Learn from the user's messages, those first that an earlier turn could not give to memory."""
    who = speaker(state, runtime, config, settings.tenant)
    waiting = state.get("to_learn", {}) | {one.id: state["at"] for one in asked(state) if one.id}
    found = State(
        writes=[], unmet="", unwritten="", asking=[], to_confirm=[], decided=await _answered(state, who, memory)
    )
    messages = [one for one in state["messages"] if one.id in waiting]
    waiting = {str(one.id): waiting[str(one.id)] for one in messages}  # a message that was removed waits no longer
    for message in messages:
        try:
            receipt = await memory.learn(who, turn(who, message, waiting[str(message.id)]))
        except MunimentError as error:
            found["unwritten"] = await trouble.note(memory, who, "hotpath", "create", error)
            if not isinstance(error, BadInput) and type(error) is not StoreError:
                break  # the rest would fail the same way; it waits for the next turn
        else:
            found["writes"] += [wire.change(one) for one in receipt.changes]
            found["asking"] += [wire.request(one) for one in receipt.asked if one.field in SENSITIVE]
            found["unmet"] = "\n\n".join(filter(None, [found["unmet"], *receipt.unmet]))
        waiting.pop(str(message.id))
    if not found["unwritten"]:
        found["asking"] += await _found_since(state, who, memory, {one["id"] for one in found["asking"]})
    told = dict.fromkeys([*state.get("was_asked", ()), *(one["id"] for one in found["asking"])])
    return found | State(to_learn=waiting, was_asked=list(told))


async def _found_since(state: State, who: Scope, memory: Memory, asking: set[str]) -> list[dict[str, str]]:
    """The requests that a model has found in this thread's messages since, each asked about once."""
    known = asking.union(state.get("was_asked", ()))
    said = [one for one in state["messages"] if isinstance(one, HumanMessage)][-_RECENT:]
    turns = {turn(who, one, state["at"]).id for one in said}
    try:
        waiting = await memory.consents(who)
    except MunimentError as error:
        await trouble.note(memory, who, "hotpath", "search", error)
        return []
    return [
        wire.request(one)
        for one in waiting
        if one.field in SENSITIVE and str(one.id) not in known and turns.intersection(one.turns)
    ]


async def _answered(state: State, who: Scope, memory: Memory) -> str:
    """What a clear yes or no makes of the requests that the last reply asked about, as a sentence for the person."""
    ids, said = state.get("to_confirm", []), asked(state)
    if not ids or len(said) != 1:
        return ""
    try:
        decided = await memory.answer(who, [UUID(one) for one in ids], str(said[0].text))
    except MunimentError as error:
        return await trouble.note(memory, who, "hotpath", "update", error)
    return wire.decided(decided)
