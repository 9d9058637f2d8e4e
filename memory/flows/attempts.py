"""A plan that meets the space as it is, and is made anew when another writer was first."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import TypeVar

from muniment.memory.errors import Conflict
from muniment.memory.flows.house import House
from muniment.memory.plan import Receipt, WritePlan
from muniment.memory.records import Scope, evolve

_JITTER_SECONDS = 0.005
_Done = TypeVar("_Done")


async def committed(
    house: House, scope: Scope, make: Callable[[], Awaitable[tuple[WritePlan, tuple[str, ...]] | Receipt]]
) -> Receipt:
    """Commit what `make` plans, with what it refused; where it gives a receipt instead, there is nothing to commit.

    Raises Conflict when the space was another one at each of `write.attempts`."""

    async def commit() -> Receipt:
        made = await make()
        if isinstance(made, Receipt):
            return made
        plan, refused = made
        return evolve(await house.store.commit(plan), refused=refused)

    async with house.turnstile(scope.space):
        return await attempted(house, commit)


async def attempted(house: House, step: Callable[[], Awaitable[_Done]]) -> _Done:
    """What `step` does, which looks at the space and changes it; again, when another writer came between.

    Raises Conflict at the last of `write.attempts`, and at once when what it was about is `lost`."""
    for left in reversed(range(house.settings.write.attempts)):
        try:
            return await step()
        except Conflict as error:
            if not left or error.data.get("lost"):
                raise
        # Waiting longer each time would starve whoever lost: the winner of a round is done, not back in line.
        await asyncio.sleep(random.random() * _JITTER_SECONDS)  # noqa: S311 - not a secret
    raise Conflict
