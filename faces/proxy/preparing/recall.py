"""What memory and the session of a token have for the messages of a request."""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from muniment.faces.proxy.deadlines import run_within
from muniment.faces.proxy.errors import MemoryAway, Refusal
from muniment.faces.proxy.history import add_history
from muniment.faces.proxy.incoming import Incoming
from muniment.faces.proxy.logs import LOG
from muniment.faces.proxy.request.messages import find_last_user, join_text
from muniment.faces.proxy.request.prompt import Recollection
from muniment.faces.proxy.service import ProxyService
from muniment.memory.client import Memory
from muniment.memory.domain.turn import Turn
from muniment.memory.errors import ModelError, MunimentError, StoreError, TokenConfigError

T = TypeVar("T")
S = TypeVar("S")
AGENT = "supervisor"  # its allowlist says what a token's programs are shown


@dataclass(frozen=True, slots=True)
class Recalled:
    """What there is for a request."""

    memory: Memory = field(repr=False)
    found: Recollection = field(repr=False)
    messages: Sequence[Mapping[str, Any]] = field(repr=False)  # with those of the session before them
    window: Sequence[Turn] | None = field(repr=False)  # the latest of the session; None: they were not read


async def ask_memory(
    service: ProxyService, incoming: Incoming, messages: Sequence[Mapping[str, Any]], *, with_history: bool = True
) -> Recalled:
    """Return what memory has for the last message of the user, and the messages with those of the session before them.

    Raises MemoryAway where there is no whole answer in the token's time, of which finding the token is a part. No
    connection is held afterwards."""
    config = incoming.config
    seconds = config.memory_search_timeout or service.settings.proxy.memory_search_timeout
    try:
        recalled = await run_within(
            seconds - incoming.lookup_seconds, _ask_memory(service, incoming, messages, with_history=with_history)
        )
    except TimeoutError:
        raise MemoryAway(f"no answer within {seconds:g} s", may_retry=False) from None
    except TokenConfigError as error:
        raise Refusal(401, "invalid_token_config", f"the token is not valid until it is mended: {error}") from None
    except MunimentError as error:
        LOG.debug("memory: %s", type(error).__name__)
        raise MemoryAway(_name_failure(error)) from None
    LOG.debug("memory: %d memories at revision %s", len(recalled.found.lines), recalled.found.rev)
    return recalled


async def _ask_memory(
    service: ProxyService, incoming: Incoming, messages: Sequence[Mapping[str, Any]], *, with_history: bool
) -> Recalled:
    memory = await service.memories.get(incoming.token)
    recalling = _recall(service, incoming, memory, messages)
    if not with_history:
        return Recalled(memory, await recalling, messages, None)
    found, window = await _run_both(recalling, _read_window(service, incoming, memory))
    return Recalled(memory, found, await add_history(memory, incoming.token.scope, messages, window), window)


async def _read_window(service: ProxyService, incoming: Incoming, memory: Memory) -> Sequence[Turn]:
    scope = incoming.token.scope
    await service.storing.wait_for_exchanges(scope)
    return await memory.sessions.read_window(scope, incoming.config.session_window_size)


async def _run_both(one: Coroutine[Any, Any, T], other: Coroutine[Any, Any, S]) -> tuple[T, S]:
    """Return what both return, which run at once. Where one raises, the other is ended."""
    beside = asyncio.create_task(other)
    try:
        return await one, await beside
    finally:
        beside.cancel()
        await asyncio.gather(beside, return_exceptions=True)


async def _recall(
    service: ProxyService, incoming: Incoming, memory: Memory, messages: Sequence[Mapping[str, Any]]
) -> Recollection:
    place = find_last_user(messages)
    text = "" if place is None else join_text(messages[place].get("content"))
    if place is None or not text.strip():
        return Recollection()
    key = _make_key(incoming, messages[: place + 1]) if incoming.config.memory_place == "user" else None
    if key is not None and place + 1 < len(messages):  # a loop of tools goes on
        kept = service.recalled.find_turn(key, time.monotonic())
        if kept is not None:
            return kept
    brief = await memory.brief(incoming.token.scope, AGENT, text, limit=incoming.config.memory_limit)
    if brief.degraded:
        raise MemoryAway("the embedder does not answer")
    found = Recollection.from_brief(brief)
    if key is not None:
        service.recalled.keep_turn(key, time.monotonic(), found)
    return found


def _make_key(incoming: Incoming, messages: Sequence[Mapping[str, Any]]) -> bytes:
    """Return a digest of the token, its configuration and a conversation up to a message of the user."""
    digest = hashlib.sha256(incoming.token.grant.id.bytes + incoming.config.digest)
    for message in messages:
        part = repr(message).encode("utf-8", "backslashreplace")
        digest.update(len(part).to_bytes(8, "big") + part)
    return digest.digest()


def _name_failure(error: MunimentError) -> str:
    """Return what failed, without the text of the error, which may have an address or a name."""
    if isinstance(error, StoreError):
        return "the database does not answer"
    if isinstance(error, ModelError):
        return "the embedder does not answer"
    return f"it cannot be asked ({type(error).__name__})"
