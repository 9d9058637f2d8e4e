"""What the engine asks of a provider's batch endpoint: prompts now, answers in hours or days, at a lower price."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from muniment.memory.errors import ModelError
from muniment.memory.ports import AnswerForm, ChatAnswer, ChatMessage


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchRequest:
    """One prompt of a batch; `id` is its name among the answers."""

    id: str
    messages: tuple[ChatMessage, ...]
    form: AnswerForm | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Collected:
    """What came of a batch, by the ids of its requests; `tokens` (asked, said) of an answer that cannot be used, too.

    A request that is nowhere got no answer and cost nothing."""

    answers: dict[str, ChatAnswer] = field(default_factory=dict)
    failures: dict[str, ModelError] = field(default_factory=dict)
    tokens: dict[str, tuple[int, int]] = field(default_factory=dict)


class BatchModel(Protocol):
    """A language model behind a batch endpoint. Failures are `ModelError`s."""

    @property
    def name(self) -> str: ...

    async def submit(self, key: str, requests: Sequence[BatchRequest]) -> str:
        """Hand the prompts over; the endpoint's name of the batch. Twice is two batches: `find` knows one by its key.

        An error with `sent=False`, or a status, has made none, and has left no file as far as that can be known."""
        ...

    async def find(self, key: str, since: datetime | None = None) -> str | None:
        """The endpoint's name of the batch that was submitted with this key, not before `since`; None when there is none."""
        ...

    async def collect(self, batch: str) -> Collected | None:
        """What came of the batch; None while it is under way. One that has expired or was cancelled has what came in time.

        Raises BatchFailed when the endpoint could not take it, or does not know it."""
        ...

    async def cancel(self, batch: str) -> None:
        """Let the endpoint stop. A batch that is over, or unknown, is cancelled already."""
        ...

    async def forget(self, batch: str) -> None:
        """Remove the batch's files at the endpoint, as far as it lets them be removed."""
        ...

    async def tidy(self, key: str) -> None:
        """Remove what was uploaded for a batch of this key that was never made."""
        ...
