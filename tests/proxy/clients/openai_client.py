"""Says texts with the client of openai, one after the other.

`converse` takes `base_url`, `api_key` and `rounds`, each with `stream`, `tools` and `texts`, and returns what was
answered to each text of each round. As a program it reads that as JSON from standard input and prints the answers.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import openai

PARAMETERS = {"type": "object", "properties": {"what": {"type": "string"}}}
TOOL = {"type": "function", "function": {"name": "look_up", "parameters": PARAMETERS}}
RESULT = "It is so."


def ask(client: openai.OpenAI, messages: list[Any], *, stream: bool, more: dict[str, Any]) -> dict[str, Any]:
    """The message that answers."""
    if not stream:
        whole = client.chat.completions.create(model="tiny-1", messages=messages, **more)
        return dict(whole.choices[0].message.model_dump(exclude_none=True))
    text, calls = "", dict[int, dict[str, Any]]()
    for chunk in client.chat.completions.create(
        model="tiny-1", messages=messages, stream=True, stream_options={"include_usage": True}, **more
    ):
        for choice in chunk.choices:
            text += choice.delta.content or ""
            for piece in choice.delta.tool_calls or ():
                call = calls.setdefault(piece.index, {"type": "function", "function": {"name": "", "arguments": ""}})
                call["id"] = piece.id or call.get("id")
                if piece.function:
                    call["function"]["name"] += piece.function.name or ""
                    call["function"]["arguments"] += piece.function.arguments or ""
    return {"role": "assistant", "content": text} | ({"tool_calls": list(calls.values())} if calls else {})


def converse(given: dict[str, Any]) -> list[list[str]]:
    """Say each text in a conversation of its own."""
    answers: list[list[str]] = []
    with openai.OpenAI(base_url=given["base_url"], api_key=given["api_key"], max_retries=0) as client:
        for turn in given["rounds"]:
            more = {"tools": [TOOL]} if turn["tools"] else {}
            answers.append([])
            for text in turn["texts"]:
                messages: list[Any] = [{"role": "user", "content": text}]
                answer = ask(client, messages, stream=turn["stream"], more=more)
                while answer.get("tool_calls"):
                    messages.append(answer)
                    calls = answer["tool_calls"]
                    messages += [{"role": "tool", "tool_call_id": call["id"], "content": RESULT} for call in calls]
                    answer = ask(client, messages, stream=turn["stream"], more=more)
                answers[-1].append(str(answer["content"]))
    return answers


if __name__ == "__main__":
    print(json.dumps(converse(json.load(sys.stdin))))
