"""The night shift of a space: forget what is due, purge, clean the ledger; and the rounds that find which spaces want it."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Protocol

from muniment.memory.config.schema import Ledger
from muniment.memory.domain.consolidation import Run
from muniment.memory.domain.ids import Revision
from muniment.memory.domain.jobs import JobName
from muniment.memory.domain.maintenance import Due, Tended
from muniment.memory.domain.memory import Memory
from muniment.memory.domain.plan import Change, WritePlan
from muniment.memory.domain.scope import Scope
from muniment.memory.errors import Busy, Conflict, NotFound, StoreError
from muniment.memory.flows.consolidation import batch_collect as collect
from muniment.memory.flows.consolidation.consolidate import consolidate
from muniment.memory.flows.house import House
from muniment.memory.flows.writing import consent
from muniment.memory.ports.clock import Clock
from muniment.memory.rules.policy import retention as forgetting
from muniment.memory.rules.policy.schedule import slot

_log = logging.getLogger(__name__)
_BATCH = 200  # memories of one plan
_LOOK_SECONDS = 60.0  # a clock that is set is noticed so late
_TROUBLE_SECONDS = 5.0


class Slots(Protocol):
    """The part of a store that gives each slot of a periodic job away once."""

    async def periodic(self, name: JobName, at: datetime) -> bool: ...


async def perform(house: House, scope: Scope, _key: str) -> Tended:
    """The job `tend`."""
    return await tend(house, scope)


async def perform_round(house: House, _scope: Scope, _key: str) -> int | None:
    """The job `round`."""
    return await enqueue_due(house)


async def enqueue_due(house: House) -> int | None:
    """See `Memory.enqueue_due`."""
    every = timedelta(hours=house.settings.consolidation.every_hours)
    spread = timedelta(seconds=house.settings.session_ledger.cleanup_interval_seconds)
    return await house.store.enqueue_due(house.clock.now(), every, spread, house.terms)


async def tend(house: House, scope: Scope) -> Tended:
    """See `Memory.tend`. Every step can be taken again: what is done already is not due any more."""
    await house.flush(scope)  # what was retrieved here counts before anything is forgotten
    now, terms = house.clock.now(), house.terms
    due, forgotten = await _forget_all(house, scope, now)
    due, purged = await _purge_all(house, scope, due, now)
    checked = max(terms.events, timedelta(days=house.settings.consolidation.fingerprint_days))
    turns = await house.store.clean(scope, now - terms.turns, now - terms.events, now - checked)
    run, seen = await _consolidate(house, scope, due, forgotten + purged)
    if run is not None:
        due = await _look(house, scope, now)
    await house.store.tended(scope, seen, now, due.again, terms)
    return Tended(forgotten=forgotten, purged=purged, turns=turns, run=run)


async def _consolidate(house: House, scope: Scope, due: Due, own: int) -> tuple[Run | None, Revision | None]:
    """The consolidation of a space that has changed, but for `own` changes of this tending, and up to where the space was
    looked at; None for not to the end.

    Raises Busy while another run is under way, whose process may be gone: the space is tended once it is given up."""
    if due.rev - own == due.tended or not house.settings.consolidation.per_day:
        return None, due.rev
    run = await consolidate(house, scope)
    if run is None and await collect.give_up(house, scope):
        run = await consolidate(house, scope)
    if run is None:
        last = next(iter(await house.store.runs(scope, 1)), None)  # the one that is not over, if there is one
        if last is not None and last.ended_at is None and last.status != "waiting":
            raise Busy("another run of the space is under way")
    return run, run.surveyed if run is not None and run.status == "done" else None


async def _forget_all(house: House, scope: Scope, now: datetime) -> tuple[Due, int]:
    """What is due when nothing is to be forgotten any more, and how many were."""
    forgotten, attempt = 0, 0
    while (due := await _look(house, scope, now)).forget:
        try:
            gone = await _forget(house, scope, due, now)
        except Conflict:
            attempt += 1
            if attempt == house.settings.write.attempts:
                raise
            continue
        if not gone:
            break  # the database and the rule are not of one mind, and would not be the next time either
        forgotten += gone
    return due, forgotten


async def _purge_all(house: House, scope: Scope, due: Due, now: datetime) -> tuple[Due, int]:
    purged = 0
    while due.purge:
        gone = (await house.store.purge(scope, due.purge, now)).counts.get("memories", 0)
        due = await _look(house, scope, now)
        if not gone:
            break  # restored at this very moment
        purged += gone
    return due, purged


async def _look(house: House, scope: Scope, now: datetime) -> Due:
    due = await house.store.due(scope, now, house.terms, _BATCH)
    if due is None:
        raise NotFound("there is no such space")
    return due


async def _forget(house: House, scope: Scope, due: Due, now: datetime) -> int:
    """Soft-delete what is due, in one plan; how many. Raises Conflict when any of it was touched meanwhile."""
    purge_at = now + timedelta(days=house.settings.write.soft_delete_days)

    def gone(memory: Memory) -> Change:
        after = replace(memory, state="soft_deleted", purge_at=purge_at, updated_at=now)
        return Change(action="TTL", before=memory, after=after, meta=forgetting.reason(memory, now))

    ripe = [memory for memory in due.forget if forgetting.forgettable(scope, memory, house.terms, now)]
    if not ripe:
        return 0
    plan = WritePlan(scope=scope, expects=due.rev, node="worker", at=now, changes=tuple(map(gone, ripe)), unread=True)
    return len((await consent.commit(house, plan)).changes)


class Rounds:
    """Asks for a round in every slot of `cleanup_interval_seconds`; of all that ask for one slot, one is heard."""

    def __init__(self, slots: Slots, clock: Clock, rules: Ledger) -> None:
        self._slots, self._clock = slots, clock
        self._every = timedelta(seconds=rules.cleanup_interval_seconds)
        self._asked: datetime | None = None if rules.run_on_startup else self._slot()

    async def ask(self) -> None:
        """Ask for the slot of now, unless that was done. Raises StoreError."""
        start = self._slot()
        if start != self._asked:
            await self._slots.periodic("round", start)
            self._asked = start

    async def keep(self) -> None:
        """Ask for every slot from now on, whatever becomes of the database meanwhile."""
        while True:
            try:
                await self.ask()
                left = (self._slot() + self._every - self._clock.now()).total_seconds()
            except StoreError as error:
                _log.warning("no round: %s", type(error).__name__)
                left = _TROUBLE_SECONDS
            await asyncio.sleep(min(_LOOK_SECONDS, max(left, 0.01)))

    def _slot(self) -> datetime:
        return slot(self._clock.now(), self._every)
