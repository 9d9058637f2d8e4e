"""Time slots of maintenance, and the place of each space within a slot."""

from __future__ import annotations

from datetime import datetime, timedelta
from hashlib import blake2b

from muniment.memory.domain.scope import Scope

_EPOCH = datetime.fromisoformat("1970-01-01T00:00+00:00")
_NEIGHBOURHOOD = 0.1  # the share of a slot in which the spaces of one tenant begin


def find_slot_start(now: datetime, every: timedelta) -> datetime:
    """The beginning of the slot that contains `now`; slots start at 1970-01-01 UTC."""
    return now - (now - _EPOCH) % every


def compute_stagger(scope: Scope, spread: timedelta) -> timedelta:
    """The delay of a space within `spread`: mostly that of its tenant, plus a small one of its own."""
    return spread * (
        (1 - _NEIGHBOURHOOD) * _hash_fraction(scope.tenant_space.bytes)
        + _NEIGHBOURHOOD * _hash_fraction(scope.space.bytes)
    )


def _hash_fraction(value: bytes) -> float:
    return int.from_bytes(blake2b(value, digest_size=4).digest(), "big") / 2**32
