"""What the exchanges of a token through the proxy come to, day by day."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from uuid import UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class ProxyDay:
    """The exchanges of a token on a day in UTC. Tokens of models are those that the provider reports."""

    token_id: UUID
    day: date
    requests: int = 0  # the refused ones included
    refused: int = 0  # by the proxy itself
    unreported: int = 0  # of the others: without a report of tokens
    prompt_tokens: int = 0
    cached_tokens: int = 0  # of the prompt's
    completion_tokens: int = 0
    memories: int = 0  # that were put before the model
    bytes_in: int = 0
    bytes_out: int = 0
    latency_ms: int = 0  # in sum
    longest_ms: int = 0

    @property
    def mean_ms(self) -> int:
        """The mean of the times of its requests, in milliseconds."""
        return round(self.latency_ms / self.requests) if self.requests else 0
