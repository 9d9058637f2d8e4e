"""A plan that meets the space as it is, and is made anew when another writer was first."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias, TypeVar

from muniment.memory.domain.ids import Vector
from muniment.memory.domain.plan import Receipt, WritePlan
from muniment.memory.domain.scope import Scope
from muniment.memory.errors import Conflict
from muniment.memory.flows.house import House
from muniment.memory.flows.writing import consent

_JITTER_SECONDS = 0.005
_ROUNDS = 100  # of one plan, each of which wants a text more
_Done = TypeVar("_Done")


class _Unread(Exception):
    """A plan wants the vectors of texts that have none yet."""

    def __init__(self, texts: Sequence[str]) -> None:
        super().__init__()
        self.texts = texts


class Vectors:
    """The vectors of the texts of one write. Where one is missing, the plan is made anew when it is there: nobody waits for an
    embedder inside the turnstile."""

    def __init__(self) -> None:
        self._made: dict[str, Vector] = {}

    def of(self, texts: Sequence[str]) -> list[Vector]:
        """The vectors of these texts, for `committed` to see to."""
        if missing := [one for one in dict.fromkeys(texts) if one not in self._made]:
            raise _Unread(missing)
        return [self._made[one] for one in texts]

    async def make(self, house: House, texts: Sequence[str]) -> None:
        """Embed these texts. Raises ModelError."""
        self._made |= dict(zip(texts, await house.embedder.documents(texts), strict=True))


@dataclass(frozen=True, slots=True, kw_only=True)
class Aside:
    """What is not in a plan, for its receipt."""

    refused: tuple[str, ...] = ()
    unmet: tuple[str, ...] = ()


Make: TypeAlias = Callable[[Vectors], Awaitable[tuple[WritePlan, Aside] | Receipt]]


async def committed(house: House, scope: Scope, make: Make) -> Receipt:
    """Commit what `make` plans, with what is not in it; where it gives a receipt instead, there is nothing to commit. It writes
    nothing before it has all its vectors.

    Raises Conflict when the space was another one at each of `write.attempts`, ModelError."""
    vectors = Vectors()

    async def commit() -> Receipt:
        made = await make(vectors)
        if isinstance(made, Receipt):
            return made
        plan, aside = made
        return replace(await consent.commit(house, plan), refused=aside.refused, unmet=aside.unmet)

    for _ in range(_ROUNDS):
        try:
            async with house.turnstile(scope.space):
                return await attempted(house, commit)
        except _Unread as error:
            missing = error.texts
        await vectors.make(house, missing)
    raise Conflict


async def attempted(house: House, step: Callable[[], Awaitable[_Done]]) -> _Done:
    """What `step` does, which looks at the space and changes it; again, when another writer came between.

    Raises Conflict at the last of `write.attempts`, and at once when what it was about is `lost`."""
    for left in reversed(range(house.settings.write.attempts)):
        try:
            return await step()
        except Conflict as error:
            if not left or error.data.get("lost"):
                raise
        # Waiting longer each time would starve whoever lost: the winner of a round is done, not back in line.
        await asyncio.sleep(random.random() * _JITTER_SECONDS)  # noqa: S311 - not a secret
    raise Conflict
