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
from muniment.nodes.state import Who, get_run_context, resolve_scope

_RUN: TypeAdapter[Run] = TypeAdapter(Run)
_BUSY_MESSAGE = (
    "Another consolidation of this memory is under way, or one has died less than its lease ago: nothing was done."
)


class ConsolidationInput(TypedDict, total=False):
    """What a caller may say: whose memory, how many pairs in place of the day's, and whether to write nothing."""

    user: str
    tenant: str
    limit: int | None
    dry_run: bool


class PairState(TypedDict, total=False):
    """A pair of memories by their ids, the earlier one first, and what it was found to be."""

    older: str
    newer: str
    sim: float
    tries: int
    revs: list[int]  # of the memories that were looked at
    judgement: Judgement | None
    source: Literal["rules", "model"]
    sure: bool


class ConsolidationState(ConsolidationInput, total=False):
    """A consolidation on its way."""

    space: str  # by which an erasure finds the thread
    run: dict[str, Any] | None  # its record so far; None when another one is under way
    portions: list[list[PairState]]  # what is yet to be checked, a prompt's worth each
    findings: list[PairState]  # of the portion that was checked last
    shown: list[dict[str, Any]]  # the same with the texts, for people
    told: str  # what it came to, in one sentence


async def begin(
    state: ConsolidationState, runtime: Runtime[Who], config: RunnableConfig, *, memory: Memory, settings: Settings
) -> ConsolidationState:
    """Open a run of the space, unless there is one. Raises BadInput, Denied, StoreError."""
    values: dict[str, Any] = dict(state)  # by whoever called: of any type
    limit, dry = values.get("limit"), values.get("dry_run") or False
    if not (limit is None or type(limit) is int) or not isinstance(dry, bool):
        raise BadInput("input: limit is a whole number, dry_run true or false")
    scope = _resolve_scope(state, runtime, config, settings)
    run = await memory.admin.begin_run(scope, dry=dry, limit=limit)
    update = ConsolidationState(
        space=str(scope.space), run=None, portions=[], findings=[], shown=[], told=_BUSY_MESSAGE
    )
    return _clear_input(update) if run is None else update | ConsolidationState(run=_dump_run(run), told="")


async def survey(
    state: ConsolidationState, runtime: Runtime[Who], config: RunnableConfig, *, memory: Memory, settings: Settings
) -> ConsolidationState:
    """Find the pairs to check. Raises Denied, Conflict, StoreError."""
    run = _load_run(state, _resolve_scope(state, runtime, config, settings))
    new_run, portions = await memory.admin.survey_run(run)
    return ConsolidationState(run=_dump_run(new_run), portions=[[_dump_pair(one) for one in some] for some in portions])


async def check(
    state: ConsolidationState, runtime: Runtime[Who], config: RunnableConfig, *, memory: Memory, settings: Settings
) -> ConsolidationState:
    """Look at one portion: by the rules, or with the model. Raises Denied, StoreError."""
    scope = _resolve_scope(state, runtime, config, settings)
    pairs = await _load_pairs(memory, scope, state["portions"][0])
    run, findings = await memory.admin.check_run(_load_run(state, scope), pairs)
    return ConsolidationState(
        run=_dump_run(run),
        portions=state["portions"][1:],
        findings=[
            PairState(**_dump_pair(one.pair) | {"judgement": one.judgement, "source": one.source, "sure": one.sure})
            for one in findings
        ],
        shown=[_finding_to_json(one) for one in findings],
    )


async def apply(
    state: ConsolidationState, runtime: Runtime[Who], config: RunnableConfig, *, memory: Memory, settings: Settings
) -> ConsolidationState:
    """Do what was found, all or nothing, and once. Raises Denied, Conflict, StoreError."""
    scope = _resolve_scope(state, runtime, config, settings)
    run = _load_run(state, scope)
    done = await _find_newer_record(memory, scope, run)
    if done is None:
        pairs = await _load_pairs(memory, scope, state["findings"])
        by_ids = {(one.older.id, one.newer.id): one for one in pairs}
        findings = [
            Finding(pair=pair, judgement=one["judgement"], source=one["source"], sure=one.get("sure", True))
            for one in state["findings"]
            if (pair := by_ids.get((_parse_id(one["older"]), _parse_id(one["newer"]))))
            and one.get("revs") in (None, _list_revisions(pair))
        ]
        changed = len(state["findings"]) - len(findings)  # since they were looked at, maybe in another process
        done = await memory.admin.apply_run(replace(run, outdated=run.outdated + changed), findings)
    return ConsolidationState(run=_dump_run(done), findings=[])


async def end(
    state: ConsolidationState, runtime: Runtime[Who], config: RunnableConfig, *, memory: Memory, settings: Settings
) -> ConsolidationState:
    """Close the record, or hand what is left to ask to a batch endpoint. Raises Denied, Conflict, StoreError."""
    scope = _resolve_scope(state, runtime, config, settings)
    run = _load_run(state, scope)
    over = await _find_newer_record(memory, scope, run)
    if over is None or (over.ended_at is None and over.status != "waiting"):
        over = await memory.admin.end_run(run)
    return _clear_input(ConsolidationState(run=_dump_run(over), told=_summarize_run(over)))


def route_after_begin(state: ConsolidationState) -> Literal["survey", "__end__"]:
    """Whether there is a run to go on with."""
    return "survey" if state.get("run") else "__end__"


def route_after_step(state: ConsolidationState) -> Literal["check", "end"]:
    """Whether there is more to check."""
    run = state.get("run") or {}
    return "check" if state.get("portions") and run.get("status") == "running" else "end"


def _clear_input(update: ConsolidationState) -> ConsolidationState:
    """The end of a run. A channel keeps what it was told: the thread's next run would be of the same user, and as dry."""
    return update | ConsolidationState(user="", tenant="", limit=None, dry_run=False)


def _resolve_scope(
    state: ConsolidationState, runtime: Runtime[Who], config: RunnableConfig, settings: Settings
) -> Scope:
    """Whose memory it is, without what differs from turn to turn; an authenticated user has no other's."""
    values, who = dict[str, Any](state), get_run_context(runtime)
    user, tenant = values.get("user") or who.user, values.get("tenant") or who.tenant
    if not isinstance(user, str) or not (tenant is None or isinstance(tenant, str)):
        raise BadInput("input: user and tenant are texts")
    return resolve_scope(runtime.override(context=Who(user=user, tenant=tenant)), config, settings.tenant).owner_scope


def _dump_run(run: Run) -> dict[str, Any]:
    row: dict[str, Any] = _RUN.dump_python(run, mode="json", exclude={"scope"})
    return row


def _load_run(state: ConsolidationState, scope: Scope) -> Run:
    """The run of the state. Whose it is is not taken from the state."""
    return replace(_RUN.validate_python((state.get("run") or {}) | {"scope": scope}), scope=scope)


async def _find_newer_record(memory: Memory, scope: Scope, run: Run) -> Run | None:
    """The run's record, when it is further than the state: a process has died between the two."""
    for record in [] if run.dry else await memory.admin.consolidations(scope, 1, run=run.id):
        if (
            record.ended_at
            or record.status not in ("running", run.status)
            or _count_handled(record) > _count_handled(run)
        ):
            return replace(record, limit=run.limit)
    return None


def _count_handled(run: Run) -> int:
    return run.checked + run.outdated + run.unanswered


async def _load_pairs(memory: Memory, scope: Scope, states: Sequence[PairState]) -> list[Pair]:
    """The pairs as their memories are by now, without those of which one is gone."""
    ids = [(_parse_id(one["older"]), _parse_id(one["newer"])) for one in states]
    memories = await memory.admin.get_many(scope, chain.from_iterable(ids))
    return [
        Pair(older=memories[older], newer=memories[newer], sim=one["sim"], tries=one.get("tries", 0))
        for (older, newer), one in zip(ids, states, strict=True)
        if older in memories and newer in memories
    ]


def _parse_id(text: str) -> MemoryId:
    return MemoryId(UUID(text))


def _dump_pair(pair: Pair) -> PairState:
    older, newer = str(pair.older.id), str(pair.newer.id)
    return PairState(older=older, newer=newer, sim=pair.sim, tries=pair.tries, revs=_list_revisions(pair))


def _list_revisions(pair: Pair) -> list[int]:
    return [pair.older.rev, pair.newer.rev]


def _finding_to_json(finding: Finding) -> dict[str, Any]:
    pair = finding.pair
    return {"earlier": pair.older.text, "later": pair.newer.text, "near": round(pair.sim, 2),
            "verdict": finding.judgement or "no answer", "by": finding.source}  # fmt: skip


def _summarize_run(run: Run) -> str:
    if run.status == "waiting":
        return f"{len(run.asked)} pairs are with the batch endpoint: a worker collects the answers (muniment work)."
    made = f"{run.checked} pairs checked: {run.same} merged, {run.superseded} superseded, {run.distinct} different"
    why = f"; it has ended early ({run.reason})" if run.status in ("failed", "over_budget") else ""
    return f"{made}{why}." + (" Nothing was changed (dry_run)." if run.dry else "")
