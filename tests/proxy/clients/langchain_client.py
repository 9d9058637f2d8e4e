"""Says texts with ChatOpenAI of langchain-openai; it is spoken to as openai_client.py is."""

from __future__ import annotations

import json
import sys
from typing import Any

from langchain_core.messages import AIMessageChunk, HumanMessage, ToolMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI

RESULT = "It is so."


@tool
def look_up(what: str) -> str:
    """Look something up."""
    return RESULT


def ask(model: Any, messages: list[Any], *, stream: bool) -> Any:
    """The message that answers."""
    if not stream:
        return model.invoke(messages)
    whole: AIMessageChunk | None = None
    for chunk in model.stream(messages):
        whole = chunk if whole is None else whole + chunk
    return whole


def converse(given: dict[str, Any]) -> list[list[str]]:
    """Say each text in a conversation of its own."""
    answers: list[list[str]] = []
    for turn in given["rounds"]:
        model: Any = ChatOpenAI(
            model="tiny-1", base_url=given["base_url"], api_key=given["api_key"], max_retries=0, stream_usage=True
        )
        if turn["tools"]:
            model = model.bind_tools([look_up])
        answers.append([])
        for text in turn["texts"]:
            messages: list[Any] = [HumanMessage(text)]
            answer = ask(model, messages, stream=turn["stream"])
            while answer.tool_calls:
                messages.append(answer)
                messages += [ToolMessage(RESULT, tool_call_id=call["id"]) for call in answer.tool_calls]
                answer = ask(model, messages, stream=turn["stream"])
            answers[-1].append(str(answer.content))
    return answers


if __name__ == "__main__":
    print(json.dumps(converse(json.load(sys.stdin))))
