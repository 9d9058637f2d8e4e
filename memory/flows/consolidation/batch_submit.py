"""Questions about pairs that go to a batch endpoint: noted while a run goes on, handed over at its end.

The record says what is being asked before it is asked: a process that dies in between leaves a batch that is found again by
the run's id, or a run of which nothing was asked."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, date, timedelta

from muniment.memory.domain.consolidation import Asked, Draft, Pair, Run, RunStatus
from muniment.memory.domain.usage import Charge
from muniment.memory.errors import Conflict, ModelError, OverBudget
from muniment.memory.flows import metering as spend
from muniment.memory.flows.consolidation.prompt import Question, pages, question
from muniment.memory.flows.house import House
from muniment.memory.flows.reading import memories
from muniment.memory.ports.llm import BatchModel, BatchRequest
from muniment.memory.rules.policy import cost

_FIRST_LOOK = timedelta(minutes=2)
_BEYOND = timedelta(days=1)  # nobody gives up what waits before its own time is over
_LATER = "later"


def wanted(house: House, run: Run) -> bool:
    """Whether the run's questions go to a batch endpoint."""
    return house.settings.consolidation.batch and house.batches is not None and not run.dry


def put_off(run: Run, pairs: Sequence[Pair]) -> Run:
    """The run with these pairs among those to ask about."""
    asked = tuple(
        Asked(
            request=_LATER,
            place=n,
            older=one.older.id,
            newer=one.newer.id,
            revs=(one.older.rev, one.newer.rev),
            sim=one.sim,
            tries=one.tries,
        )
        for n, one in enumerate(pairs, 1)
    )
    return replace(run, asked=run.asked + asked)


def lease(house: House, run: Run) -> timedelta:
    """How long a run is its space's own, unless it is heard of."""
    return patience(house) if run.status == "waiting" else soon(house)


def patience(house: House) -> timedelta:
    """After how long nobody waits for an endpoint any more."""
    return timedelta(days=house.settings.consolidation.batch_days) + _BEYOND


def soon(house: House) -> timedelta:
    """Within how long a process that is alive is heard of."""
    return timedelta(minutes=house.settings.consolidation.lease_minutes)


def day(run: Run) -> date:
    """The day (UTC) whose budget pays for what the run has asked."""
    return (run.handed or run.started_at).astimezone(UTC).date()


def late(house: House, run: Run) -> timedelta:
    """How long ago the run's questions were handed over. A clock that was far ahead then does not make them new for ever."""
    waited = house.clock.now() - (run.handed or run.started_at)
    return waited if waited > -_BEYOND else patience(house)


def held(run: Run) -> Charge:
    """What is reserved for a run that waits."""
    return Charge(purpose="consolidate", model=run.model or "", input_tokens=run.input_tokens,
                  output_tokens=run.output_tokens, micros=run.micros)  # fmt: skip


async def without_answers(
    house: House, run: Run, status: RunStatus, reason: str | None = None, *, paid: bool = False
) -> Run:
    """Note that a run waits no more and that nothing was answered: what it held is given back or, if it may have been `paid`,
    stays charged. Raises Conflict, StoreError."""
    over = replace(
        run, status=status, reason=reason or run.reason, unanswered=run.unanswered + len(run.asked), asked=()
    )
    if not paid:
        over = replace(over, requests=0, input_tokens=0, output_tokens=0, micros=0)
    settled = spend.settlement(day(run), held(run), [held(run)] if paid else ())
    return await house.store.keep_run(over, lease(house, over), settled=settled)


async def submit(house: House, run: Run) -> Run:
    """Hand over what the run has noted to ask: it is `waiting`, `over_budget`, or `failed`, or `running` with nothing left
    to ask; or it was called off meanwhile, and is over. As long as it waits its tokens and money are what is reserved.
    Raises Conflict, StoreError."""
    if house.batches is None:
        return replace(run, asked=(), status="failed", reason="ModelUnavailable")
    run, pairs = await as_they_are(house, run)
    if not pairs:
        return run
    try:
        run, requests = await _reserved(house, house.batches.name, run, pairs)
    except ModelError as error:
        return replace(run, status="failed", reason=type(error).__name__)
    if run.status != "waiting":
        return run
    try:
        return await _submitted(house, house.batches, run, requests)
    except Conflict as error:
        found = await house.store.runs(run.scope, 1, run.id) if error.data.get("lost") else ()
        if not found:
            raise  # it is gone with its space
        return found[0]


async def _reserved(house: House, model: str, run: Run, pairs: Sequence[Pair]) -> tuple[Run, tuple[BatchRequest, ...]]:
    """The run as it waits, with the money that it holds and the job that will collect, and the prompts that the day can
    pay for; `over_budget` when that is none. Written before anything is asked. Raises ModelUnavailable, Conflict, StoreError.

    Money is reserved without a budget, too: the answers may come when there is one."""
    questions = [question(some) for some in pages(house, pairs)]
    asked = [BatchRequest(id=f"{n}", messages=one.messages, form=one.form) for n, one in enumerate(questions)]
    offers = [spend.estimated(house, model, "consolidate", one) for one in asked]
    tokens, micros = spend.limits(house, model)
    now = house.clock.now()
    first = replace(run, status="waiting", model=model, prompt=questions[0].prompt, handed=now, asked=())
    drafts = _drafts(first, questions, offers)
    await house.settle(run.scope)  # what the tenant owes counts before there is more
    waiting = await house.store.hand_over(drafts, patience(house), _FIRST_LOOK, day(first), tokens, micros)
    if waiting is None:
        return replace(run, status="over_budget", reason=OverBudget.__name__), ()
    return waiting, tuple(one for one, _ in offers[: waiting.requests])


def _drafts(run: Run, questions: Sequence[Question], offers: Sequence[tuple[BatchRequest, Charge]]) -> list[Draft]:
    """The run with one prompt more each time."""
    drafts: list[Draft] = []
    for (request, charge), one in zip(offers, questions, strict=True):
        shown = tuple(replace(each, request=request.id) for each in put_off(replace(run, asked=()), one.pairs).asked)
        total = cost.together(held(run), charge)
        run = replace(run, requests=len(drafts) + 1, input_tokens=total.input_tokens, output_tokens=total.output_tokens,
                     micros=total.micros, asked=run.asked + shown,
                     reason=OverBudget.__name__ if len(drafts) + 1 < len(offers) else None)  # fmt: skip
        drafts.append(Draft(charge=charge, run=run))
    return drafts


async def _submitted(house: House, batches: BatchModel, run: Run, requests: Sequence[BatchRequest]) -> Run:
    """The run with the name of its batch, or `failed`. Raises Conflict when it was called off meanwhile; so is its batch then."""
    try:
        name = await batches.submit(str(run.id), requests)
    except ModelError as error:
        if not cost.unbilled(error):
            return run  # it may have arrived all the same: whoever collects looks for it
        return await without_answers(house, run, "failed", type(error).__name__)
    try:
        return await house.store.keep_run(replace(run, batch=name), lease(house, run), settled=())
    except Conflict:
        with suppress(ModelError):  # the job does the same as long as it is there
            await batches.cancel(name)
            await batches.forget(name)
        raise


async def as_they_are(house: House, run: Run) -> tuple[Run, list[Pair]]:
    """The pairs to ask about as their memories are by now; those of which one has given way meanwhile are outdated."""
    members = await memories.members(house, run.scope, (id_ for one in run.asked for id_ in (one.older, one.newer)))
    pairs = []
    for one in run.asked:
        older, newer = members.get(one.older), members.get(one.newer)
        if older and newer and older.state == newer.state == "active":
            pairs.append(Pair(older=older, newer=newer, sim=one.sim, tries=one.tries))
    return replace(run, asked=(), outdated=run.outdated + len(run.asked) - len(pairs)), pairs
