"""The dialogue of an agent with its model: the prompt, and the rounds of tool calls until the answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from langchain_core.messages import AnyMessage

from muniment.memory.errors import BadModelAnswer, ModelError, OverBudget
from muniment.memory.payload import fence_text
from muniment.memory.ports.llm import ChatMessage, ChatModel
from muniment.nodes.state import Report, State, Task
from muniment.nodes.tools import Toolbox

_ROLES: dict[str, Literal["user", "assistant", "system"]] = {"human": "user", "ai": "assistant", "system": "system"}


def build_prompt(state: State, instructions: str, max_chars: int) -> list[ChatMessage]:
    """The supervisor's prompt: the lasting part, the thread, and last the part that changes with each turn.

    The first message stays byte-equal while the profile does, and the thread follows it: so the prompt of a turn begins
    like that of the turn before, as a provider's prompt cache needs. Messages of more than `max_chars` are left out."""
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
    """The model's answer, or the task that it hands over. After `max_rounds` of calls it has no tools any more.

    Raises ModelError."""
    prompt = list(messages)
    for _ in range(max_rounds):
        try:
            message = (await model.chat(prompt, toolbox.tools)).message
        except BadModelAnswer as error:
            if (
                "call" not in error.data or error.data["finish_reason"] == "length"
            ):  # the next answer would be cut off, too
                raise
            prompt.append(ChatMessage(role="system", content=f"Error: {error} Call again, or answer."))
            continue
        if not message.tool_calls:
            return message
        if task := next(filter(None, map(toolbox.parse_task, message.tool_calls)), None):
            return task
        results = [(call.id, await toolbox.run_call(call)) for call in message.tool_calls]
        prompt += [message, *(ChatMessage(role="tool", content=text, tool_call_id=id_) for id_, text in results)]
    message = (await model.chat(prompt)).message
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
    texts = [(_ROLES.get(message.type), str(message.text)) for message in messages]
    return [ChatMessage(role=role, content=text) for role, text in texts if role and text and len(text) <= max_chars]


def _format_report(report: Report) -> str:
    return f"Report of the {report['agent']} on the task {report['task']!r}:\n{fence_text(report['text'])}"
