"""What was done and what it cost, counted."""

from __future__ import annotations

from datetime import UTC, date, timedelta

from muniment.memory.domain.scope import Scope
from muniment.memory.domain.usage import SpaceActivity, UsageReport
from muniment.memory.errors import BadInput
from muniment.memory.flows.house import House


async def get_activity(house: House, scope: Scope, days: int, changes: int) -> SpaceActivity:
    """See `Memory.activity`. Raises BadInput."""
    since = _find_first_day(house, days)
    await house.flush(scope)
    return await house.store.read_activity(house.make_owner_reader(scope), since, changes)


async def get_usage(house: House, scope: Scope, days: int) -> UsageReport:
    """See `Memory.books`. Raises BadInput."""
    since = _find_first_day(house, days)
    await house.flush_settlements(scope)
    return await house.store.read_usage(scope, since)


async def list_spaces(house: House, tenant: str | None) -> list[Scope]:
    """See `Memory.spaces`."""
    return [scope async for scope in house.store.list_spaces() if tenant in (None, scope.tenant)]


def _find_first_day(house: House, days: int) -> date:
    today = house.clock.now().astimezone(UTC).date()
    if not 1 <= days <= (today - date.min).days:
        raise BadInput("days: at least 1, and no more than there have been")
    return today - timedelta(days=days - 1)
