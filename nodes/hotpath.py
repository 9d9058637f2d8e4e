"""Beside the reply: keep what the user said. Deterministic and cheap; no model is asked."""

from __future__ import annotations

from uuid import UUID

from langchain_core.messages import HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.runtime import Runtime

from muniment.memory import codec
from muniment.memory.client import Memory
from muniment.memory.config.settings import Settings
from muniment.memory.domain.consent import SENSITIVE
from muniment.memory.domain.scope import Scope
from muniment.memory.errors import BadInput, MunimentError, StoreError
from muniment.nodes import failures
from muniment.nodes.state import State, Who, find_turn_messages, make_turn, resolve_speaker

_MAX_RECENT = 20  # messages of a thread that a background job may have found something in


async def learn_messages(
    state: State, runtime: Runtime[Who], config: RunnableConfig, *, memory: Memory, settings: Settings
) -> State:
    """Learn from the user's messages, those first that an earlier turn could not give to memory."""
    scope = resolve_speaker(state, runtime, config, settings.tenant)
    waiting = state.get("to_learn", {}) | {one.id: state["at"] for one in find_turn_messages(state) if one.id}
    update = State(
        writes=[], unmet="", unwritten="", asking=[], to_confirm=[], decided=await _apply_answer(state, scope, memory)
    )
    messages = [one for one in state["messages"] if one.id in waiting]
    waiting = {str(one.id): waiting[str(one.id)] for one in messages}  # a message that was removed waits no longer
    for message in messages:
        try:
            receipt = await memory.learn(scope, make_turn(scope, message, waiting[str(message.id)]))
        except MunimentError as error:
            update["unwritten"] = await failures.report_failure(memory, scope, "hotpath", "create", error)
            if not isinstance(error, BadInput) and type(error) is not StoreError:
                break  # the rest would fail the same way; it waits for the next turn
        else:
            update["writes"] += [codec.encode_change(one) for one in receipt.changes]
            update["asking"] += [
                codec.encode_consent_request(one) for one in receipt.consent_requests if one.field in SENSITIVE
            ]
            update["unmet"] = "\n\n".join(filter(None, [update["unmet"], *receipt.unmatched_requests]))
        waiting.pop(str(message.id))
    if not update["unwritten"]:
        update["asking"] += await _find_new_requests(state, scope, memory, {one["id"] for one in update["asking"]})
    request_ids = dict.fromkeys([*state.get("was_asked", ()), *(one["id"] for one in update["asking"])])
    return update | State(to_learn=waiting, was_asked=list(request_ids))


async def _find_new_requests(state: State, scope: Scope, memory: Memory, asked_ids: set[str]) -> list[dict[str, str]]:
    """The requests that a model has found in this thread's messages since, each asked about once."""
    known_ids = asked_ids.union(state.get("was_asked", ()))
    messages = [one for one in state["messages"] if isinstance(one, HumanMessage)][-_MAX_RECENT:]
    turns = {make_turn(scope, one, state["at"]).id for one in messages}
    try:
        requests = await memory.consents(scope)
    except MunimentError as error:
        await failures.report_failure(memory, scope, "hotpath", "search", error)
        return []
    return [
        codec.encode_consent_request(one)
        for one in requests
        if one.field in SENSITIVE and str(one.id) not in known_ids and turns.intersection(one.turns)
    ]


async def _apply_answer(state: State, scope: Scope, memory: Memory) -> str:
    """What a clear yes or no makes of the requests that the last reply asked about, as a sentence for the person."""
    ids, messages = state.get("to_confirm", []), find_turn_messages(state)
    if not ids or len(messages) != 1:
        return ""
    try:
        decisions = await memory.answer_consents(scope, [UUID(one) for one in ids], str(messages[0].text))
    except MunimentError as error:
        return await failures.report_failure(memory, scope, "hotpath", "update", error)
    return codec.format_decisions(decisions)
