"""The node that asks a person for consent by an interrupt."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from langgraph.types import interrupt

from muniment.memory import codec
from muniment.memory.client import Memory
from muniment.memory.domain.scope import Scope
from muniment.memory.errors import MunimentError
from muniment.nodes.entry import report_failure
from muniment.nodes.state import State


async def ask_consent(state: State, scope: Scope, *, memory: Memory) -> State:
    """Ask by an interrupt. What an answer leaves unclear is asked again.

    A run that goes on without an answer leaves the requests as they are."""
    requests = state.get("asking", [])
    while requests:
        answer = interrupt(codec.encode_interrupt(requests))
        unclear = await _resume_requests(memory, scope, requests, answer)
        requests = [request for request in requests if request["id"] in unclear]
    return State(asking=[])


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
