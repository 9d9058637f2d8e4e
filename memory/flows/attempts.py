"""A plan that meets the space as it is, and is made anew when another writer was first."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable

from muniment.memory.errors import Conflict
from muniment.memory.flows.house import House
from muniment.memory.plan import Receipt, WritePlan
from muniment.memory.records import Scope, evolve

_JITTER_SECONDS = 0.005


async def committed(
    house: House, scope: Scope, make: Callable[[], Awaitable[tuple[WritePlan, tuple[str, ...]] | Receipt]]
) -> Receipt:
    """Commit what `make` plans, with what it refused; where it gives a receipt instead, there is nothing to commit.

    Raises Conflict when the space was another one at each of `write.attempts`."""
    attempts = house.settings.write.attempts
    async with house.turnstile(scope.space):
        for attempt in range(attempts):
            made = await make()
            if isinstance(made, Receipt):
                return made
            plan, refused = made
            try:
                return evolve(await house.store.commit(plan), refused=refused)
            except Conflict:
                if attempt == attempts - 1:
                    raise
                # Waiting longer each time would starve whoever lost: the winner of a round is done, not back in line.
                await asyncio.sleep(random.random() * _JITTER_SECONDS)  # noqa: S311 - not a secret
    raise Conflict
