"""Committing a plan by compare-and-set: when another writer was first, the plan is made again."""

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
from muniment.memory.flows.process_state import SpaceLocks
from muniment.memory.flows.writing.consent import Consents
from muniment.memory.ports.embedders import Embedder

_JITTER_SECONDS = 0.005
_MAX_ROUNDS = 100  # of one plan; each embeds texts that the plan before it lacked
_Result = TypeVar("_Result")


class _MissingVectors(Exception):
    """A plan needs the vectors of texts that are not embedded yet."""

    def __init__(self, texts: Sequence[str]) -> None:
        super().__init__()
        self.texts = texts


class VectorCache:
    """The vectors of the texts of one write. When one is missing, the plan is made again after the text is embedded.

    So no writer waits for an embedder while it holds the lock of the space."""

    def __init__(self) -> None:
        self._vectors: dict[str, Vector] = {}

    def get_vectors(self, texts: Sequence[str]) -> list[Vector]:
        """Return the vectors of these texts. A missing one makes `commit_with_retry` embed it and start over."""
        if missing := [text for text in dict.fromkeys(texts) if text not in self._vectors]:
            raise _MissingVectors(missing)
        return [self._vectors[text] for text in texts]

    async def embed_texts(self, embedder: Embedder, texts: Sequence[str]) -> None:
        """Embed these texts. Raises ModelError."""
        self._vectors |= dict(zip(texts, await embedder.embed_documents(texts), strict=True))


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejections:
    """What a plan leaves out, for its receipt: reasons of refusal, and sentences for unmet wishes to forget."""

    refused: tuple[str, ...] = ()
    unmet: tuple[str, ...] = ()


MakePlan: TypeAlias = Callable[[VectorCache], Awaitable[tuple[WritePlan, Rejections] | Receipt]]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PlanCommitter:
    """Commits plans, and makes a plan again when another writer was first."""

    consents: Consents
    embedder: Embedder
    locks: SpaceLocks
    settings: Settings

    async def commit_with_retry(self, scope: Scope, make_plan: MakePlan) -> Receipt:
        """Commit the plan that `make_plan` returns; a receipt in its place means that there is nothing to commit.

        `make_plan` may be called several times, and writes nothing. Raises Conflict when another writer was first at
        each of `write.attempts`, ModelError."""
        vectors = VectorCache()

        async def commit_once() -> Receipt:
            outcome = await make_plan(vectors)
            if isinstance(outcome, Receipt):
                return outcome
            plan, rejections = outcome
            receipt = await self.consents.commit_plan(plan)
            return replace(receipt, refused=rejections.refused, unmatched_requests=rejections.unmet)

        for _ in range(_MAX_ROUNDS):
            try:
                async with self.locks.space_lock(scope.space):
                    return await self.retry_on_conflict(commit_once)
            except _MissingVectors as error:
                missing = error.texts
            await vectors.embed_texts(self.embedder, missing)
        raise Conflict

    async def retry_on_conflict(self, step: Callable[[], Awaitable[_Result]]) -> _Result:
        """Return the result of `step`, which reads the space and changes it; repeat it when another writer came
        between.

        Raises Conflict at the last of `write.attempts`, and at once when its data says that the object is `lost`."""
        for left in reversed(range(self.settings.write.attempts)):
            try:
                return await step()
            except Conflict as error:
                if not left or error.data.get("lost"):
                    raise
            # A longer wait each time would starve the loser: the winner of a round is done and does not compete again.
            await asyncio.sleep(random.random() * _JITTER_SECONDS)  # noqa: S311 - not a secret
        raise Conflict
