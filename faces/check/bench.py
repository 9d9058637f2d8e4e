"""What cases run on: a memory with a clock that a case sets, spaces of their own, and counts of what the calls cost."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from math import ceil
from time import perf_counter
from typing import Any, Literal, TypeVar
from uuid import uuid4

from muniment.faces.check.file_format import Case
from muniment.memory.client import Memory
from muniment.memory.config.schema import Price
from muniment.memory.config.settings import Settings
from muniment.memory.domain.embedding import SwitchRange
from muniment.memory.domain.scope import Scope
from muniment.memory.ports.llm import AnswerForm, ChatAnswer, ChatMessage, ChatModel, Tool

_Result = TypeVar("_Result")
TENANT = "muniment-check-"  # the start of the tenants of scratch spaces; the day (UTC) follows
_SESSION = "check"
CallKind = Literal["learn", "query", "other"]


class BenchClock:
    """The system's clock, or one that stands at the time which a case has set."""

    def __init__(self) -> None:
        self._time: datetime | None = None

    def now(self) -> datetime:
        """Return the time in UTC."""
        return self._time or datetime.now(UTC)

    def set_time(self, time: datetime | None) -> None:
        """Let it stand at this time; None is the system's."""
        self._time = None if time is None else time.astimezone(UTC)


class CountedModel:
    """A chat model that counts requests, tokens, and what they cost by the prices of the settings."""

    def __init__(self, model: ChatModel, prices: Mapping[str, Price]) -> None:
        self._model, self._price = model, prices.get(model.name)
        self.calls, self.tokens, self.cost = 0, 0, 0.0

    @property
    def name(self) -> str:
        """The model's name."""
        return self._model.name

    async def chat(
        self, messages: Sequence[ChatMessage], tools: Sequence[Tool] = (), *, form: AnswerForm | None = None
    ) -> ChatAnswer:
        """Return the model's answer. Raises ModelError; a request that fails is counted, too."""
        self.calls += 1
        answer = await self._model.chat(messages, tools, form=form)
        self.tokens += answer.input_tokens + answer.output_tokens
        if self._price is not None:  # which is of a million tokens
            millionths = answer.input_tokens * self._price.input + answer.output_tokens * self._price.output
            self.cost += millionths / 1_000_000
        return answer

    async def close(self) -> None:
        """Close the connections to the model."""
        await self._model.close()


@dataclass(slots=True, kw_only=True)
class CaseMeter:
    """What the calls of one case took, in seconds, and what the model had cost before it."""

    seconds: dict[CallKind, list[float]] = field(default_factory=lambda: {"learn": [], "query": [], "other": []})
    before: tuple[int, int, float] = (0, 0, 0.0)

    async def time_call(self, kind: CallKind, call: Awaitable[_Result]) -> _Result:
        """Return what a call of the memory returns; its time is noted, also of one that fails."""
        began = perf_counter()
        try:
            return await call
        finally:
            self.seconds[kind].append(perf_counter() - began)

    @property
    def total_seconds(self) -> float:
        """Return the time of all calls."""
        return sum(sum(each) for each in self.seconds.values())

    def find_p95(self, kind: CallKind) -> float | None:
        """Return the time in milliseconds that 95 of 100 calls kept to, None without a call."""
        times = sorted(self.seconds[kind])
        return times[ceil(0.95 * len(times)) - 1] * 1_000 if times else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """An open memory for cases. Each has a space of its own, in a tenant of the day."""

    memory: Memory
    settings: Settings
    clock: BenchClock
    model: CountedModel | None
    tenant: str
    run: str  # the start of the owners' names

    def make_scratch_scope(self, number: int, case: Case) -> Scope:
        """Return the scope of a case: an owner that nobody else has."""
        owner = f"{self.run}/{number}"
        return Scope(
            tenant=self.tenant, owner=owner, actor=owner, thread=_SESSION, session=_SESSION, project=case.project
        )

    def begin_meter(self) -> CaseMeter:
        """Return the meter of a case that begins."""
        return CaseMeter(before=self.read_usage())

    def read_usage(self) -> tuple[int, int, float]:
        """Return the requests to the model so far, their tokens and their cost."""
        return (0, 0, 0.0) if self.model is None else (self.model.calls, self.model.tokens, self.model.cost)


@asynccontextmanager
async def open_bench(settings: Settings, embedder: str | None = None) -> AsyncIterator[Bench]:
    """Open a memory for cases by these settings; the scratch spaces have this embedder, or that of the settings.

    Raises BadConfig, StoreError, WrongEmbedder."""
    # The bootstrap brings the database's driver and the embedder's libraries: nothing for `--help` to wait for.
    from muniment.memory import bootstrap  # noqa: PLC0415

    clock = BenchClock()
    model = bootstrap.make_chat_model(settings)
    counted = None if model is None else CountedModel(model, settings.spend.prices)
    day = f"{TENANT}{datetime.now(UTC):%Y-%m-%d}"
    parts: dict[str, Any] = {"settings": settings, "clock": clock, "model": counted, "run": uuid4().hex}
    async with bootstrap.create_memory(settings, clock=clock, model=counted) as memory:
        if embedder in (None, settings.embedder):
            await bootstrap.load_embedder(memory.engine.embedder)  # or the first call would be measured with it
            yield Bench(memory=memory, tenant=day, **parts)
            return
        other = bootstrap.make_embedder(settings.model_copy(update={"embedder": embedder}))
        try:
            own = memory.configure(
                embedder=other,
                model=counted,
                make_former=lambda name: bootstrap.make_stored_embedder(settings, name),
            )
            await bootstrap.load_embedder(other)
            tenant = f"{day}-{other.name}"
            await own.admin.reembed(spaces=SwitchRange(tenant=tenant))
            yield Bench(memory=own, tenant=tenant, **parts)
        finally:
            await other.close()


async def remove_leftovers(bench: Bench) -> int:
    """Erase the scratch spaces of former days, which runs that were killed have left. Returns how many."""
    today = f"{TENANT}{datetime.now(UTC):%Y-%m-%d}"
    old = [
        scope
        for scope in await bench.memory.admin.list_spaces()
        if scope.tenant.startswith(TENANT) and not scope.tenant.startswith(today)
    ]
    for scope in old:
        await bench.memory.admin.erase_space(scope)
    return len(old)
