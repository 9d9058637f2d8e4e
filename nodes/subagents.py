"""A colleague at work: one task, its own part of memory, one report to the supervisor."""

from __future__ import annotations

from dataclasses import replace

from langchain_core.language_models import BaseChatModel

from muniment.memory.client import Memory
from muniment.memory.config.settings import Settings
from muniment.memory.domain.scope import Scope
from muniment.memory.errors import ModelError
from muniment.memory.ports.llm import ChatAnswer, ChatMessage, ToolCall
from muniment.nodes.chat_model import RunModel
from muniment.nodes.dialogue import explain_failure, run_dialogue
from muniment.nodes.reply_stream import ReplyStream
from muniment.nodes.state import Report, State
from muniment.nodes.tool_turns import add_pending_turns, find_latest_time
from muniment.nodes.tools import TRANSFER_PREFIX, Toolbox


async def run_subagent(
    state: State,
    scope: Scope,
    *,
    memory: Memory,
    model: BaseChatModel,
    settings: Settings,
    agent: str,
    instructions: str,
) -> State:
    """Do the task of the state and add the report. A model that fails is reported, not raised."""
    handoff = state.get("handoff")
    if handoff is None:
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
    )
    stream = ReplyStream(agent, {tool.name for tool in toolbox.tools})
    toolbox = replace(toolbox, stream=stream)
    messages = [ChatMessage(role="system", content=instructions), ChatMessage(role="user", content=handoff["task"])]
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
