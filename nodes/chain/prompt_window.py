"""Which messages of a long thread a prompt keeps."""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set as AbstractSet

from langchain_core.messages import AnyMessage

from muniment.nodes.chain.messages import list_shown
from muniment.nodes.state import State

MESSAGE_TOKENS = 4  # of a message beside its text, for its role and its ends, as OpenAI counts them for its models


def list_readable(messages: Sequence[AnyMessage], max_chars: int) -> list[AnyMessage]:
    """The messages that a model may be shown, without those of more than `max_chars`."""
    return [message for message in list_shown(messages) if len(str(message.text)) <= max_chars]


def list_waiting(state: State) -> AbstractSet[str | None]:
    """The ids of the messages that memory does not have yet: those of this turn, and what it could not take."""
    return {*state.get("asked", ()), *state.get("to_learn", ()), *state.get("to_record", ())}


def find_start(
    messages: Sequence[AnyMessage],
    waiting: AbstractSet[str | None],
    max_tokens: int,
    count_tokens: Callable[[str], int],
    *,
    beside: str = "",
    held: int = 0,
) -> int:
    """The place of the first message that is kept, at `held` or after it, so that the messages, with the text that goes
    `beside` them, have at most `max_tokens`; all are kept from the first one that memory does not have.

    Half of what the text leaves goes at a time: the beginning stays the same for many turns, as a prompt cache needs.
    A message of the system counts as part of that text, for it never leaves. Each message has some tokens beside its
    text."""
    texts = ["" if message.type == "system" else str(message.text) for message in messages[held:]]
    most = sum(len(text.encode(errors="replace")) for text in [beside, *texts])  # a token has a byte or more
    if most + MESSAGE_TOKENS * len(texts) <= max_tokens:
        return held
    sizes = [count_tokens(text) + MESSAGE_TOKENS for text in texts]
    room = max(max_tokens - count_tokens(beside), 0)
    portion = max(room // 2, 1)
    leaving = -(-max(sum(sizes) - room, 0) // portion) * portion
    start = held
    while leaving > 0 and start < len(messages) and messages[start].id not in waiting:
        leaving -= sizes[start - held]
        start += 1
    return start
