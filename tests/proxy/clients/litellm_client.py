"""Says texts with litellm, in an environment that has it; it is spoken to as openai_client.py is."""

from __future__ import annotations

import json
import sys
from typing import Any

import litellm

PARAMETERS = {"type": "object", "properties": {"what": {"type": "string"}}}
TOOL = {"type": "function", "function": {"name": "look_up", "parameters": PARAMETERS}}
RESULT = "It is so."


def ask(given: dict[str, Any], turn: dict[str, Any], messages: list[Any]) -> dict[str, Any]:
    """The message that answers."""
    more = {"tools": [TOOL]} if turn["tools"] else {}
    answer: Any = litellm.completion(
        model="openai/tiny-1",
        api_base=given["base_url"],
        api_key=given["api_key"],
        messages=messages,
        stream=turn["stream"],
        max_retries=0,
        **more,
    )
    if turn["stream"]:
        answer = litellm.stream_chunk_builder(list(answer), messages=messages)
    return dict(answer.choices[0].message.model_dump(exclude_none=True))


def converse(given: dict[str, Any]) -> list[list[str]]:
    """Say each text in a conversation of its own."""
    answers: list[list[str]] = []
    for turn in given["rounds"]:
        answers.append([])
        for text in turn["texts"]:
            messages: list[Any] = [{"role": "user", "content": text}]
            answer = ask(given, turn, messages)
            while answer.get("tool_calls"):
                messages.append(answer)
                calls = answer["tool_calls"]
                messages += [{"role": "tool", "tool_call_id": call["id"], "content": RESULT} for call in calls]
                answer = ask(given, turn, messages)
            answers[-1].append(str(answer["content"]))
    return answers


if __name__ == "__main__":
    print(json.dumps(converse(json.load(sys.stdin))))
