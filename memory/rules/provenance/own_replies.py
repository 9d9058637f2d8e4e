"""The sentences that this program itself replies with: they quote memory, and nothing is learned from them."""

from __future__ import annotations

import re

from muniment.memory.domain.turn import Turn
from muniment.memory.rules.language.lazy_regex import lazy_compile

_OWN_REPLY = lazy_compile(
    r"^(?:I have read that\.|From memory:|I have nothing in memory about that\.|What I do know about you:"
    r"|Your message has no text that I can read\.|No model is configured, so I can only quote memory\."
    r"|Memory updates since rev \d)",
    re.MULTILINE,
)


def is_own_reply(turn: Turn) -> bool:
    """Whether the turn is a reply that quotes memory without a model."""
    return turn.role == "assistant" and _OWN_REPLY.search(turn.text) is not None
