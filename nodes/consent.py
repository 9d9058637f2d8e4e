"""After everything else: ask the person whether the profile may change, and tell what became of an earlier question."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal
from uuid import UUID

from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableConfig
from langgraph.runtime import Runtime
from langgraph.types import interrupt

from muniment.memory import codec
from muniment.memory.client import Memory
from muniment.memory.config.settings import Settings
from muniment.memory.domain.scope import Scope
from muniment.memory.errors import MunimentError
from muniment.nodes import failures, time_travel
from muniment.nodes.state import State, Who, get_reply, resolve_speaker

_ANSWERS: Mapping[str, bool] = {"yes": True, "true": True, "no": False, "false": False}


def route_consent(state: State) -> Literal["consent", "__end__"]:
    """Where the worker goes next: only a turn with something to ask or to tell has this node."""
    return "consent" if state.get("asking") or state.get("decided") else "__end__"


async def ask_consent(
    state: State, runtime: Runtime[Who], config: RunnableConfig, *, memory: Memory, settings: Settings, interrupts: bool
) -> State:
    """Ask by an interrupt, or by the last line of the reply: then the next message may answer it.

    An interrupt is resumed with yes or no for all, or with `{request id: yes or no}`. Whoever goes on without an answer
    leaves the requests as they are."""
    scope, asking = resolve_speaker(state, runtime, config, settings.tenant), state.get("asking", [])
    place = await time_travel.continue_turn(state, runtime, config, has_writes=True)
    if asking and interrupts:
        answer = interrupt({"consent": asking})
        await _decide_requests(memory, scope, asking, answer)
        return place | State(asking=[])
    last_reply = get_reply(state)
    if last_reply is None:
        return place | State(asking=[])
    lines = [state.get("decided", ""), codec.format_consent_question(asking) if asking else ""]
    text = "\n\n".join(filter(None, [str(last_reply.text), *lines]))
    # The same id: the message is replaced, the thread has one reply.
    message = AIMessage(text, id=last_reply.id, name=last_reply.name)
    return place | State(messages=[message], asking=[], decided="", to_confirm=[one["id"] for one in asking])


async def _decide_requests(memory: Memory, scope: Scope, asking: list[dict[str, str]], answer: Any) -> None:
    """Of the requests only those that still wait: what was decided elsewhere meanwhile, or replaced, keeps no other waiting."""
    decisions = {
        one["id"]: _parse_answer(answer.get(one["id"]) if isinstance(answer, Mapping) else answer) for one in asking
    }
    for approve in (True, False):
        try:
            pending_ids = {str(one.id) for one in await memory.consents(scope)}
            if ids := [UUID(id_) for id_, meant in decisions.items() if meant is approve and id_ in pending_ids]:
                await memory.decide_consents(scope, ids, approve=approve, node="hotpath")
        except MunimentError as error:
            await failures.report_failure(memory, scope, "hotpath", "update", error)


def _parse_answer(answer: Any) -> bool | None:
    """What an answer to an interrupt means; None leaves the request waiting."""
    if isinstance(answer, bool):
        return answer
    return _ANSWERS.get(answer.strip().casefold()) if isinstance(answer, str) else None
