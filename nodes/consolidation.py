"""The steps of a consolidation as nodes: begin, survey, then check and apply one prompt's pairs at a time, and end.

The state has the ids of memories and the record of the run. A run that goes on from a checkpoint reads the memories
again, and finds in the stored record what is done."""

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
from muniment.nodes.entry import get_run_context, resolve_scope
from muniment.nodes.state import Who

_RUN: TypeAdapter[Run] = TypeAdapter(Run)
_BUSY_MESSAGE = (
    "Another consolidation of this memory is under way, or one has died less than its lease ago: nothing was done."
)


class ConsolidationInput(TypedDict, total=False):
    """The input: the owner of the memory, a limit of pairs in place of the day's, and whether to write nothing."""

    user: str
    tenant: str
    limit: int | None
    dry_run: bool


class PairState(TypedDict, total=False):
    """A pair of memories by their ids, the earlier one first, and its judgement."""

    older: str
    newer: str
    sim: float
    tries: int
    revs: list[int]  # of the memories when they were checked
    judgement: Judgement | None
    source: Literal["rules", "model"]
    sure: bool


class ConsolidationState(ConsolidationInput, total=False):
    """The state of a consolidation."""

    space: str  # an erasure finds the thread by it
    run: dict[str, Any] | None  # the record so far; None while another run is under way
    portions: list[list[PairState]]  # the pairs that are not checked yet, by prompt
    findings: list[PairState]  # of the last portion
    shown: list[dict[str, Any]]  # the same with the texts, for people
    told: str  # the outcome in one sentence


async def begin(
    state: ConsolidationState, runtime: Runtime[Who], config: RunnableConfig, *, memory: Memory, settings: Settings
) -> ConsolidationState:
    """Open a run of the space, unless there is one. Raises BadInput, Denied, StoreError."""
    values: dict[str, Any] = dict(state)  # from the caller: of any type
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
    return ConsolidationState(
        run=_dump_run(new_run), portions=[[_dump_pair(pair) for pair in portion] for portion in portions]
    )


async def check(
    state: ConsolidationState, runtime: Runtime[Who], config: RunnableConfig, *, memory: Memory, settings: Settings
) -> ConsolidationState:
    """Check one portion, by the rules or with the model. Raises Denied, StoreError."""
    scope = _resolve_scope(state, runtime, config, settings)
    pairs = await _load_pairs(memory, scope, state["portions"][0])
    run, findings = await memory.admin.check_run(_load_run(state, scope), pairs)
    return ConsolidationState(
        run=_dump_run(run),
        portions=state["portions"][1:],
        findings=[
            PairState(
                **_dump_pair(finding.pair)
                | {"judgement": finding.judgement, "source": finding.source, "sure": finding.sure}
            )
            for finding in findings
        ],
        shown=[_finding_to_json(finding) for finding in findings],
    )


async def apply(
    state: ConsolidationState, runtime: Runtime[Who], config: RunnableConfig, *, memory: Memory, settings: Settings
) -> ConsolidationState:
    """Apply the findings in one commit, and only once. Raises Denied, Conflict, StoreError."""
    scope = _resolve_scope(state, runtime, config, settings)
    run = _load_run(state, scope)
    record = await _find_newer_record(memory, scope, run)
    if record is None:
        pairs = await _load_pairs(memory, scope, state["findings"])
        by_ids = {(pair.older.id, pair.newer.id): pair for pair in pairs}
        findings = [
            Finding(pair=pair, judgement=item["judgement"], source=item["source"], sure=item.get("sure", True))
            for item in state["findings"]
            if (pair := by_ids.get((_parse_id(item["older"]), _parse_id(item["newer"]))))
            and item.get("revs") in (None, _list_revisions(pair))
        ]
        changed = len(state["findings"]) - len(findings)  # since the check, perhaps by another process
        record = await memory.admin.apply_run(replace(run, outdated=run.outdated + changed), findings)
    return ConsolidationState(run=_dump_run(record), findings=[])


async def end(
    state: ConsolidationState, runtime: Runtime[Who], config: RunnableConfig, *, memory: Memory, settings: Settings
) -> ConsolidationState:
    """Close the record, or send the open pairs to a batch endpoint. Raises Denied, Conflict, StoreError."""
    scope = _resolve_scope(state, runtime, config, settings)
    run = _load_run(state, scope)
    record = await _find_newer_record(memory, scope, run)
    if record is None or (record.ended_at is None and record.status != "waiting"):
        record = await memory.admin.end_run(run)
    return _clear_input(ConsolidationState(run=_dump_run(record), told=_summarize_run(record)))


def route_after_begin(state: ConsolidationState) -> Literal["survey", "__end__"]:
    """The node after `begin`: the end where there is no run."""
    return "survey" if state.get("run") else "__end__"


def route_after_step(state: ConsolidationState) -> Literal["check", "end"]:
    """The next node: `check` while there are portions and the run goes on."""
    run = state.get("run") or {}
    return "check" if state.get("portions") and run.get("status") == "running" else "end"


def _clear_input(update: ConsolidationState) -> ConsolidationState:
    """The update with an empty input: a channel keeps its value, and the thread's next run would use it."""
    return update | ConsolidationState(user="", tenant="", limit=None, dry_run=False)


def _resolve_scope(
    state: ConsolidationState, runtime: Runtime[Who], config: RunnableConfig, settings: Settings
) -> Scope:
    """The owner's scope, of the input or the context. Raises Denied for another user than the authenticated one."""
    values, who = dict[str, Any](state), get_run_context(runtime)
    user, tenant = values.get("user") or who.user, values.get("tenant") or who.tenant
    if not isinstance(user, str) or not (tenant is None or isinstance(tenant, str)):
        raise BadInput("input: user and tenant are texts")
    named = runtime.override(context=Who(user=user, tenant=tenant))
    return resolve_scope(named, config, settings.tenant, settings.users.required).owner_scope


def _dump_run(run: Run) -> dict[str, Any]:
    """The record as JSON, without its scope."""
    row: dict[str, Any] = _RUN.dump_python(run, mode="json", exclude={"scope"})
    return row


def _load_run(state: ConsolidationState, scope: Scope) -> Run:
    """The run of the state, with this scope: an update of the state cannot change the owner."""
    return replace(_RUN.validate_python((state.get("run") or {}) | {"scope": scope}), scope=scope)


async def _find_newer_record(memory: Memory, scope: Scope, run: Run) -> Run | None:
    """The stored record, where it is further than the state: a process ended between the two."""
    for record in [] if run.dry else await memory.admin.list_runs(scope, 1, run=run.id):
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
    """The pairs with their memories as they are now, without those of which one is gone."""
    ids = [(_parse_id(pair["older"]), _parse_id(pair["newer"])) for pair in states]
    memories = await memory.admin.get_many(scope, chain.from_iterable(ids))
    return [
        Pair(older=memories[older], newer=memories[newer], sim=pair["sim"], tries=pair.get("tries", 0))
        for (older, newer), pair in zip(ids, states, strict=True)
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
    return {
        "earlier": pair.older.text,
        "later": pair.newer.text,
        "near": round(pair.sim, 2),
        "verdict": finding.judgement or "no answer",
        "by": finding.source,
    }


def _summarize_run(run: Run) -> str:
    if run.status == "waiting":
        return f"{len(run.asked)} pairs are with the batch endpoint: a worker collects the answers (muniment work)."
    counts = f"{run.checked} pairs checked: {run.same} merged, {run.superseded} superseded, {run.distinct} different"
    reason = f"; it has ended early ({run.reason})" if run.status in ("failed", "over_budget") else ""
    return f"{counts}{reason}." + (" Nothing was changed (dry_run)." if run.dry else "")
