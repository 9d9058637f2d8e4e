"""The last node: ask the person whether the profile may change, and say what became of an earlier question."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal
from uuid import UUID

from langchain_core.messages import AIMessage
from langgraph.types import interrupt

from muniment.memory import codec
from muniment.memory.client import Memory
from muniment.memory.domain.scope import Scope
from muniment.memory.errors import MunimentError
from muniment.nodes.entry import report_failure
from muniment.nodes.state import State, get_reply

_ANSWERS: Mapping[str, bool] = {"yes": True, "true": True, "no": False, "false": False}


def route_consent(state: State) -> Literal["consent", "__end__"]:
    """The node after `worker`: `consent` where there is a question or a decision, else the end."""
    return "consent" if state.get("asking") or state.get("decided") else "__end__"


async def ask_consent(state: State, scope: Scope, *, memory: Memory, interrupts: bool) -> State:
    """Ask by an interrupt, or by the last line of the reply: then the next message may answer it.

    An interrupt is resumed with yes or no for all, or with `{request id: yes or no}`. A run that goes on without an
    answer leaves the requests as they are."""
    requests = state.get("asking", [])
    if requests and interrupts:
        answer = interrupt({"consent": requests})
        await _decide_requests(memory, scope, requests, answer)
        return State(asking=[])
    reply = get_reply(state)
    if reply is None:
        return State(asking=[])
    lines = [state.get("decided", ""), codec.format_consent_question(requests) if requests else ""]
    text = "\n\n".join(filter(None, [str(reply.text), *lines]))
    # The same id: the message is replaced, the thread has one reply.
    message = AIMessage(text, id=reply.id, name=reply.name)
    return State(messages=[message], asking=[], decided="", to_confirm=[request["id"] for request in requests])


async def _decide_requests(memory: Memory, scope: Scope, requests: list[dict[str, str]], answer: Any) -> None:
    """Decide those of the requests that are still pending; another process may have decided some."""
    decisions = {
        request["id"]: _parse_answer(answer.get(request["id"]) if isinstance(answer, Mapping) else answer)
        for request in requests
    }
    for approve in (True, False):
        try:
            pending_ids = {str(consent.id) for consent in await memory.list_consents(scope)}
            if ids := [UUID(id_) for id_, yes in decisions.items() if yes is approve and id_ in pending_ids]:
                await memory.decide_consents(scope, ids, approve=approve, node="hotpath")
        except MunimentError as error:
            await report_failure(memory, scope, "hotpath", "update", error)


def _parse_answer(answer: Any) -> bool | None:
    """What an answer to an interrupt means; None leaves the request pending."""
    if isinstance(answer, bool):
        return answer
    return _ANSWERS.get(answer.strip().casefold()) if isinstance(answer, str) else None
