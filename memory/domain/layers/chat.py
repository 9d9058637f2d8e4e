"""A chat as a session: where a recall looks, and what it finds there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from muniment.memory.domain.layers.session import TurnHit
from muniment.memory.domain.query import Hit

# What is looked at: the chat itself, what was taken in from documents, all of the user's memory.
RecallScope = Literal["current_chat", "resources", "all_user_memory"]
RECALL_SCOPES: tuple[RecallScope, ...] = get_args(RecallScope)


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallRequest:
    """What to recall for a message in a chat: at most `top_k` from these scopes. `chat` is the name of its session."""

    text: str
    chat: str
    scopes: tuple[RecallScope, ...]
    top_k: int = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallHit:
    """A memory or a turn that was recalled, and the scope that it is of: of several the one that says most of it,
    in the order of `RECALL_SCOPES`. The scores of both kinds are of one scale."""

    source: RecallScope
    score: float
    found: Hit | TurnHit
