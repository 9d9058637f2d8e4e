"""Which messages of a long thread a prompt keeps."""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set as AbstractSet

from langchain_core.messages import AnyMessage

from muniment.nodes.chain.messages import list_shown
from muniment.nodes.state import State


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
) -> int:
    """The place of the first message that is kept, so that the messages have at most `max_tokens`; all are kept from
    the first one that memory does not have.

    Half of `max_tokens` goes at a time: the beginning stays the same for many turns, as a prompt cache needs."""
    texts = [str(message.text) for message in messages]
    if sum(len(text.encode(errors="replace")) for text in texts) <= max_tokens:  # a token has a byte or more
        return 0
    sizes = [count_tokens(text) for text in texts]
    portion = max(max_tokens // 2, 1)
    leaving = -(-max(sum(sizes) - max_tokens, 0) // portion) * portion
    start = 0
    while leaving > 0 and start < len(messages) and messages[start].id not in waiting:
        leaving -= sizes[start]
        start += 1
    return start
