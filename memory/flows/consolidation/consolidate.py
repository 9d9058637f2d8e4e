"""Consolidation of a space, step by step: begin -> survey -> (check -> apply) for each portion -> end.

Each step that decides something is one transaction with the run's record: a process that dies between two steps has lost
nothing, and what it decided is not decided again."""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, time, timedelta
from typing import get_args
from uuid import UUID, uuid4

from muniment.memory.domain.consolidation import Finding, Judgement, Pair, Run, RunStatus
from muniment.memory.domain.erasure import Bounds
from muniment.memory.domain.ids import MemoryId, Revision, RunId
from muniment.memory.domain.plan import WritePlan
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.usage import Charge, Settlement
from muniment.memory.errors import BadInput, BadModelAnswer, ModelError, NotFound, OverBudget, StoreError
from muniment.memory.flows import metering as spend
from muniment.memory.flows.consolidation import batch_submit as batch
from muniment.memory.flows.consolidation.prompt import (
    Question,
    answered,
    cut,
    lasting,
    pages,
    question,
    unanswered,
)
from muniment.memory.flows.house import House
from muniment.memory.flows.writing import consent
from muniment.memory.flows.writing.transaction import attempted
from muniment.memory.ports.llm import ChatAnswer
from muniment.memory.rules.merging import consolidate as rules
from muniment.memory.rules.policy import cost
from muniment.memory.rules.policy.retry import unacceptable

Tell = Callable[[Sequence[Finding]], None]
_PARTNERS = 20_000  # that each memory of the pool is compared with
_CLOSEST = 12  # partners of one memory in a survey
_WORDED = 0.25  # cosine of two texts' words, where the embedder does not know their script
_AT_ONCE = 50  # pairs that the rules alone decide, in one transaction
_MOST = 1_000_000


async def consolidate(
    house: House, scope: Scope, *, dry: bool = False, limit: int | None = None, tell: Tell | None = None
) -> Run | None:
    """See `Memory.consolidate`."""
    run = await begin(house, scope, dry=dry, limit=limit)
    if run is None:
        return None
    ended = False
    try:
        run, pairs = await survey(house, run)
        for portion in portions(house, pairs):
            run, findings = await check(house, run, portion)
            if tell:
                tell(findings)
            run = await apply(house, run, findings)
            if run.status != "running":
                break
        run = await end(house, run)
        ended = True
    finally:
        # Given up in the open: the next one need not wait until the lease is over. What was handed over goes on.
        if not ended:
            await _called_off(house, run)
    return run


async def begin(house: House, scope: Scope, *, dry: bool = False, limit: int | None = None) -> Run | None:
    """A new run of the space; None while another one is under way. One of a space without memories has ended already.

    Raises BadInput for a limit that cannot be."""
    if limit is not None and not 1 <= limit <= _MOST:
        raise BadInput(f"limit: 1 to {_MOST:,} wanted")
    now = house.clock.now()
    rev, _ = await house.store.near(scope, (), 0)
    owner = scope.whose
    run = Run(id=RunId(uuid4()), scope=owner, status="running", started_at=now, from_rev=rev, dry=dry, limit=limit)
    if not rev:
        return replace(run, status="done", ended_at=now)
    if dry:
        return replace(run, surveyed=(await house.store.compared(owner))[0])
    try:
        return await house.store.begin_run(run, batch.lease(house, run))
    except asyncio.CancelledError:
        await _called_off(house, run)  # it may be there all the same, and nobody else knows of it
        raise


async def survey(house: House, run: Run) -> tuple[Run, tuple[Pair, ...]]:
    """The pairs that this run may check: those that the rules would make one, then those that they doubt, the closest first;
    what they hold apart for sure is noted when the day has room for it."""
    if run.status != "running":
        return run, ()
    near, upto = await _surveyed(house, run)
    fresh = [one for one in near if not one.checked]
    before = rules.duplicates(near, house.profile, lasting(house))
    run = await _keep(house, replace(run, seen=len(fresh), duplicates_before=before, upto=upto))
    verdicts = {id(one): rules.verdict(one, house.profile, lasting(house)) for one in fresh}
    fresh.sort(key=lambda one: (_turn(*verdicts[id(one)]), one.tries, -one.sim))
    return run, tuple(fresh[: await _room(house, run)])


def _turn(judgement: Judgement, sure: bool) -> tuple[bool, bool]:
    apart = judgement == "different"
    return apart and sure, apart or not sure


def portions(house: House, pairs: Sequence[Pair]) -> tuple[tuple[Pair, ...], ...]:
    """The pairs as they are checked together: what goes to a model a prompt's worth at a time."""
    asked = [one for one in pairs if _asks(house, one)]
    sure = [one for one in pairs if not _asks(house, one)]
    return (*cut(sure, _AT_ONCE), *pages(house, asked))


async def check(house: House, run: Run, pairs: Sequence[Pair]) -> tuple[Run, tuple[Finding, ...]]:
    """What each pair is found to be, by the rules where they are sure or there is no model, else by the model.
    `over_budget` and `failed` runs have what was found before that.

    Where prompts go to a batch endpoint nobody waits: what the model has to be asked is noted in the run, until its end.
    Else it is asked about what is there by then: others of the run may have given way, and some may be erased meanwhile."""
    findings = [_by_rules(house, one) for one in pairs if not _asks(house, one)]
    for some in pages(house, [one for one in pairs if _asks(house, one)]):
        if run.status != "running":
            break
        run = batch.put_off(run, some)
        if batch.wanted(house, run):
            continue
        run, left = await batch.as_they_are(house, run)
        if left:
            run, found = await _ask(house, run, question(left))
            findings += found
    return run, tuple(findings)


async def apply(
    house: House, run: Run, findings: Sequence[Finding], *, settled: Sequence[Settlement] | None = None
) -> Run:
    """Do what was found, in one transaction with the run's record: what changed meanwhile is left alone and counted
    `outdated`. `settled`: see `Consolidating.keep_run`. Raises Conflict when another run has taken this one's place."""
    ids = list({memory.id: None for one in findings for memory in (one.pair.older, one.pair.newer)})

    async def keep() -> Run:
        done, plan, kept = await _decided(house, run, findings, ids)
        if run.dry:
            return done
        whole = await consent.withdrawing(house, plan)
        return await house.store.keep_run(done, batch.lease(house, done), whole, kept, settled=settled)

    async with house.turnstile(run.scope.space):
        return await attempted(house, keep)


async def end(house: House, run: Run) -> Run:
    """Close the run's record: `done`, unless it says otherwise. Counts the duplicates that are left.

    With questions for a batch endpoint this hands them over instead, and the run waits (`flows.collect`)."""
    if run.ended_at is not None or run.status == "waiting":
        return run
    if run.asked and run.status == "running":
        run = await batch.submit(house, run)
        if run.status == "waiting" or run.ended_at is not None:
            return run
    closing: RunStatus = "done" if run.status == "running" else run.status
    if run.dry:
        return replace(run, status=closing, ended_at=house.clock.now())
    rev, _ = await house.store.near(run.scope, (), 0)
    left = run.duplicates_before
    if run.same or run.superseded:
        left = rules.duplicates((await _surveyed(house, run))[0], house.profile, lasting(house))
    open_ = run.unanswered - run.shelved
    whole = closing == "done" and not open_ and run.checked + run.outdated + run.shelved >= run.seen
    run = replace(
        run,
        status=closing,
        ended_at=house.clock.now(),
        to_rev=rev,
        surveyed=max(run.surveyed, run.upto) if whole else run.surveyed,
        duplicates_after=left,
        limit=None,
        upto=Revision(0),
        asked=(),
    )
    return await house.store.keep_run(run, batch.lease(house, run))


async def give_up(house: House, run: Run) -> None:
    """Close the record of a run that cannot go on; what it decided stays."""
    if not run.dry and run.ended_at is None:
        await house.store.give_up(run, house.clock.now())


async def _called_off(house: House, run: Run) -> None:
    with contextlib.suppress(StoreError):
        await asyncio.create_task(give_up(house, run))  # by itself: this task may be cancelled


async def records(house: House, scope: Scope, limit: int, run: UUID | None) -> list[Run]:
    """See `Memory.consolidations`."""
    if not 1 <= limit <= _MOST:
        raise BadInput(f"limit: 1 to {_MOST:,} wanted")
    return await house.store.runs(scope.whose, limit, None if run is None else RunId(run))


async def record(house: House, scope: Scope, run: UUID) -> Run:
    """The record of one run. Raises NotFound."""
    found = await house.store.runs(scope.whose, 1, RunId(run))
    if not found:
        raise NotFound(f"no consolidation {run} in the space of {scope.owner!r}", id=str(run))
    return found[0]


async def waiting(house: House, scope: Scope) -> Run | None:
    """The run of the space that waits for a batch endpoint, if there is one."""
    last = next(iter(await house.store.runs(scope.whose, 1)), None)  # the one that is not over, if there is one
    return last if last is not None and last.status == "waiting" else None


async def _decided(
    house: House, run: Run, findings: Sequence[Finding], ids: Sequence[MemoryId]
) -> tuple[Run, WritePlan, list[Finding]]:
    """The run as the findings leave it, the plan, and the findings that are kept."""
    board = rules.Board(members=await house.store.members(run.scope, ids), run=run.id, lasting=lasting(house))
    rev = board.members.rev
    counts: dict[rules.Fate, int] = dict.fromkeys(get_args(rules.Fate), 0)
    kept = []
    for one in findings:
        fate, held = board.take(one)
        counts[fate] += 1
        if fate != "outdated":
            kept.append(held)
    done = replace(
        run,
        checked=run.checked + counts["same"] + counts["superseded"] + counts["distinct"],
        same=run.same + counts["same"],
        superseded=run.superseded + counts["superseded"],
        distinct=run.distinct + counts["distinct"],
        outdated=run.outdated + counts["outdated"],
        unanswered=run.unanswered + counts["unanswered"],
    )
    plan = WritePlan(
        scope=run.scope,
        expects=rev,
        node="worker",
        at=house.clock.now(),
        changes=tuple(board.changes),
        relations=tuple(board.relations.values()),
    )
    return done, plan, kept


async def _ask(house: House, run: Run, asked: Question) -> tuple[Run, tuple[Finding, ...]]:
    """A prompt's worth of findings; a run that may not or cannot ask any more says so by its status."""
    run = replace(run, prompt=asked.prompt, model=run.model or (house.model.name if house.model else None))
    before, nothing = run.requests, unanswered(asked.pairs)
    try:
        answer = await spend.ask(house, run.scope, "consolidate", asked.messages, form=asked.form)
        run = paid(house, run, answer)
        found = answered(house, asked.pairs, answer.message.content)
    except BadModelAnswer as error:
        lost = spend.wasted(house, "consolidate", run.model or "", error)
        return replace(_charged(run, lost) if lost else run, requests=before + 1), nothing
    except OverBudget as error:
        return replace(run, status="over_budget", reason=type(error).__name__), ()
    except ModelError as error:
        if unacceptable(error):  # one page; the others may be read
            return replace(run, requests=before + 1), nothing
        return replace(run, status="failed", reason=type(error).__name__), ()
    return run, found


def paid(house: House, run: Run, answer: ChatAnswer) -> Run:
    """The run with what an answer has cost."""
    prices = house.settings.spend.prices
    charge = cost.charge("consolidate", answer.model, answer.input_tokens, answer.output_tokens, prices)
    return _charged(replace(run, model=answer.model, requests=run.requests + 1), charge)


def _charged(run: Run, charge: Charge) -> Run:
    return replace(
        run,
        input_tokens=run.input_tokens + charge.input_tokens,
        output_tokens=run.output_tokens + charge.output_tokens,
        micros=run.micros + charge.micros,
    )


def _by_rules(house: House, pair: Pair) -> Finding:
    judgement, sure = rules.verdict(pair, house.profile, lasting(house))
    return Finding(pair=pair, judgement=judgement, source="rules", sure=sure or judgement != "different")


def _asks(house: House, pair: Pair) -> bool:
    return house.model is not None and not rules.verdict(pair, house.profile, lasting(house))[1]


async def _surveyed(house: House, run: Run) -> tuple[tuple[Pair, ...], Revision]:
    """The pairs that are near, and up to which revision the space is compared once all of them are checked."""
    limit = house.settings.consolidation.pairs
    found = await house.store.survey(run.scope, _bounds(house), limit, since=run.surveyed)
    near = tuple(one for one in found.pairs if rules.near(one, house.profile))
    return near, found.upto if _whole(found.pairs, near, limit) else run.surveyed


def _whole(found: Sequence[Pair], near: Sequence[Pair], limit: int) -> bool:
    """Whether no pair that is near was left out. Those that are not are never checked, and would be open for ever."""
    waiting = [one for one in near if not one.checked]
    counts = Counter(memory.id for one in waiting for memory in (one.older, one.newer))
    room = sum(not one.checked for one in found) < limit or not waiting
    return room and max(counts.values(), default=0) < _CLOSEST


def _bounds(house: House) -> Bounds:
    now, told, profile = house.clock.now(), house.settings.consolidation, house.profile
    return Bounds(
        pool=told.pool,
        recent=now - timedelta(hours=told.recent_hours),
        importance=told.importance_from,
        retrieved=told.retrieved_share,
        partners=now - timedelta(days=told.partner_days),
        most=_PARTNERS,
        checked=now - timedelta(days=told.fingerprint_days),
        tries=rules.TRIES,
        asks=house.model is not None,
        closest=_CLOSEST,
        fallback=profile.fallback,
        worded=_WORDED,
        foreign="cjk" not in profile.scripts,
    )


async def _room(house: House, run: Run) -> int:
    """How many pairs the run may check: what the day (UTC) has left, or what a person has asked for."""
    if run.limit is not None:
        return run.limit
    midnight = datetime.combine(house.clock.now().astimezone(UTC).date(), time(), UTC)
    done = await house.store.checked_since(run.scope, midnight)
    return max(0, house.settings.consolidation.per_day - done)


async def _keep(house: House, run: Run) -> Run:
    return run if run.dry else await house.store.keep_run(run, batch.lease(house, run))
