"""What an exchange adds to the accounts of its token."""

from __future__ import annotations

from datetime import UTC
from typing import Any
from uuid import UUID

from muniment.faces.proxy.exchange import Exchange
from muniment.memory.bootstrap import ProxyAccounts
from muniment.memory.codec import encode_record
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.tokens.config import TOKEN_OWNER, name_tenant
from muniment.memory.domain.tokens.usage import ProxyDay

_MOST = 10**9  # of one exchange: what a provider reports beyond is no number of tokens
DEFAULT_DAYS = 30


async def account_exchange(accounts: ProxyAccounts, token_id: UUID, exchange: Exchange) -> None:
    """Add an exchange to the day of its token. It is written within a second."""
    usage, milliseconds = exchange.usage, round(exchange.seconds * 1_000)
    tokens = (usage.prompt_tokens, usage.cached_tokens, usage.completion_tokens) if usage else (-1, -1, -1)
    is_reported = all(0 <= number < _MOST for number in tokens)
    prompt, cached, completion = tokens if is_reported else (0, 0, 0)
    accounts.add_exchange(
        Scope(tenant=name_tenant(token_id), owner=TOKEN_OWNER),
        ProxyDay(
            token_id=token_id,
            day=exchange.at.astimezone(UTC).date(),
            requests=1,
            refused=int(exchange.is_refused),
            unreported=int(not is_reported and not exchange.is_refused),
            prompt_tokens=prompt,
            cached_tokens=cached,
            completion_tokens=completion,
            memories=exchange.memories,
            bytes_in=exchange.bytes_in,
            bytes_out=exchange.bytes_out,
            latency_ms=milliseconds,
            longest_ms=milliseconds,
        ),
    )


async def read_usage(accounts: ProxyAccounts, token_id: UUID | None = None, days: int = DEFAULT_DAYS) -> dict[str, Any]:
    """Return the last so many days of a token, or of all, as JSON has them, the latest first. Raises BadInput,
    StoreError."""
    found = await accounts.list_days(token_id, days=days)
    return {"days": [encode_record(day) | {"day": day.day.isoformat()} for day in found]}
