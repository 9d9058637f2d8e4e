"""What is asked of a store for a run that waits for a batch endpoint: that it waits, and that nothing of it is there any more."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Protocol

from muniment.memory.plan import Charge, Settlement
from muniment.memory.records import Scope
from muniment.memory.upkeep import Run, RunId


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A run as it waits when one more prompt is handed over, and what that prompt may cost."""

    charge: Charge
    run: Run


class Waiting(Protocol):
    """The part of a store that knows of runs whose questions are with a batch endpoint."""

    async def hand_over(
        self,
        drafts: Sequence[Draft],
        lease: timedelta,
        look: timedelta,
        day: date,
        tokens: int | None,
        micros: int | None,
    ) -> Run | None:
        """Reserve what the prompts may cost, one by one, while the day's budget is not used up, and write the last of the
        drafts that it goes for with the job that collects, `look` later: in one transaction. None, and nothing written, when the budget
        was used up before. Raises Conflict when the run is over, or waits already."""
        ...

    async def collecting(self, scope: Scope) -> list[RunId]:
        """The runs of the space, also such as are gone, of which a job has yet to see that nothing is at the endpoint."""
        ...

    async def let_go(self, run: Run, used: Sequence[Settlement]) -> bool:
        """Note of a run that is over that nothing of it is at the endpoint any more, with what answers have cost that came
        after its end. False, and nothing written, when that was noted before."""
        ...
