"""The steps of a consolidation as nodes: begin, survey, then check and apply a prompt's worth at a time, and end.

The state names memories by their ids and runs by their records, so that a checkpoint can go on where a process has died:
what it was about is read again, and what was done already is known from the run's record."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain
from typing import Any, Literal
from uuid import UUID

from langchain_core.runnables import RunnableConfig
from langgraph.runtime import Runtime
from pydantic import TypeAdapter
from typing_extensions import TypedDict  # Pydantic refuses typing's own on Python 3.11, and the server needs a schema

from muniment.memory.client import Memory
from muniment.memory.config.settings import Settings
from muniment.memory.domain.consolidation import Finding, Judgement, Pair, Run
from muniment.memory.domain.ids import MemoryId
from muniment.memory.domain.scope import Scope
from muniment.memory.errors import BadInput
from muniment.nodes.state import Who, given, scope

_RUN: TypeAdapter[Run] = TypeAdapter(Run)
_BUSY = "Another consolidation of this memory is under way, or one has died less than its lease ago: nothing was done."


class Ordered(TypedDict, total=False):
    """What a caller may say: whose memory, how many pairs in place of the day's, and whether to write nothing."""

    user: str
    tenant: str
    limit: int | None
    dry_run: bool


class Twins(TypedDict, total=False):
    """A pair of memories by their ids, the earlier one first, and what it was found to be."""

    older: str
    newer: str
    sim: float
    tries: int
    revs: list[int]  # of the memories that were looked at
    judgement: Judgement | None
    source: Literal["rules", "model"]
    sure: bool


class Night(Ordered, total=False):
    """A consolidation on its way."""

    space: str  # by which an erasure finds the thread
    run: dict[str, Any] | None  # its record so far; None when another one is under way
    portions: list[list[Twins]]  # what is yet to be checked, a prompt's worth each
    findings: list[Twins]  # of the portion that was checked last
    shown: list[dict[str, Any]]  # the same with the texts, for people
    told: str  # what it came to, in one sentence


async def begin(
    state: Night, runtime: Runtime[Who], config: RunnableConfig, *, memory: Memory, settings: Settings
) -> Night:
    """Open a run of the space, unless there is one. Raises BadInput, Denied, StoreError."""
    said: dict[str, Any] = dict(state)  # by whoever called: of any type
    limit, dry = said.get("limit"), said.get("dry_run") or False
    if not (limit is None or type(limit) is int) or not isinstance(dry, bool):
        raise BadInput("input: limit is a whole number, dry_run true or false")
    who = _who(state, runtime, config, settings)
    run = await memory.begin_run(who, dry=dry, limit=limit)
    found = Night(space=str(who.space), run=None, portions=[], findings=[], shown=[], told=_BUSY)
    return _over(found) if run is None else found | Night(run=_row(run), told="")


async def survey(
    state: Night, runtime: Runtime[Who], config: RunnableConfig, *, memory: Memory, settings: Settings
) -> Night:
    """Find the pairs to check. Raises Denied, Conflict, StoreError."""
    run = _run(state, _who(state, runtime, config, settings))
    surveyed, portions = await memory.survey_run(run)
    return Night(run=_row(surveyed), portions=[[_twins(one) for one in some] for some in portions])


async def check(
    state: Night, runtime: Runtime[Who], config: RunnableConfig, *, memory: Memory, settings: Settings
) -> Night:
    """Look at one portion: by the rules, or with the model. Raises Denied, StoreError."""
    who = _who(state, runtime, config, settings)
    pairs = await _pairs(memory, who, state["portions"][0])
    run, findings = await memory.check_run(_run(state, who), pairs)
    return Night(
        run=_row(run),
        portions=state["portions"][1:],
        findings=[
            Twins(**_twins(one.pair) | {"judgement": one.judgement, "source": one.source, "sure": one.sure})
            for one in findings
        ],
        shown=[_shown(one) for one in findings],
    )


async def apply(
    state: Night, runtime: Runtime[Who], config: RunnableConfig, *, memory: Memory, settings: Settings
) -> Night:
    """Do what was found, all or nothing, and once. Raises Denied, Conflict, StoreError."""
    who = _who(state, runtime, config, settings)
    run = _run(state, who)
    done = await _ahead(memory, who, run)
    if done is None:
        pairs = await _pairs(memory, who, state["findings"])
        by_ids = {(one.older.id, one.newer.id): one for one in pairs}
        findings = [
            Finding(pair=pair, judgement=one["judgement"], source=one["source"], sure=one.get("sure", True))
            for one in state["findings"]
            if (pair := by_ids.get((_id(one["older"]), _id(one["newer"])))) and one.get("revs") in (None, _revs(pair))
        ]
        changed = len(state["findings"]) - len(findings)  # since they were looked at, maybe in another process
        done = await memory.apply_run(replace(run, outdated=run.outdated + changed), findings)
    return Night(run=_row(done), findings=[])


async def end(
    state: Night, runtime: Runtime[Who], config: RunnableConfig, *, memory: Memory, settings: Settings
) -> Night:
    """Close the record, or hand what is left to ask to a batch endpoint. Raises Denied, Conflict, StoreError."""
    who = _who(state, runtime, config, settings)
    run = _run(state, who)
    over = await _ahead(memory, who, run)
    if over is None or (over.ended_at is None and over.status != "waiting"):
        over = await memory.end_run(run)
    return _over(Night(run=_row(over), told=_sentence(over)))


def begun(state: Night) -> Literal["survey", "__end__"]:
    """Whether there is a run to go on with."""
    return "survey" if state.get("run") else "__end__"


def left(state: Night) -> Literal["check", "end"]:
    """Whether there is more to check."""
    run = state.get("run") or {}
    return "check" if state.get("portions") and run.get("status") == "running" else "end"


def _over(found: Night) -> Night:
    """The end of a run. A channel keeps what it was told: the thread's next run would be of the same user, and as dry."""
    return found | Night(user="", tenant="", limit=None, dry_run=False)


def _who(state: Night, runtime: Runtime[Who], config: RunnableConfig, settings: Settings) -> Scope:
    """Whose memory it is, without what differs from turn to turn; an authenticated user has no other's."""
    said, who = dict[str, Any](state), given(runtime)
    user, tenant = said.get("user") or who.user, said.get("tenant") or who.tenant
    if not isinstance(user, str) or not (tenant is None or isinstance(tenant, str)):
        raise BadInput("input: user and tenant are texts")
    return scope(runtime.override(context=Who(user=user, tenant=tenant)), config, settings.tenant).whose


def _row(run: Run) -> dict[str, Any]:
    row: dict[str, Any] = _RUN.dump_python(run, mode="json", exclude={"scope"})
    return row


def _run(state: Night, who: Scope) -> Run:
    """The run of the state. Whose it is is not taken from the state."""
    return replace(_RUN.validate_python((state.get("run") or {}) | {"scope": who}), scope=who)


async def _ahead(memory: Memory, who: Scope, run: Run) -> Run | None:
    """The run's record, when it is further than the state: a process has died between the two."""
    for one in [] if run.dry else await memory.consolidations(who, 1, run=run.id):
        if one.ended_at or one.status not in ("running", run.status) or _seen(one) > _seen(run):
            return replace(one, limit=run.limit)
    return None


def _seen(run: Run) -> int:
    return run.checked + run.outdated + run.unanswered


async def _pairs(memory: Memory, who: Scope, twins: Sequence[Twins]) -> list[Pair]:
    """The pairs as their memories are by now, without those of which one is gone."""
    ids = [(_id(one["older"]), _id(one["newer"])) for one in twins]
    known = await memory.members(who, chain.from_iterable(ids))
    return [
        Pair(older=known[older], newer=known[newer], sim=one["sim"], tries=one.get("tries", 0))
        for (older, newer), one in zip(ids, twins, strict=True)
        if older in known and newer in known
    ]


def _id(text: str) -> MemoryId:
    return MemoryId(UUID(text))


def _twins(pair: Pair) -> Twins:
    older, newer = str(pair.older.id), str(pair.newer.id)
    return Twins(older=older, newer=newer, sim=pair.sim, tries=pair.tries, revs=_revs(pair))


def _revs(pair: Pair) -> list[int]:
    return [pair.older.rev, pair.newer.rev]


def _shown(finding: Finding) -> dict[str, Any]:
    pair = finding.pair
    return {"earlier": pair.older.text, "later": pair.newer.text, "near": round(pair.sim, 2),
            "verdict": finding.judgement or "no answer", "by": finding.source}  # fmt: skip


def _sentence(run: Run) -> str:
    if run.status == "waiting":
        return f"{len(run.asked)} pairs are with the batch endpoint: a worker collects the answers (muniment work)."
    made = f"{run.checked} pairs checked: {run.same} merged, {run.superseded} superseded, {run.distinct} different"
    why = f"; it has ended early ({run.reason})" if run.status in ("failed", "over_budget") else ""
    return f"{made}{why}." + (" Nothing was changed (dry_run)." if run.dry else "")
