"""What models have cost, as pages show it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

from muniment.faces.console.visits import Visit
from muniment.memory.domain.scope import Scope

_MICROS = 1_000_000
_ANYBODY = "anybody"  # the books are the tenant's: its spaces share them


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """What was charged on a day and its limits, in tokens and in millionths of the currency; None is no limit."""

    tokens: int
    micros: int
    token_limit: int | None
    micro_limit: int | None
    currency: str

    @property
    def share(self) -> float | None:
        """How much of the nearest limit is used, from 0 to 1; None without a limit."""
        pairs = ((self.tokens, self.token_limit), (self.micros, self.micro_limit))
        used = [amount / limit for amount, limit in pairs if limit is not None]
        return min(1.0, max(used)) if used else None


async def read_budget(visit: Visit, today: date) -> Budget:
    """Return what the tenant of a visit was charged today, and what it may be."""
    usage = await visit.service.memory.admin.read_usage(make_books_scope(visit), 1)
    tokens, micros = usage.days.get(today, (0, 0))
    spend = visit.service.settings.spend
    limit = None if spend.daily_money is None else round(spend.daily_money * _MICROS)
    return Budget(
        tokens=tokens, micros=micros, token_limit=spend.daily_tokens, micro_limit=limit, currency=spend.currency
    )


def make_books_scope(visit: Visit) -> Scope:
    """Return a scope of the tenant of a visit, whose books are of all its users."""
    return visit.grant.make_scope(visit.owner or _ANYBODY)
