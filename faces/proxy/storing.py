"""What follows an exchange: its messages are stored, and the rules learn from what the user said anew."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

from muniment.faces.proxy.exchange import Exchange
from muniment.faces.proxy.messages import make_turn, make_turns
from muniment.memory.client import Memory
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import Turn
from muniment.memory.errors import MunimentError

_CONTEXT = 2  # messages before one that say what it answers
_log = logging.getLogger(__name__)


async def store_exchange(
    memory: Memory, scope: Scope, exchange: Exchange, *, days: int | None, timeout_seconds: float
) -> None:
    """Append what an exchange said to the scope's session, kept for so many days, None for ever; and learn from the
    user's new messages.

    It raises nothing: what cannot be stored in time is one line of the log. An exchange of which nothing is to be
    stored leaves nothing."""
    if not exchange.is_stored:
        return
    try:
        async with asyncio.timeout(timeout_seconds):
            await _store_messages(memory, scope, exchange, days)
    except MunimentError as error:
        _log.error("the exchange %s is not stored: %s: %s", exchange.request_id, type(error).__name__, error)
    except TimeoutError:
        _log.error("the exchange %s is not stored within %g s", exchange.request_id, timeout_seconds)
    except Exception as error:  # noqa: BLE001 - a boundary: the answer is out, and an error may have a text
        _log.error("the exchange %s is not stored: a defect: %s", exchange.request_id, type(error).__name__)


async def _store_messages(memory: Memory, scope: Scope, exchange: Exchange, days: int | None) -> None:
    sent = make_turns(exchange.messages, session=scope.session or "", at=exchange.at)
    told = [*sent, *_make_answer(memory, scope, exchange)]
    before = await _read_before(memory, scope, sent)
    added = {turn.id: turn for turn in await memory.sessions.append_messages(scope, told, days=days)}
    for n, turn in enumerate(sent):
        if turn.role == "user" and turn.text and turn.id in added:
            # What was stored is redacted; learning normalizes it, too, which the stored one is not.
            own = replace(turn, text=str(added[turn.id].text))
            await memory.learn(scope, own, previous=[*before, *sent[:n]][-_CONTEXT:])


def _make_answer(memory: Memory, scope: Scope, exchange: Exchange) -> list[Turn]:
    if exchange.answer is None:
        return []
    recalled = memory.conversation.shingle_hashes(*exchange.recalled)
    at = exchange.at + timedelta(seconds=exchange.seconds)
    turn = make_turn(exchange.answer, session=scope.session or "", at=at, recalled=recalled)
    return [] if turn is None else [turn]


async def _read_before(memory: Memory, scope: Scope, sent: Sequence[Turn]) -> Sequence[Turn]:
    """The last messages of the session, where a client sends a user's message without what it answers."""
    is_short = any(turn.role == "user" for turn in sent[:_CONTEXT])
    return await memory.sessions.read_window(scope, _CONTEXT) if is_short else ()
