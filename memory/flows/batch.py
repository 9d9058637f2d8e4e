"""Questions about pairs that go to a batch endpoint: noted while a run goes on, handed over at its end.

The record says what is being asked before it is asked: a process that dies in between leaves a batch that is found again by
the run's id, or a run of which nothing was asked."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, timedelta

from muniment.memory.batches import BatchRequest
from muniment.memory.errors import Conflict, ModelError, OverBudget
from muniment.memory.flows import spend
from muniment.memory.flows.house import House
from muniment.memory.flows.questions import pages, question
from muniment.memory.plan import Job, WritePlan
from muniment.memory.records import Revision, evolve
from muniment.memory.rules import cost
from muniment.memory.upkeep import Asked, Pair, Run

_FIRST_LOOK = timedelta(minutes=2)
_BEYOND = timedelta(days=1)  # the lease of what waits: nobody gives it up before its own time is over
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
    return evolve(run, asked=run.asked + asked)


def lease(house: House) -> timedelta:
    """How long a run that waits is its space's own."""
    return timedelta(days=house.settings.consolidation.batch_days) + _BEYOND


def day(run: Run) -> date:
    """The day (UTC) whose budget pays for what the run has asked."""
    return run.started_at.astimezone(UTC).date()


async def submit(house: House, run: Run) -> Run:
    """Hand over what the run has noted to ask: it is `waiting`, `over_budget`, or `failed`, or `running` with nothing left
    to ask. As long as it waits its tokens and money are what is reserved. Raises Conflict, StoreError."""
    if house.batches is None:
        return evolve(run, asked=(), status="failed", reason="ModelUnavailable")
    run, pairs = await _as_they_are(house, run)
    if not pairs:
        return run
    questions = [question(some) for some in pages(house, pairs)]
    requests = [BatchRequest(id=f"{n}", messages=one.messages, form=one.form) for n, one in enumerate(questions)]
    try:
        held, charge = await spend.reserve(house, run.scope, "consolidate", requests, day(run))
    except OverBudget as error:
        return evolve(run, status="over_budget", reason=type(error).__name__)
    except ModelError as error:
        return evolve(run, status="failed", reason=type(error).__name__)
    run = evolve(
        run,
        status="waiting",
        model=house.batches.name,
        prompt=questions[0].prompt,
        requests=len(held),
        input_tokens=charge.input_tokens,
        output_tokens=charge.output_tokens,
        micros=charge.micros,
        asked=tuple(
            one
            for request, asked in zip(held, questions, strict=False)
            for one in (evolve(each, request=request.id) for each in put_off(evolve(run, asked=()), asked.pairs).asked)
        ),
        reason=OverBudget.__name__ if len(held) < len(requests) else None,
    )
    run = await _expect(house, run)
    try:
        run = evolve(run, batch=await house.batches.submit(str(run.id), held))
    except ModelError as error:
        if not cost.unbilled(error):
            return run  # it may have arrived all the same: whoever collects looks for it
        await spend.settle_batch(house, run.scope, day(run), charge, ())
        return evolve(run, status="failed", reason=type(error).__name__, requests=0, input_tokens=0, output_tokens=0,
                      micros=0, unanswered=run.unanswered + len(run.asked))  # fmt: skip
    return await house.store.keep_run(run, lease(house))


async def _as_they_are(house: House, run: Run) -> tuple[Run, list[Pair]]:
    """The pairs to ask about as their memories are by now; those of which one has given way meanwhile are outdated."""
    ids = list({id_: None for one in run.asked for id_ in (one.older, one.newer)})
    members = (await house.store.members(run.scope, ids)).memories
    pairs = []
    for one in run.asked:
        older, newer = members.get(one.older), members.get(one.newer)
        if older and newer and older.state == newer.state == "active":
            pairs.append(Pair(older=older, newer=newer, sim=one.sim, tries=one.tries))
    return evolve(run, asked=(), outdated=run.outdated + len(run.asked) - len(pairs)), pairs


async def _expect(house: House, run: Run) -> Run:
    """Write what is about to be asked, and the job that will collect it, in one transaction."""
    at = house.clock.now()
    job = Job(name="collect", scope=run.scope, key=str(run.id), at=at + _FIRST_LOOK)
    for _ in range(house.settings.write.attempts):
        rev = (await house.store.members(run.scope, ())).rev
        plan = WritePlan(scope=run.scope, expects=Revision(rev), node="worker", at=at, jobs=(job,))
        try:
            return await house.store.keep_run(run, lease(house), plan)
        except Conflict as error:
            if error.data.get("lost"):
                raise
    raise Conflict
