"""Beside the reply: learn from what the user said. Deterministic and cheap; no model is asked."""

from __future__ import annotations

from uuid import UUID

from langchain_core.messages import HumanMessage

from muniment.memory import codec
from muniment.memory.client import Memory
from muniment.memory.domain.consent import SENSITIVE
from muniment.memory.domain.scope import Scope
from muniment.memory.errors import BadInput, MunimentError, StoreError
from muniment.nodes.entry import report_failure
from muniment.nodes.state import State, find_turn_messages, make_turn

_MAX_RECENT = 20  # messages of a thread in which a background job may have found something


async def learn_messages(state: State, scope: Scope, *, memory: Memory) -> State:
    """Learn from the user's messages, those first that memory could not take in an earlier turn."""
    messages = find_turn_messages(state)
    update = State(
        writes=[],
        unmet="",
        unwritten="",
        asking=[],
        to_confirm=[],
        decided=await _apply_answer(state, messages, scope, memory),
    )
    times = state.get("to_learn", {}) | {message.id: state["at"] for message in messages if message.id}
    # A message that was removed from the thread waits no longer.
    waiting = {message.id: message for message in state["messages"] if message.id in times}
    for id_, message in list(waiting.items()):
        try:
            receipt = await memory.learn(scope, make_turn(scope, message, times[str(id_)]))
        except MunimentError as error:
            update["unwritten"] = await report_failure(memory, scope, "hotpath", "create", error)
            if not isinstance(error, BadInput) and type(error) is not StoreError:
                break  # the rest would fail in the same way; it waits for the next turn
        else:
            update["writes"] += [codec.encode_change(change) for change in receipt.changes]
            update["asking"] += [
                codec.encode_consent_request(request)
                for request in receipt.consent_requests
                if request.field in SENSITIVE
            ]
            update["unmet"] = "\n\n".join(filter(None, [update["unmet"], *receipt.unmatched_requests]))
        waiting.pop(id_)
    if not update["unwritten"]:
        update["asking"] += await _find_new_requests(
            state, scope, memory, {request["id"] for request in update["asking"]}
        )
    request_ids = dict.fromkeys([*state.get("was_asked", ()), *(request["id"] for request in update["asking"])])
    return update | State(to_learn={str(id_): times[str(id_)] for id_ in waiting}, was_asked=list(request_ids))


async def _find_new_requests(
    state: State, scope: Scope, memory: Memory, new_request_ids: set[str]
) -> list[dict[str, str]]:
    """The requests that a model has found in this thread's messages since; each is asked about once."""
    old_ids = new_request_ids.union(state.get("was_asked", ()))
    messages = [message for message in state["messages"] if isinstance(message, HumanMessage)][-_MAX_RECENT:]
    turn_ids = {make_turn(scope, message, state["at"]).id for message in messages}
    try:
        requests = await memory.list_consents(scope)
    except MunimentError as error:
        await report_failure(memory, scope, "hotpath", "search", error)
        return []
    return [
        codec.encode_consent_request(request)
        for request in requests
        if request.field in SENSITIVE and str(request.id) not in old_ids and turn_ids.intersection(request.turns)
    ]


async def _apply_answer(state: State, messages: list[HumanMessage], scope: Scope, memory: Memory) -> str:
    """Decide what the last reply asked about, where the message is a clear yes or no; the decision as a sentence."""
    ids = state.get("to_confirm", [])
    if not ids or len(messages) != 1:
        return ""
    try:
        decisions = await memory.conversation.answer_consents(scope, [UUID(id_) for id_ in ids], str(messages[0].text))
    except MunimentError as error:
        return await report_failure(memory, scope, "hotpath", "update", error)
    return codec.format_decisions(decisions)
