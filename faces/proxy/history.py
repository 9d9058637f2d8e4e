"""The history of a token before a request: what the client does not send itself, as a valid conversation."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from datetime import UTC, datetime
from itertools import takewhile
from typing import Any

from muniment.faces.proxy.messages import Message, make_message, make_turn, make_turns
from muniment.memory.client import Memory
from muniment.memory.domain.layers.message import hash_message
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import Turn

_SYSTEM = ("system", "developer")
_NO_TIME = datetime(1970, 1, 1, tzinfo=UTC)  # of turns that are only compared


async def add_history(
    memory: Memory, scope: Scope, messages: Sequence[Message], window: Sequence[Turn]
) -> list[Message]:
    """Return the messages of a request with those of the token's session before them, the `window`, that it does not
    have. Raises StoreError.

    They are compared as they are stored: a message with a secret is known again."""
    if not window:
        return insert_window(messages, ())
    sent = {hash_message(turn): turn for turn in make_turns(messages, session=scope.session or "", at=_NO_TIME)}
    hashes = [hash_message(turn) for turn in window]
    known, stored = sent.keys() & hashes, set(hashes)
    if known != stored:  # to look for secrets takes long: not in what is stored as it is sent
        rest = [turn for digest, turn in sent.items() if digest not in stored]
        known |= {hash_message(turn) for turn in await memory.sessions.sanitize_messages(rest)}
    fresh = [turn for turn, digest in zip(window, hashes, strict=True) if digest not in known]
    return insert_window(messages, [make_message(turn) for turn in fresh])


def insert_window(messages: Sequence[Message], window: Sequence[Message]) -> list[Message]:
    """Return [system][window][messages]: those of the window that the request has are left out.

    The result is a valid conversation: what is wrong in a chain of calls is left out, and results follow their call.
    The window begins with a user's message, as templates of models demand it, or with calls whose results the request
    has. A request that is valid is returned with its own messages untouched."""
    known = {hash_message(turn) for message in messages if (turn := _make_turn(message)) is not None}
    system = list(takewhile(lambda message: message.get("role") in _SYSTEM, messages))
    fresh = [message for message in window if not _is_among(message, known)]
    whole, at = [*system, *fresh, *messages[len(system) :]], len(system)
    leading = range(at, at + sum(1 for _ in takewhile(lambda message: message.get("role") != "user", fresh)))
    return list(_join_chains(whole, leading, own=range(at + len(fresh), len(whole))))


def _make_turn(message: Message) -> Turn | None:
    return make_turn(message, session="", at=_NO_TIME)


def _is_among(message: Message, known: Collection[bytes]) -> bool:
    turn = _make_turn(message)
    return turn is None or hash_message(turn) in known


def _join_chains(messages: Sequence[Message], leading: Collection[int], own: Collection[int]) -> Iterator[Message]:
    """The messages with each call directly before its results; calls without results, and results without a call, are
    left out, as is what leads the window and has no result among the request's own."""
    answered, results = _match_results(messages)
    for n, message in enumerate(messages):
        if message.get("role") == "tool" or (n in leading and not any(place in own for place in results[n])):
            continue
        calls = _list_calls(message)
        if not calls:
            yield message
            continue
        if kept := _keep_calls(message, calls, [call for k, call in enumerate(calls) if (n, k) in answered]):
            yield kept
        yield from (messages[place] for place in results[n])


def _match_results(messages: Sequence[Message]) -> tuple[set[tuple[int, int]], dict[int, list[int]]]:
    """The calls that have a result, by the places of their message and in it; and the places of the results of each
    message, in order. Of several calls with one id a result belongs to those of the last message before it that have
    none."""
    waiting: dict[Any, list[tuple[int, int]]] = {}
    answered: set[tuple[int, int]] = set()
    results: dict[int, list[int]] = defaultdict(list)
    for n, message in enumerate(messages):
        if message.get("role") != "tool":
            for k, call in reversed([*enumerate(_list_calls(message))]):
                waiting.setdefault(call.get("id"), []).append((n, k))
        elif places := waiting.get(message.get("tool_call_id")):
            place = places.pop()
            answered.add(place)
            results[place[0]].append(n)
    return answered, results


def _list_calls(message: Message) -> list[Any]:
    calls = message.get("tool_calls") if message.get("role") == "assistant" else None
    return list(calls) if isinstance(calls, list | tuple) else []


def _keep_calls(message: Message, calls: Sequence[Any], answered: Sequence[Any]) -> Message | None:
    """The message with the calls that have results; without any only what it says, None where that is nothing."""
    if len(answered) == len(calls):
        return message
    rest = {name: value for name, value in message.items() if name != "tool_calls"}
    if answered:
        return rest | {"tool_calls": list(answered)}
    return rest if rest.get("content") else None
