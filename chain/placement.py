"""Where additions stand before a model: the same texts in the same places for each step of a turn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from muniment.chain.values import Addition, Message, Placement, TurnContext

_GAP = "\n\n"


def join_additions(additions: Sequence[Addition], placement: Placement) -> str:
    """Return the texts of one place in their order, a blank line between them; empty without any."""
    return _GAP.join(addition.text for addition in additions if addition.placement == placement and addition.text)


def append_text(text: str, addition: str) -> str:
    """Return a text with an addition behind a blank line."""
    return f"{text}{_GAP}{addition}" if text and addition else text or addition


def place_additions(context: TurnContext) -> tuple[Message, ...]:
    """Return the messages of a turn as a model gets them: with the additions at the end of the first system message,
    which is made where there is none, and at the end of the last message of the user.

    It depends on the turn alone. A loop of tools calls it once, and puts calls and results behind what it returns."""
    messages = list(context.messages)
    if text := join_additions(context.additions, "user"):
        place = next((n for n in reversed(range(len(messages))) if messages[n].role == "user"), None)
        if place is not None:
            messages[place] = _append(messages[place], text)
    if text := join_additions(context.additions, "system"):
        place = next((n for n, message in enumerate(messages) if message.role == "system"), None)
        if place is None:
            messages.insert(0, Message(role="system", text=text))
        else:
            messages[place] = _append(messages[place], text)
    return tuple(messages)


def _append(message: Message, text: str) -> Message:
    return replace(message, text=append_text(message.text, text))
