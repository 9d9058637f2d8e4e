"""After everything else: ask the person whether the profile may change, and tell what became of an earlier question."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal
from uuid import UUID

from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableConfig
from langgraph.runtime import Runtime
from langgraph.types import interrupt

from muniment.memory import codec as wire
from muniment.memory.client import Memory
from muniment.memory.config.settings import Settings
from muniment.memory.domain.scope import Scope
from muniment.memory.errors import MunimentError
from muniment.nodes import past, trouble
from muniment.nodes.state import State, Who, reply, speaker

_SAID: Mapping[str, bool] = {"yes": True, "true": True, "no": False, "false": False}


def needed(state: State) -> Literal["consent", "__end__"]:
    """Where the worker goes next: only a turn with something to ask or to tell has this node."""
    return "consent" if state.get("asking") or state.get("decided") else "__end__"


async def consent(
    state: State, runtime: Runtime[Who], config: RunnableConfig, *, memory: Memory, settings: Settings, interrupts: bool
) -> State:
    """Ask by an interrupt, or by the last line of the reply: then the next message may answer it.

    An interrupt is resumed with yes or no for all, or with `{request id: yes or no}`. Whoever goes on without an answer
    leaves the requests as they are."""
    who, asking = speaker(state, runtime, config, settings.tenant), state.get("asking", [])
    place = await past.go_on(state, runtime, config, written=True)
    if asking and interrupts:
        answer = interrupt({"consent": asking})
        await _decide(memory, who, asking, answer)
        return place | State(asking=[])
    answered = reply(state)
    if answered is None:
        return place | State(asking=[])
    lines = [state.get("decided", ""), wire.question(asking) if asking else ""]
    text = "\n\n".join(filter(None, [str(answered.text), *lines]))
    # The same id: the message is replaced, the thread has one reply.
    told = AIMessage(text, id=answered.id, name=answered.name)
    return place | State(messages=[told], asking=[], decided="", to_confirm=[one["id"] for one in asking])


async def _decide(memory: Memory, who: Scope, asking: list[dict[str, str]], answer: Any) -> None:
    """Of the requests only those that still wait: what was decided elsewhere meanwhile, or replaced, keeps no other waiting."""
    said = {one["id"]: _meant(answer.get(one["id"]) if isinstance(answer, Mapping) else answer) for one in asking}
    for approve in (True, False):
        try:
            waiting = {str(one.id) for one in await memory.consents(who)}
            if ids := [UUID(id_) for id_, meant in said.items() if meant is approve and id_ in waiting]:
                await memory.decide(who, ids, approve=approve, node="hotpath")
        except MunimentError as error:
            await trouble.note(memory, who, "hotpath", "update", error)


def _meant(answer: Any) -> bool | None:
    """What an answer to an interrupt means; None leaves the request waiting."""
    if isinstance(answer, bool):
        return answer
    return _SAID.get(answer.strip().casefold()) if isinstance(answer, str) else None
