"""What follows an exchange: its messages are stored, and the rules learn from what the user said anew."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Self

from muniment.faces.proxy.exchange import Exchange
from muniment.faces.proxy.messages import make_turn, make_turns
from muniment.memory.client import Memory
from muniment.memory.domain.ids import SpaceId
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import Turn
from muniment.memory.errors import MunimentError

_CONTEXT = 2  # messages before one that say what it answers
_log = logging.getLogger(__name__)


class StoringOrder:
    """Exchanges of one space are appended in the order in which they were announced, and who reads waits for them: a
    client sends its next request as soon as it has an answer."""

    def __init__(self) -> None:
        self._last: dict[SpaceId, asyncio.Future[None]] = {}

    def announce_exchange(self, scope: Scope) -> Announcement:
        """Note that an exchange will be appended. What is announced has to be used as a context."""
        before, done = self._last.get(scope.space), asyncio.get_running_loop().create_future()
        self._last[scope.space] = done
        return Announcement(self, scope.space, before, done)

    async def wait_for_exchanges(self, scope: Scope) -> None:
        """Wait until what is announced for the scope's space is appended, or has failed."""
        if (last := self._last.get(scope.space)) is not None:
            await asyncio.shield(last)

    def forget(self, space: SpaceId, done: asyncio.Future[None]) -> None:
        """Drop what is appended."""
        if self._last.get(space) is done:
            del self._last[space]


@dataclass(frozen=True, slots=True)
class Announcement:
    """A place in the order of a space; it is given up at the end of its context, or before."""

    order: StoringOrder
    space: SpaceId
    before: asyncio.Future[None] | None
    done: asyncio.Future[None]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    async def wait_turn(self) -> None:
        """Wait until the exchange before is appended, or has failed."""
        if self.before is not None:
            await asyncio.shield(self.before)

    def end(self) -> None:
        """Let the next one go on."""
        if not self.done.done():
            self.done.set_result(None)
        self.order.forget(self.space, self.done)


async def store_exchange(
    memory: Memory,
    scope: Scope,
    exchange: Exchange,
    *,
    days: int | None,
    timeout_seconds: float,
    announcement: Announcement | None = None,
) -> None:
    """Append what an exchange said to the scope's session, kept for so many days, None for ever; and learn from the
    user's new messages.

    It raises nothing: what cannot be stored in time is one line of the log. An exchange of which nothing is to be
    stored leaves nothing."""
    with announcement or nullcontext():
        if not exchange.is_stored:
            return
        try:
            async with asyncio.timeout(timeout_seconds):
                await _store_messages(memory, scope, exchange, days, announcement)
        except MunimentError as error:
            _log.error("the exchange %s is not stored: %s: %s", exchange.request_id, type(error).__name__, error)
        except TimeoutError:
            _log.error("the exchange %s is not stored within %g s", exchange.request_id, timeout_seconds)
        except Exception as error:  # noqa: BLE001 - a boundary: the answer is out, and an error may have a text
            _log.error("the exchange %s is not stored: a defect: %s", exchange.request_id, type(error).__name__)


async def _store_messages(
    memory: Memory, scope: Scope, exchange: Exchange, days: int | None, announcement: Announcement | None
) -> None:
    sent = make_turns(exchange.messages, session=scope.session or "", at=exchange.at)
    told = [*sent, *_make_answer(memory, scope, exchange)]
    if announcement is not None:
        await announcement.wait_turn()
    before = await _read_before(memory, scope, sent)
    added = {turn.id: turn for turn in await memory.sessions.append_messages(scope, told, days=days)}
    if announcement is not None:
        announcement.end()
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
