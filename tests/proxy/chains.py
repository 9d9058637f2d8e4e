"""What the API demands of a conversation, written from its rules and not from the proxy's code."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def find_flaw(messages: Sequence[dict[str, Any]]) -> str | None:
    """What an endpoint would refuse; None for a valid conversation."""
    waiting: list[str] = []
    for place, message in enumerate(messages):
        role = message.get("role")
        if role == "tool":
            if message.get("tool_call_id") not in waiting:
                return f"messages[{place}]: a result of no call that waits"
            waiting.remove(message["tool_call_id"])
            continue
        if waiting:
            return f"messages[{place}]: stands before the results of {waiting}"
        if role not in {"system", "developer", "user", "assistant"}:
            return f"messages[{place}]: has the role {role}"
        calls = message.get("tool_calls")
        if calls is not None and (role != "assistant" or not calls):
            return f"messages[{place}]: has calls that it may not have"
        if not calls and message.get("content") is None:
            return f"messages[{place}]: says nothing"
        waiting = [call["id"] for call in calls or ()]
        if len(set(waiting)) < len(waiting):
            return f"messages[{place}]: has two calls of one id"
    return f"the end: {waiting} wait for results" if waiting else None
