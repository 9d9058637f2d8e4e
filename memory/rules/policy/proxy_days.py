"""Sums of what the exchanges of tokens come to."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

from muniment.memory.domain.tokens.usage import ProxyDay

_KEYS, _MAXIMA = ("token_id", "day"), ("longest_ms",)


def add_days(first: ProxyDay, second: ProxyDay) -> ProxyDay:
    """Return the sum of two, with the token and the day of the first."""
    sums: dict[str, Any] = {
        field.name: (max if field.name in _MAXIMA else _add)(getattr(first, field.name), getattr(second, field.name))
        for field in fields(ProxyDay)
        if field.name not in _KEYS
    }
    return replace(first, **sums)


def _add(first: int, second: int) -> int:
    return first + second
