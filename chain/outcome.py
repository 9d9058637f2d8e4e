"""The outputs of turns that no model has answered."""

from __future__ import annotations

from asyncio import CancelledError
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from muniment.chain.values import Message, Status, TurnContext, TurnOutput

_ENDED_BY_CALLER = (CancelledError, KeyboardInterrupt, GeneratorExit, SystemExit)


def build_reply(context: TurnContext, at: datetime) -> TurnOutput | None:
    """Return the output of a turn that a middleware has answered; None for one that is for the model.

    Its message has `is_aside`, and the host keeps the user's message with `is_aside`, too: see `mark_aside`."""
    if context.reply is None:
        return None
    message = Message(role="assistant", text=context.reply, at=at, is_aside=True)
    return TurnOutput(text=context.reply, at=at, messages=(message,))


def build_end(error: BaseException, at: datetime, text: str = "") -> TurnOutput:
    """Return the output of a turn that an error has ended: aborted where the caller did it, failed otherwise. `text` is
    what of the answer has gone out."""
    status: Status = "aborted" if isinstance(error, _ENDED_BY_CALLER) else "failed"
    return TurnOutput(text=text, at=at, status=status, error=type(error).__name__)


def build_answer(text: str, at: datetime) -> TurnOutput:
    """Return the output of a turn whose answer is a text alone."""
    return TurnOutput(text=text, at=at, messages=(Message(role="assistant", text=text, at=at),))


def mark_aside(message: Message) -> Message:
    """Return a message as one that no model is shown."""
    return replace(message, is_aside=True)


def drop_asides(messages: Sequence[Message]) -> tuple[Message, ...]:
    """Return the messages that a model may be shown."""
    return tuple(message for message in messages if not message.is_aside)
