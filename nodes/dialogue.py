"""The dialogue of an agent with its model: the prompt, and the rounds of tool calls until the answer."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence, Set as AbstractSet
from dataclasses import asdict, replace
from typing import Literal

from langchain_core.messages import AnyMessage

from muniment.chain.placement import append_text
from muniment.memory.errors import BadModelAnswer, ModelError, OverBudget
from muniment.memory.payload import fence_text
from muniment.memory.ports.llm import ChatAnswer, ChatMessage, ChatModel, Tool
from muniment.nodes.chain.prompt_window import list_readable
from muniment.nodes.confidence import format_confidence
from muniment.nodes.reply_stream import ReplyStream
from muniment.nodes.state import Report, State, Task
from muniment.nodes.tools import Toolbox
from muniment.nodes.written_calls import WrittenAnswer, read_answer

_ROLES: dict[str, Literal["user", "assistant", "system"]] = {"human": "user", "ai": "assistant", "system": "system"}
_LEFT_OUT = "(Earlier messages of this conversation are left out. What they say can be searched for in memory.)"
_BEGINNING = "(The conversation begins.)"  # before an assistant that speaks first
_CUT_OFF = (
    "(This reply was cut off: it has reached the limit of tokens, model.max_output_tokens.)",
    "（回复已达到长度上限 model.max_output_tokens，到此中断。）",
)
_CJK = re.compile(r"[\u3400-\u9fff]")


def build_prompt(state: State, instructions: str, max_chars: int, first: str = "") -> list[ChatMessage]:
    """The supervisor's prompt: the lasting part, the thread, and in its last message the part that changes with each
    turn.

    The first message stays byte-equal while the profile does, and the thread follows it: so the prompt of a turn begins
    like that of the turn before, as a provider's prompt cache needs. Messages of more than `max_chars` are left out,
    and those before the message `first`, empty for none.
    The roles are system, then user and assistant in turns: the templates of some models accept no other order."""
    messages = list_readable(state["messages"], max_chars)
    start = next((n for n, message in enumerate(messages) if first and message.id == first), 0)
    early = [message for message in messages[:start] if message.type == "system"]
    thread = _convert_thread([*early, *messages[start:]])
    system = [
        _compose_opening(state, instructions),
        *(message.content for message in thread if message.role == "system"),
    ]
    prompt = [ChatMessage(role="system", content="\n\n".join(system))]
    if start:
        _add_message(prompt, ChatMessage(role="user", content=_LEFT_OUT))
    for message in thread:
        if message.role != "system":
            _add_message(prompt, message)
    if last := _compose_moving(state):
        _add_message(prompt, ChatMessage(role="user", content=last))
    return prompt


def compose_beside(state: State, instructions: str, tools: Sequence[Tool]) -> str:
    """All that goes before a model in a turn beside the messages of the thread that may leave it, as one text: to be
    counted."""
    lasting = [str(message.text) for message in state["messages"] if message.type == "system"]
    definitions = json.dumps([asdict(tool) for tool in tools], ensure_ascii=False)
    return "\n\n".join(
        [_compose_opening(state, instructions), *lasting, _LEFT_OUT, _compose_moving(state), definitions]
    )


async def run_dialogue(
    model: ChatModel, stream: ReplyStream, messages: Sequence[ChatMessage], toolbox: Toolbox, max_rounds: int
) -> ChatAnswer | Task:
    """The model's answer, or the task that it hands over; `stream` shows what comes on the way.

    After `max_rounds` of calls it has no tools any more. A call that the model writes into its text is a call like any
    other. Raises ModelError."""
    prompt = list(messages)
    names = {tool.name for tool in toolbox.tools}
    for _ in range(max_rounds):
        try:
            answer = await model.chat(prompt, toolbox.tools)
            written = read_reply(answer, names, prompt, model.name)
        except BadModelAnswer as error:
            if (
                "call" not in error.data or error.data["finish_reason"] == "length"
            ):  # the next answer would be cut off, too
                raise
            _add_message(prompt, ChatMessage(role="user", content=f"Error: {error} Call again, or answer."))
            continue
        message = answer.message
        calls = message.tool_calls or written.calls
        if not calls:
            return finish_reply(answer, written.text)
        stream.show_calls(answer, written.text, calls)
        if task := next(filter(None, map(toolbox.parse_task, calls)), None):
            return task
        results = [(call, await toolbox.run_call(call)) for call in calls]
        if message.tool_calls:
            prompt += [
                message,
                *(ChatMessage(role="tool", content=text, tool_call_id=call.id) for call, text in results),
            ]
        else:  # whoever writes calls as text reads results as text
            told = "\n\n".join(f"Result of {call.name}:\n{text}" for call, text in results)
            prompt.append(ChatMessage(role="assistant", content=message.content))
            prompt.append(ChatMessage(role="user", content=f"{told}\n\nNow answer the person in plain words."))
    answer = await model.chat(prompt)
    written = read_reply(answer, names, prompt, model.name)
    if not written.text:
        raise BadModelAnswer("The model calls tools without end.", model=model.name)
    return finish_reply(answer, written.text)


def read_reply(answer: ChatAnswer, names: AbstractSet[str], prompt: Sequence[ChatMessage], model: str) -> WrittenAnswer:
    """The text of an answer and the calls in it. Raises BadModelAnswer where nothing of it is for a person."""
    written = read_answer(answer.message.content, names, prompt)
    if answer.message.tool_calls or written.calls or written.text:
        return written
    finish = "length" if answer.is_cut_off else "stop"
    if written.is_broken:
        message = "The model's tool call cannot be read."
        raise BadModelAnswer(message, model=model, finish_reason=finish, call="written")
    if answer.message.content.strip():
        raise BadModelAnswer("The model only repeats what it was shown.", model=model, finish_reason=finish)
    return written


def finish_reply(answer: ChatAnswer, text: str) -> ChatAnswer:
    """The answer with this text and no calls, and with a note where it was cut off."""
    note = _CUT_OFF[bool(_CJK.search(text))] if answer.is_cut_off else ""
    message = replace(answer.message, content="\n\n".join(filter(None, [text, note])), tool_calls=())
    return replace(answer, message=message)


def _add_message(prompt: list[ChatMessage], message: ChatMessage) -> None:
    """Append a message; to one of the same role, or an error to a tool's result, its text."""
    last = prompt[-1]
    if last.role == message.role or (last.role == "tool" and message.role == "user"):
        prompt[-1] = replace(last, content=f"{last.content}\n\n{message.content}")
        return
    if last.role == "system" and message.role == "assistant":
        prompt.append(ChatMessage(role="user", content=_BEGINNING))
    prompt.append(message)


def explain_failure(error: ModelError) -> str:
    """Why there is no answer, with the host where it is known, as the beginning of a sentence."""
    if isinstance(error, OverBudget):
        return "Today's budget for the model is used up"
    # A 401 says that the key is wrong, or that there is none.
    status = f", status {error.data['status']}" if "status" in error.data else ""
    return f"{str(error).rstrip('.')} ({type(error).__name__}{status})"


def _compose_opening(state: State, instructions: str) -> str:
    """The part of the system message that the thread has no share in."""
    profile = fence_text(state.get("stable", ""))
    opening = f"{instructions}\n\nWhat is known about the person:\n{profile}" if profile else instructions
    return append_text(opening, _join_added(state, "system"))


def _compose_moving(state: State) -> str:
    """What is added to the last message for this turn alone."""
    moving = [_join_added(state, "user"), state.get("moving", ""), *map(_format_report, state.get("reports", ()))]
    return "\n\n".join(filter(None, [*moving, format_confidence(state)]))


def _join_added(state: State, placement: Literal["system", "user"]) -> str:
    added = [each["text"] for each in state.get("additions", ()) if each["placement"] == placement]
    return "\n\n".join(filter(None, added))


def _convert_thread(messages: Sequence[AnyMessage]) -> list[ChatMessage]:
    texts = [(_ROLES.get(message.type), str(message.text)) for message in messages]
    return [ChatMessage(role=role, content=text) for role, text in texts if role and text]


def _format_report(report: Report) -> str:
    return f"Report of the {report['agent']} on the task {report['task']!r}:\n{fence_text(report['text'])}"
