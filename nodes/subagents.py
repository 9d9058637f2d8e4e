"""A colleague at work: one task, its own part of memory, one report to the supervisor."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.tools import BaseTool
from langgraph.prebuilt import ToolNode

from muniment.memory.client import Memory
from muniment.memory.config.settings import Settings
from muniment.memory.domain.scope import Scope
from muniment.memory.errors import ModelError
from muniment.memory.ports.llm import ChatAnswer, ChatMessage, ChatModel, ToolCall
from muniment.nodes.chat_model import RunModel
from muniment.nodes.dialogue import explain_failure, run_dialogue
from muniment.nodes.prompts import build_subagent_prompt, load_prompt
from muniment.nodes.reply_stream import ReplyStream
from muniment.nodes.state import Report, State
from muniment.nodes.tool_turns import add_pending_turns, find_latest_time
from muniment.nodes.tools import SUBAGENTS, TRANSFER_PREFIX, Toolbox


@dataclass(frozen=True, kw_only=True)
class Subagent:
    """A colleague to whom the supervisor hands tasks of one kind. It reads what the allowlist of its name has.

    `description` says what it is for, `instructions` who it is and how it works. `tools` are those beside
    `memory_query`; without a model of its own it has the supervisor's."""

    name: str
    description: str
    instructions: str
    tools: Sequence[BaseTool | Callable[..., Any]] = ()
    model: ChatModel | BaseChatModel | None = None


def load_subagents() -> tuple[Subagent, ...]:
    """The subagents that a graph has when nobody names others."""
    return tuple(
        Subagent(name=name, description=description, instructions=load_prompt(name))
        for name, description in SUBAGENTS.items()
    )


async def run_subagent(
    state: State,
    scope: Scope,
    *,
    memory: Memory,
    model: BaseChatModel | None,
    settings: Settings,
    subagent: Subagent,
    own: ToolNode | None,
) -> State:
    """Do the task of the state and add the report. A model that fails is reported, not raised."""
    handoff, agent = state.get("handoff"), subagent.name
    if handoff is None or model is None:
        return State()
    key = " ".join([*state.get("asked", ())[-1:], str(state.get("handoffs", 0))])
    toolbox = Toolbox(
        memory=memory,
        settings=settings,
        scope=scope,
        agent=agent,
        as_of=state.get("as_of"),
        message_id=key,
        previous_time=find_latest_time(state),
        own=own,
        state=state,
    )
    stream = ReplyStream(agent, {tool.name for tool in toolbox.tools}, memory.conversation.redact)
    toolbox = replace(toolbox, stream=stream)
    messages = [
        ChatMessage(role="system", content=build_subagent_prompt(subagent.instructions)),
        ChatMessage(role="user", content=handoff["task"]),
    ]
    metered = memory.conversation.meter_model(scope, RunModel(model, stream))
    text, ok = "", True
    try:
        outcome = await run_dialogue(metered, stream, messages, toolbox, settings.model.tool_rounds)
    except ModelError as error:
        reason = explain_failure(error)
        text, ok = f"The {agent} could not work on it: {reason[0].lower()}{reason[1:]}.", False
    else:
        if isinstance(outcome, ChatAnswer):  # it has no colleagues to hand over to
            text = str(stream.end_answer(outcome, outcome.message.content).text)
    transfer = ToolCall(id=handoff.get("call", ""), name=f"{TRANSFER_PREFIX}{agent}", arguments={})
    stream.show_result(transfer, text, ok=ok)
    report = Report(agent=agent, task=handoff["task"], text=text)
    return State(
        reports=[*state.get("reports", ()), report],
        handoff=None,
        recalled=[*state.get("recalled", ()), *map(str, toolbox.recalled)],
        acts=add_pending_turns(state, scope, toolbox.turns),
        tool_messages=[*state.get("tool_messages", ()), *stream.messages],
    )
