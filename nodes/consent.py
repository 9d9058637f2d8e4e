"""What a person answers to a question of consent: to an interrupt, or with the next message."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal
from uuid import UUID

from langchain_core.messages import HumanMessage
from langgraph.types import interrupt

from muniment.memory import codec
from muniment.memory.client import Memory
from muniment.memory.domain.consent import Consent
from muniment.memory.domain.scope import Scope
from muniment.memory.errors import MunimentError
from muniment.nodes.entry import make_output, report_failure
from muniment.nodes.state import State


async def ask_consent(state: State, scope: Scope, *, memory: Memory) -> State:
    """Ask by an interrupt. What an answer leaves unclear is asked again.

    A run that goes on without an answer leaves the requests as they are."""
    requests = state.get("asking", [])
    while requests:
        answer = interrupt(codec.encode_interrupt(requests))
        unclear = await _resume_requests(memory, scope, requests, answer)
        requests = [request for request in requests if request["id"] in unclear]
    update = State(asking=[])
    return update | make_output(state | update)


async def _resume_requests(memory: Memory, scope: Scope, requests: list[dict[str, str]], answer: Any) -> set[str]:
    """Decide those of the requests that are still pending; another process may have decided some. The ids of those
    whose answer is unclear."""
    try:
        ids = [UUID(request["id"]) for request in requests]
        answers = await memory.conversation.resume_consents(scope, ids, answer)
    except MunimentError as error:
        await report_failure(memory, scope, "hotpath", "update", error)
        return set()
    return {str(request.id) for request in answers if request.decision == "pending"}


async def apply_answer(
    state: State, messages: list[HumanMessage], scope: Scope, memory: Memory
) -> tuple[Sequence[Consent], str]:
    """Decide what was asked last, where the person's one message is an answer. The requests that it answers, pending
    where it is unclear, and what failed as a sentence."""
    if len(messages) != 1 or not is_typed(messages[0]):
        return (), ""
    ids = [UUID(id_) for id_ in state["to_confirm"]]
    try:
        return await memory.conversation.answer_consents(scope, ids, str(messages[0].text)), ""
    except MunimentError as error:
        return (), await report_failure(memory, scope, "hotpath", "update", error)


def is_typed(message: HumanMessage) -> bool:
    """Whether a message is nothing but what a person has typed: one text, that was read from no file."""
    is_one_text = isinstance(message.content, str) or (
        len(message.content) == 1 and (isinstance(block := message.content[0], str) or block.get("type") == "text")
    )
    return is_one_text and not message.additional_kwargs.get("path")


def route_consent(state: State) -> Literal["consent", "__end__"]:
    """The node after the last one of a turn: `consent` where a person is asked by an interrupt, else the end."""
    return "consent" if state.get("asking") else "__end__"
