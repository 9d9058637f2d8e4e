"""A colleague at work: one task, its own part of memory, one report to the supervisor."""

from __future__ import annotations

from langchain_core.runnables import RunnableConfig
from langgraph.runtime import Runtime

from muniment.memory.client import Memory
from muniment.memory.config.settings import Settings
from muniment.memory.errors import ModelError
from muniment.memory.ports.llm import ChatMessage, ChatModel
from muniment.nodes import past
from muniment.nodes.acting import latest, waiting
from muniment.nodes.dialogue import converse, failed
from muniment.nodes.state import Report, State, Who, speaker
from muniment.nodes.tools import Toolbox


async def subagent(
    state: State,
    runtime: Runtime[Who],
    config: RunnableConfig,
    *,
    memory: Memory,
    model: ChatModel,
    settings: Settings,
    agent: str,
    instructions: str,
) -> State:
    """Do the task at hand and add the report. A model that fails is reported, not raised."""
    who, handoff = speaker(state, runtime, config, settings.tenant), state.get("handoff")
    place = await past.go_on(state, runtime, config)
    if handoff is None:
        return place
    key = " ".join([*state.get("asked", ())[-1:], str(state.get("handoffs", 0))])
    toolbox = Toolbox(memory=memory, settings=settings, scope=who, agent=agent, as_of=place["as_of"], turn=key,
                      since=latest(state))  # fmt: skip
    messages = [ChatMessage(role="system", content=instructions), ChatMessage(role="user", content=handoff["task"])]
    try:
        outcome = await converse(memory.meter(who, model), messages, toolbox, settings.model.tool_rounds)
    except ModelError as error:
        why = failed(error)
        text = f"The {agent} could not work on it: {why[0].lower()}{why[1:]}."
    else:
        text = outcome.content if isinstance(outcome, ChatMessage) else ""
    report = Report(agent=agent, task=handoff["task"], text=text)
    recalled = [*state.get("recalled", ()), *toolbox.recalled]
    told = State(reports=[*state.get("reports", ()), report], handoff=None, recalled=recalled)
    return place | told | State(acts=waiting(state, who, toolbox.acts))
