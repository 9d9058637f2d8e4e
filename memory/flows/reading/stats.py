"""What was done and what it cost, counted."""

from __future__ import annotations

from datetime import UTC, date, timedelta

from muniment.memory.domain.scope import Scope
from muniment.memory.domain.usage import Activity, Books
from muniment.memory.errors import BadInput
from muniment.memory.flows.house import House


async def activity(house: House, scope: Scope, days: int, changes: int) -> Activity:
    """See `Memory.activity`. Raises BadInput."""
    since = _since(house, days)
    await house.flush(scope)
    return await house.store.activity(house.owner(scope), since, changes)


async def books(house: House, scope: Scope, days: int) -> Books:
    """See `Memory.books`. Raises BadInput."""
    since = _since(house, days)
    await house.settle(scope)
    return await house.store.books(scope, since)


async def spaces(house: House, tenant: str | None) -> list[Scope]:
    """See `Memory.spaces`."""
    return [scope async for scope in house.store.spaces() if tenant in (None, scope.tenant)]


def _since(house: House, days: int) -> date:
    today = house.clock.now().astimezone(UTC).date()
    if not 1 <= days <= (today - date.min).days:
        raise BadInput("days: at least 1, and no more than there have been")
    return today - timedelta(days=days - 1)
