"""A plan that meets the space as it is, and is made anew when another writer was first."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias, TypeVar

from muniment.memory.config.settings import Settings
from muniment.memory.domain.ids import Vector
from muniment.memory.domain.plan import Receipt, WritePlan
from muniment.memory.domain.scope import Scope
from muniment.memory.errors import Conflict
from muniment.memory.flows.space_locks import SpaceLocks
from muniment.memory.flows.writing.consent import Consents
from muniment.memory.ports.embedders import Embedder

_JITTER_SECONDS = 0.005
_MAX_ROUNDS = 100  # of one plan, each of which wants a text more
_Done = TypeVar("_Done")


class _MissingVectors(Exception):
    """A plan wants the vectors of texts that have none yet."""

    def __init__(self, texts: Sequence[str]) -> None:
        super().__init__()
        self.texts = texts


class VectorCache:
    """The vectors of the texts of one write. Where one is missing, the plan is made anew when it is there: nobody waits for an
    embedder inside the turnstile."""

    def __init__(self) -> None:
        self._vectors: dict[str, Vector] = {}

    def get_vectors(self, texts: Sequence[str]) -> list[Vector]:
        """The vectors of these texts, for `committed` to see to."""
        if missing := [one for one in dict.fromkeys(texts) if one not in self._vectors]:
            raise _MissingVectors(missing)
        return [self._vectors[one] for one in texts]

    async def embed_texts(self, embedder: Embedder, texts: Sequence[str]) -> None:
        """Embed these texts. Raises ModelError."""
        self._vectors |= dict(zip(texts, await embedder.embed_documents(texts), strict=True))


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejections:
    """What is not in a plan, for its receipt."""

    refused: tuple[str, ...] = ()
    unmet: tuple[str, ...] = ()


MakePlan: TypeAlias = Callable[[VectorCache], Awaitable[tuple[WritePlan, Rejections] | Receipt]]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PlanCommitter:
    """A plan that meets the space as it is, and is made anew when another writer was first."""

    consents: Consents
    embedder: Embedder
    locks: SpaceLocks
    settings: Settings

    async def commit_with_retry(self, scope: Scope, make_plan: MakePlan) -> Receipt:
        """Commit what `make` plans, with what is not in it; where it gives a receipt instead, there is nothing to commit. It writes
        nothing before it has all its vectors.

        Raises Conflict when the space was another one at each of `write.attempts`, ModelError."""
        vectors = VectorCache()

        async def commit_once() -> Receipt:
            planned = await make_plan(vectors)
            if isinstance(planned, Receipt):
                return planned
            plan, aside = planned
            return replace(await self.consents.commit_plan(plan), refused=aside.refused, unmatched_requests=aside.unmet)

        for _ in range(_MAX_ROUNDS):
            try:
                async with self.locks.space_lock(scope.space):
                    return await self.retry_on_conflict(commit_once)
            except _MissingVectors as error:
                missing = error.texts
            await vectors.embed_texts(self.embedder, missing)
        raise Conflict

    async def retry_on_conflict(self, step: Callable[[], Awaitable[_Done]]) -> _Done:
        """What `step` does, which looks at the space and changes it; again, when another writer came between.

        Raises Conflict at the last of `write.attempts`, and at once when what it was about is `lost`."""
        for left in reversed(range(self.settings.write.attempts)):
            try:
                return await step()
            except Conflict as error:
                if not left or error.data.get("lost"):
                    raise
            # Waiting longer each time would starve whoever lost: the winner of a round is done, not back in line.
            await asyncio.sleep(random.random() * _JITTER_SECONDS)  # noqa: S311 - not a secret
        raise Conflict
