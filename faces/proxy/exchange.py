"""An exchange: one request of a token with what became of it, as it is kept afterwards."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """The tokens of a prompt and of its answer, as the upstream reports them."""

    prompt_tokens: int
    completion_tokens: int
    cached_tokens: int = 0  # of the prompt, that the upstream had cached


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """One request and its answer."""

    request_id: str
    messages: tuple[Mapping[str, Any], ...]  # as the client sent them
    answer: Mapping[str, Any] | None  # role, content, tool_calls; None: cut off, refused, or not readable
    recalled: tuple[str, ...]  # texts of memories that stood in the request
    usage: Usage | None  # None where the upstream reports none
    memories: int  # that were shown
    bytes_in: int  # of the client's body
    bytes_out: int  # of the answer's body
    seconds: float  # from the request to the end of the answer
    status: int  # of the answer
    at: datetime  # when the request came, in UTC
    is_refused: bool = False  # by the proxy itself, not by the upstream
    is_stored: bool = True  # False: the client asked that nothing is stored; accounts count it all the same
