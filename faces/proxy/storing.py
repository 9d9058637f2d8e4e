"""What follows an exchange: its messages are stored, and the rules learn from what the user said anew."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Self
from weakref import WeakValueDictionary

from muniment.faces.proxy.exchange import Exchange
from muniment.faces.proxy.messages import make_turn, make_turns
from muniment.memory.client import Memory
from muniment.memory.domain.ids import SpaceId, TurnId
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import Turn
from muniment.memory.errors import MunimentError, TokenDeleted

_APPENDED_AT_ONCE = 8  # exchanges, so that requests find a connection to the database
_CONTEXT = 2  # messages before one that say what it answers
_log = logging.getLogger(__name__)


class StoringOrder:
    """Exchanges of one space are appended in the order in which they were announced, and who reads waits for them: a
    client sends its next request as soon as it has an answer."""

    def __init__(self) -> None:
        self._last: dict[SpaceId, asyncio.Future[None]] = {}
        self._learning: WeakValueDictionary[SpaceId, asyncio.Lock] = WeakValueDictionary()
        self.slots = asyncio.Semaphore(_APPENDED_AT_ONCE)

    def get_learning_lock(self, scope: Scope) -> asyncio.Lock:
        """Return the lock of the scope's space, so that one token learns from one exchange at a time: a slow endpoint
        of its embedder holds up nobody else."""
        return self._learning.setdefault(scope.space, asyncio.Lock())

    def announce_exchange(self, scope: Scope) -> Announcement:
        """Note that an exchange will be appended. What is announced has to be used as a context."""
        before, done = self._last.get(scope.space), asyncio.get_running_loop().create_future()
        self._last[scope.space] = done
        return Announcement(self, scope.space, before, done)

    async def wait_for_exchanges(self, scope: Scope) -> None:
        """Wait until what is announced for the scope's space is appended, or has failed."""
        if (last := self._last.get(scope.space)) is not None:
            await asyncio.shield(last)

    async def finish_exchanges(self, scope: Scope) -> None:
        """Wait until what is announced for the scope's space is appended and learned from, or has failed."""
        await self.wait_for_exchanges(scope)
        async with self.get_learning_lock(scope):  # in the order in which it is asked for
            pass

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
    window: Sequence[Turn] | None = None,
) -> None:
    """Append what an exchange said to the scope's session, kept for so many days, None for ever; and learn from the
    user's new messages. `window`: the last messages of the session before the request; None where they are not known.
    Of a token that was deleted meanwhile nothing is stored.

    It raises nothing: what cannot be stored in time is one line of the log. An exchange of which nothing is to be
    stored leaves nothing."""
    step = "stored"
    with announcement or StoringOrder().announce_exchange(scope) as turn:
        if not exchange.is_stored:
            return
        try:
            async with asyncio.timeout(timeout_seconds):
                await turn.wait_turn()
                said = await _append_messages(memory, scope, exchange, days, turn, window)
                turn.end()
                step = "learned from"
                async with turn.order.get_learning_lock(scope):
                    await _learn_messages(memory, scope, said)
        except TokenDeleted:
            _log.info("the exchange %s is not %s: its token is deleted", exchange.request_id, step)
        except MunimentError as error:
            _log.error("the exchange %s is not %s: %s: %s", exchange.request_id, step, type(error).__name__, error)
        except TimeoutError:
            _log.error("the exchange %s is not %s within %g s", exchange.request_id, step, timeout_seconds)
        except Exception as error:  # noqa: BLE001 - a boundary: the answer is out, and an error may have a text
            _log.error("the exchange %s is not %s: a defect: %s", exchange.request_id, step, type(error).__name__)


@dataclass(frozen=True, slots=True)
class _Said:
    """The messages of a request, those before them that the client did not send, and those that are new, as they are
    stored."""

    before: Sequence[Turn]
    sent: Sequence[Turn]
    added: Mapping[TurnId, Turn]


async def _append_messages(
    memory: Memory,
    scope: Scope,
    exchange: Exchange,
    days: int | None,
    turn: Announcement,
    window: Sequence[Turn] | None,
) -> _Said:
    sent = make_turns(exchange.messages, session=scope.session or "", at=exchange.at)
    told = [*sent, *_make_answer(memory, scope, exchange)]
    async with turn.order.slots:
        before = await _read_before(memory, scope, sent, window)
        added = await memory.sessions.append_messages(scope, told, days=days)
    return _Said(before, sent, {each.id: each for each in added})


async def _learn_messages(memory: Memory, scope: Scope, said: _Said) -> None:
    for n, turn in enumerate(said.sent):
        if turn.role == "user" and turn.text and turn.id in said.added:
            # What was stored is redacted; learning normalizes it, too, which the stored one is not.
            own = replace(turn, text=str(said.added[turn.id].text))
            await memory.learn(scope, own, previous=[*said.before, *said.sent[:n]][-_CONTEXT:])


def _make_answer(memory: Memory, scope: Scope, exchange: Exchange) -> list[Turn]:
    if exchange.answer is None:
        return []
    recalled = memory.conversation.shingle_hashes(*exchange.recalled)
    at = exchange.at + timedelta(seconds=exchange.seconds)
    turn = make_turn(exchange.answer, session=scope.session or "", at=at, recalled=recalled)
    return [] if turn is None else [turn]


async def _read_before(
    memory: Memory, scope: Scope, sent: Sequence[Turn], window: Sequence[Turn] | None
) -> Sequence[Turn]:
    """The last messages of the session, where a client sends a user's message without what it answers."""
    if not any(turn.role == "user" for turn in sent[:_CONTEXT]):
        return ()
    if window is not None and len(window) >= _CONTEXT:
        return window[-_CONTEXT:]
    return await memory.sessions.read_window(scope, _CONTEXT)
