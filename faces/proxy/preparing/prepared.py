"""A request that is ready to go upstream, and what several kinds of them have in common."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from muniment.faces.proxy.incoming import Incoming
from muniment.faces.proxy.request.body import Body, encode_value
from muniment.faces.proxy.request.prompt import Recollection
from muniment.faces.proxy.upstream.collecting import Read
from muniment.memory.client import Memory
from muniment.memory.domain.turn import Turn

T = TypeVar("T")
_LARGE = 200_000  # bytes of a body that is read and written in a thread


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """What goes upstream, and what has to be known of it afterwards."""

    body: bytes = field(repr=False)
    messages: tuple[Mapping[str, Any], ...] = field(default=(), repr=False)  # as the client sent them
    found: Recollection = field(default=Recollection(), repr=False)  # what memory was shown
    summary: str = ""  # of what memory did, for the header of the answer
    memory: Memory | None = field(default=None, repr=False)  # in which the exchange is kept; None: in none
    window: Sequence[Turn] | None = field(default=None, repr=False)  # the session before; None: it is not known
    read: Read | None = None  # how the answer is read; None: it is not


async def run_beside(incoming: Incoming, work: Callable[[], T]) -> T:
    """Return what a function over the body returns; for a large one it runs in a thread, and others go on."""
    return work() if len(incoming.body) < _LARGE else await asyncio.to_thread(work)


def name_model(incoming: Incoming, body: Body) -> dict[str, bytes]:
    """Return the token's model as a value of the body, where the request names none."""
    model = incoming.config.llm_model
    return {} if model is None or body.get_value("model") else {"model": encode_value(model)}


def describe_memory(incoming: Incoming, found: Recollection) -> str:
    """Return what memory did for a request."""
    if incoming.privacy == "off":
        return "off"
    did = f"injected={len(found.lines)}" + ("" if found.rev is None else f"; rev={found.rev}")
    return f"read; {did}" if incoming.privacy == "read" else did
