"""Runs the cases of a check file, one after the other."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from datetime import datetime
from time import perf_counter

from muniment.faces.check.bench import Bench, CaseMeter
from muniment.faces.check.file_format import EXPECTATIONS, Case, Expectation, Finds, KeepsBudget, Supersedes
from muniment.faces.check.found import Question, check_found, check_limits
from muniment.faces.check.given import prepare_space
from muniment.faces.check.kept import KeptState, check_kept
from muniment.faces.check.reading import CheckFile, read_export
from muniment.faces.check.results import AssertionResult, CaseResult, Outcome
from muniment.memory.domain.ids import Revision
from muniment.memory.domain.scope import Scope
from muniment.memory.errors import BadConfig, MunimentError, StoreError

OnCase = Callable[[CaseResult], None]


def select_cases(check: CheckFile, part: str | None = None) -> Iterator[int]:
    """Yield the places of the cases whose name has this part, whatever the case; of all cases without one."""
    wanted = (part or "").casefold()
    return (place for place, case in enumerate(check.content.cases) if wanted in case.name.casefold())


async def run_cases(
    bench: Bench, check: CheckFile, part: str | None = None, on_case: OnCase | None = None
) -> list[CaseResult]:
    """Run the cases whose name has this part. `on_case` gets each result. Raises as `run_case`."""
    results = []
    for place in select_cases(check, part):
        result = await run_case(bench, check, place)
        results.append(result)
        if on_case:
            on_case(result)
    return results


async def run_case(bench: Bench, check: CheckFile, place: int) -> CaseResult:
    """Run one case in a space of its own, which is erased afterwards, or on the space that it names.

    Whatever ends it but the database is in the result. Raises StoreError, BadInput for an export that cannot be
    read."""
    began = perf_counter()
    case = check.content.cases[place]
    rows = [] if case.given.export is None else read_export(check, place, case.given.export)
    meter = bench.begin_meter()
    error = ""
    space = case.given.space
    scope = _make_scope(bench, case, place)
    if space is not None:
        bench.clock.set_time(case.now)
    trial = _Trial(bench, check, place, scope, meter)
    try:
        if space is None:
            await prepare_space(bench, scope, case, rows, meter)
        await trial.check_all()
    except (StoreError, BadConfig):
        raise
    except MunimentError as failure:
        error = _format_error(failure)
    finally:
        bench.clock.set_time(None)
        if space is None:
            # A task that was cancelled, as by Ctrl-C, gets no connection any more.
            await asyncio.shield(asyncio.create_task(bench.memory.admin.erase_space(scope)))
    return CaseResult(
        file=str(check.path),
        line=check.find_line(place),
        name=case.name,
        assertions=(
            tuple(_make_result(check, place, number, "error", 0.0, error) for number in range(len(case.expect)))
            if error
            else tuple(trial.results)
        ),
        seconds=perf_counter() - began,
        calls_seconds=meter.total_seconds,
        error=error,
    )


class _Trial:
    """A case that is prepared: its expectations are looked at one after the other."""

    def __init__(self, bench: Bench, check: CheckFile, place: int, scope: Scope, meter: CaseMeter) -> None:
        self._bench, self._check, self._place, self._scope, self._meter = bench, check, place, scope, meter
        self._case = check.content.cases[place]
        space = self._case.given.space
        as_of = None if space is None else space.as_of
        self._kept = KeptState(bench.memory, scope, as_of)
        # Only a query of the past counts no access: a space that is not the case's own stays as it is.
        self._asked_at: Revision | datetime | None = (
            bench.memory.now() if space is not None and as_of is None else as_of
        )
        self.results: list[AssertionResult] = []

    async def check_all(self) -> None:
        """Look at all expectations, in their order; one that cannot be looked at does not end the others. Raises
        StoreError, BadConfig."""
        for number in range(len(self._case.expect)):
            try:
                result = await self.check_expectation(number)
            except (StoreError, BadConfig):
                raise
            except MunimentError as error:
                result = _make_result(self._check, self._place, number, "error", 0.0, _format_error(error))
            self.results.append(result)

    async def check_expectation(self, number: int) -> AssertionResult:
        """Return what became of an expectation, counted from 0. Raises BadInput, NotFound, ModelError, StoreError."""
        began, before = perf_counter(), self._meter.total_seconds
        expectation = self._case.expect[number]
        match expectation:
            case Finds():
                agent = self._case.agent or self._check.content.agent
                question = Question(self._bench, self._scope, expectation, agent, self._asked_at)
                found = await check_found(question, expectation, self._kept, self._meter)
            case KeepsBudget():
                found = check_limits(expectation.budget, self._bench, self._meter)
            case _:
                found = await check_kept(self._kept, expectation)
        seconds = perf_counter() - began
        if self._meter.total_seconds == before and not isinstance(expectation, KeepsBudget):
            self._meter.seconds["other"].append(seconds)  # of which nearly all is reading what is kept
        outcome: Outcome = "failed" if found else "passed"
        return _make_result(self._check, self._place, number, outcome, seconds, found)


def describe_expectation(expectation: Expectation) -> str:
    """Return an expectation in one line, as reports name it."""
    if expectation.name is not None:
        return expectation.name
    match expectation:
        case Finds():
            return f'query "{expectation.query}": {", ".join(expectation.list_assertions())}'
        case KeepsBudget():
            return f"budget: {', '.join(expectation.budget.list_limits())}"
        case Supersedes():
            return f"supersedes {expectation.supersedes.was.describe()} by {expectation.supersedes.by.describe()}"
        case _:
            kind = next(name for name, each in EXPECTATIONS.items() if isinstance(expectation, each))
            return f"{kind} {getattr(expectation, kind).describe()}"


def _format_error(error: MunimentError) -> str:
    return f"{type(error).__name__}: {error}"


def _make_scope(bench: Bench, case: Case, place: int) -> Scope:
    """The scope of a case: of a space of its own, or of the space of a user of the settings' tenant."""
    space = case.given.space
    if space is None:
        return bench.make_scratch_scope(place, case)
    return Scope(tenant=bench.settings.tenant, owner=space.user, actor=space.user, project=case.project)


def _make_result(
    check: CheckFile, place: int, number: int, outcome: Outcome, seconds: float, found: str
) -> AssertionResult:
    return AssertionResult(
        line=check.find_line(place, number),
        name=describe_expectation(check.content.cases[place].expect[number]),
        outcome=outcome,
        seconds=seconds,
        found=found,
    )
