"""Requests that a caller may send again: the first is carried out, and each other is answered with its receipt."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass, is_dataclass, replace
from typing import Any
from uuid import uuid4

from muniment.memory.domain.plan import Receipt
from muniment.memory.domain.scope import RequestKey, Scope
from muniment.memory.errors import BadInput, KeyReused, MunimentError
from muniment.memory.ports.clock import Clock
from muniment.memory.ports.writes import MemoryWrites

_MAX_KEY_CHARS = 200
_ROUNDS, _PAUSE_SECONDS = 40, 0.05  # in which another process that has committed makes its receipt whole


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Requests:
    """Carries out a write once for each key. What was written and its receipt are of one transaction."""

    clock: Clock
    writes: MemoryWrites

    async def run_once(
        self, scope: Scope, key: object, write: Callable[..., Awaitable[Receipt]], *args: Any, **options: Any
    ) -> Receipt:
        """Return the receipt of `write`, which takes the scope first, or of the call before with this key, within a day
        and in any process.

        A call that fails is not kept: the next with its key tries again. Raises BadInput for what is no key, KeyReused
        for a key of another request, and what `write` raises."""
        if not isinstance(key, str) or not 0 < len(key) <= _MAX_KEY_CHARS or not key.isprintable():
            raise BadInput(f"idempotency_key: 1 to {_MAX_KEY_CHARS} printable characters wanted")
        digest = _hash_request(write.__name__, args, options)
        request = RequestKey(key=key, digest=digest, attempt=uuid4())
        keyed = replace(scope, request=request)
        if (known := await self._find_receipt(scope, request)) is not None:
            return known
        try:
            receipt = await write(keyed, *args, **options)
        except MunimentError:
            # Another call with this key may have been first, or this one has written before it failed.
            if (known := await self._find_receipt(scope, request)) is not None:
                return known
            raise
        kept = await self.writes.settle_request(scope, request, self.clock.now(), receipt)
        return receipt if kept is None or kept.attempt == request.attempt else kept.receipt

    async def _find_receipt(self, scope: Scope, request: RequestKey) -> Receipt | None:
        """Return the receipt under a key, whole where its process still lives. Raises KeyReused."""
        kept = None
        for _ in range(_ROUNDS):
            kept = await self.writes.settle_request(scope, request, self.clock.now())
            if kept is None:
                return None
            if kept.digest and kept.digest != request.digest:
                raise KeyReused
            if kept.is_whole or kept.attempt == request.attempt:
                break
            await asyncio.sleep(_PAUSE_SECONDS)
        return kept.receipt if kept else None


def _hash_request(name: str, args: Any, options: Any) -> bytes:
    """Return a digest of what a call asks for."""
    asked = json.dumps([name, args, options], sort_keys=True, default=_encode_argument)
    return hashlib.sha256(asked.encode()).digest()


def _encode_argument(value: Any) -> Any:
    """Return a value for the digest. Of a turn the time is left out: a face gives it the time of the request."""
    if is_dataclass(value) and not isinstance(value, type):
        return {name: item for name, item in asdict(value).items() if name != "at"}
    return str(value)
