"""How an agent talks with its model: what it is shown, and the rounds of tool calls until it answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from langchain_core.messages import AnyMessage

from muniment.memory.errors import BadModelAnswer, ModelError, OverBudget
from muniment.memory.fence import fence_text
from muniment.memory.ports.llm import ChatMessage, ChatModel
from muniment.nodes.state import Report, State, Task
from muniment.nodes.tools import Toolbox

_ROLES: dict[str, Literal["user", "assistant", "system"]] = {"human": "user", "ai": "assistant", "system": "system"}


def build_prompt(state: State, instructions: str, max_chars: int) -> list[ChatMessage]:
    """The supervisor's prompt: what lasts, the thread, and last what moves.

    The first message stays the same, byte for byte, while the profile does; with the thread behind it the prompt of one
    turn begins like that of the turn before, which is what a provider's prompt cache needs. Messages of more than
    `most` characters were refused and are left out."""
    profile = fence_text(state.get("stable", ""))
    opening = f"{instructions}\n\nWhat is known about the person:\n{profile}" if profile else instructions
    moving = [state.get("moving", ""), *map(_format_report, state.get("reports", ()))]
    last = "\n\n".join(filter(None, moving))
    return [
        ChatMessage(role="system", content=opening),
        *_convert_thread(state["messages"], max_chars),
        *([ChatMessage(role="system", content=last)] if last else []),
    ]


async def run_dialogue(
    model: ChatModel, messages: Sequence[ChatMessage], toolbox: Toolbox, max_rounds: int
) -> ChatMessage | Task:
    """The model's final words, or the task it hands over. After so many rounds of calls it has to answer.

    Raises ModelError."""
    said = list(messages)
    for _ in range(max_rounds):
        try:
            message = (await model.chat(said, toolbox.tools)).message
        except BadModelAnswer as error:
            if "call" not in error.data or error.data["finish_reason"] == "length":  # it would be cut off again
                raise
            said.append(ChatMessage(role="system", content=f"Error: {error} Call again, or answer."))
            continue
        if not message.tool_calls:
            return message
        if task := next(filter(None, map(toolbox.parse_task, message.tool_calls)), None):
            return task
        results = [(call.id, await toolbox.run_call(call)) for call in message.tool_calls]
        said += [message, *(ChatMessage(role="tool", content=text, tool_call_id=id_) for id_, text in results)]
    message = (await model.chat(said)).message
    if not message.content.strip():
        raise BadModelAnswer("The model calls tools without end.", model=model.name)
    return message


def explain_failure(error: ModelError) -> str:
    """Why there is no answer, as the beginning of a sentence."""
    if isinstance(error, OverBudget):
        return "Today's budget for the model is used up"
    # A 401 says that the key is wrong, or that there is none.
    status = f", status {error.data['status']}" if "status" in error.data else ""
    return f"The model did not answer ({type(error).__name__}{status})"


def _convert_thread(messages: Sequence[AnyMessage], max_chars: int) -> list[ChatMessage]:
    texts = [(_ROLES.get(one.type), str(one.text)) for one in messages]
    return [ChatMessage(role=role, content=text) for role, text in texts if role and text and len(text) <= max_chars]


def _format_report(report: Report) -> str:
    return f"Report of the {report['agent']} on the task {report['task']!r}:\n{fence_text(report['text'])}"
