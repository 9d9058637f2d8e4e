"""The loop of a run: the model, its tool calls, and its answer."""

from __future__ import annotations

import re
from dataclasses import replace

from muniment.memory.errors import BadModelAnswer
from muniment.memory.ports.llm import ChatAnswer, ChatMessage, ChatModel, ToolCall
from muniment.nodes.dialogue import finish_reply, read_reply
from muniment.nodes.hybrid.request import RunRequest
from muniment.nodes.hybrid.toolbox import RunTools
from muniment.nodes.reply_stream import ReplyStream

_MAX_UNREADABLE = 3  # answers of a run with a call that cannot be read
_LIMIT = (
    "I have stopped: this answer would need more than {limit} tool calls. Ask me to go on, or for a smaller part.",
    "我已停下：这个回答需要的工具调用超过 {limit} 次。请让我继续，或只问其中一部分。",
)
_CJK = re.compile(r"[\u3400-\u9fff]")


async def run_loop(
    model: ChatModel, stream: ReplyStream, request: RunRequest, tools: RunTools, tool_limit: int
) -> ChatAnswer:
    """Return the final answer, with its text for a person; `stream` shows what comes on the way.

    A run has at most `tool_limit` tool calls: where the model wants more, the answer says so, and is none of the
    model's. A call that the model writes into its text is a call like any other. Raises ModelError."""
    offered = tools.list_tools()
    names = {tool.name for tool in offered}
    steps: list[ChatMessage] = []
    unreadable = 0
    while True:
        prompt = request.build(tools.active, steps)
        try:
            answer = await model.chat(prompt, offered)
            written = read_reply(answer, names, prompt, model.name)
        except BadModelAnswer as error:
            unreadable += 1
            if "call" not in error.data or error.data["finish_reason"] == "length" or unreadable >= _MAX_UNREADABLE:
                raise
            steps.append(ChatMessage(role="user", content=f"Error: {error} Call again, or answer."))
            continue
        calls = answer.message.tool_calls or written.calls
        if not calls:
            return finish_reply(answer, written.text)
        if len(tools.turns) + len(calls) > tool_limit:
            stream.begin_answer(())  # what the model said with its calls is no part of the answer
            return _stop_at_limit(answer, request.prompt, tool_limit)
        stream.show_calls(answer, written.text, calls)
        steps += await _run_calls(answer.message, calls, stream, tools)


async def _run_calls(
    message: ChatMessage, calls: tuple[ToolCall, ...], stream: ReplyStream, tools: RunTools
) -> list[ChatMessage]:
    """Return the model's message and the results of its calls, which are made one after the other."""
    results = []
    for call in calls:
        text, ok = await tools.run_call(call)
        stream.show_result(call, text, ok=ok)
        results.append((call, text))
    if message.tool_calls:
        return [message, *(ChatMessage(role="tool", content=text, tool_call_id=call.id) for call, text in results)]
    # Whoever writes calls as text reads results as text.
    told = "\n\n".join(f"Result of {call.name}:\n{text}" for call, text in results)
    return [
        ChatMessage(role="assistant", content=message.content),
        ChatMessage(role="user", content=f"{told}\n\nNow answer the person in plain words."),
    ]


def _stop_at_limit(answer: ChatAnswer, prompt: str, limit: int) -> ChatAnswer:
    text = _LIMIT[bool(_CJK.search(prompt))].format(limit=limit)
    return replace(answer, message=ChatMessage(role="assistant", content=text), is_cut_off=False)
