"""`check`: what memory keeps and finds, held against files that say it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from muniment.faces.check.against import KINDS, Configuration, read_configuration
from muniment.faces.check.bench import open_bench, remove_leftovers
from muniment.faces.check.file_format import build_schema
from muniment.faces.check.reading import CheckFile, find_check_files, read_check_file
from muniment.faces.check.reports import encode_difference, encode_results, render_junit
from muniment.faces.check.results import CaseResult, Difference, compare_results, count_outcomes
from muniment.faces.check.runner import run_cases, select_cases
from muniment.faces.cli import session
from muniment.faces.cli.options import AsJson
from muniment.faces.cli.output import screen, terminal
from muniment.memory.errors import BadInput

_FAILED = 1
_MILLI = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class _Job:
    """What to check: the files, and the part of the names of the cases."""

    checks: Sequence[CheckFile]
    part: str | None
    quiet: bool

    @property
    def total(self) -> int:
        return sum(len([*select_cases(check, self.part)]) for check in self.checks)


def check_memory(
    files: Annotated[
        list[Path] | None,
        typer.Argument(metavar="FILE…", help="Check files; of a folder all *.memory.yaml in it.", show_default=False),
    ] = None,
    part: Annotated[
        str | None, typer.Option("--select", "-k", metavar="TEXT", help="Only cases with this in their names.")
    ] = None,
    junit: Annotated[
        Path | None, typer.Option("--junit", metavar="FILE", help="Write the report as JUnit's XML, too.")
    ] = None,
    against: Annotated[
        list[str] | None,
        typer.Option(
            "--against",
            metavar="KIND=VALUE",
            help=f"Check another configuration, too, and show what passes in one alone. Of {', '.join(KINDS)}; may be "
            "repeated.",
        ),
    ] = None,
    schema: Annotated[bool, typer.Option("--schema", help="Print the JSON Schema of a check file, and end.")] = False,
    clean: Annotated[
        bool, typer.Option("--clean", help="First erase what runs of former days left that were killed.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Check what memory keeps and finds against files that say it. See docs/check.md.

    Each case has a space of its own, which is erased afterwards, and the clock that it asks for; a case of a user's
    space only reads it. A failing assertion says what was there instead. Exit code 1: an assertion failed, or a case
    could not be looked at. With --against the code is that of the own configuration.

    KIND=VALUE: config=FILE (or FILE.yaml: settings), embedder=NAME, model=NAME (none: rules alone), prompts=FOLDER.

    For example:

      muniment check examples/memory-check

      muniment check support.memory.yaml -k consent --junit report.xml

      muniment check support.memory.yaml --against config=next.yaml
    """
    if schema:
        screen.print_line(json.dumps(build_schema(), indent=2, ensure_ascii=False))
        return
    if not files and not clean:
        raise BadInput("FILE: is missing; name check files, or a folder with *.memory.yaml (see muniment check --help)")
    job = _Job(checks=[*map(read_check_file, find_check_files(files or ()))], part=part, quiet=as_json)
    if part is not None and not job.total:
        raise BadInput(f"--select: no case has {part!r} in its name")
    if junit is not None:
        _check_writable(junit)
    other = read_configuration(against) if against else None
    results = session.run_async(_run_job(job, read_configuration(()), clean=clean))
    other_results = None if other is None else session.run_async(_run_job(job, other, clean=False))
    if junit is not None:
        junit.write_bytes(render_junit(results, datetime.now(UTC)))
    _report_results(results, "" if other is None else other.name, other_results, as_json=as_json)
    if any(case.outcome != "passed" for case in results):
        raise typer.Exit(_FAILED)


def _report_results(
    results: Sequence[CaseResult], name: str, other: Sequence[CaseResult] | None, *, as_json: bool
) -> None:
    """Print the results, and where there are those of an `other` configuration, of this name, the differences."""
    differences = [] if other is None else [*compare_results(results, other)]
    if as_json:
        encoded = encode_results(results)
        if other is not None:
            encoded["against"] = {"name": name, **count_outcomes(other)}
            encoded["differences"] = [encode_difference(each) for each in differences]
        screen.print_json(encoded)
        return
    _print_summary(results)
    if other is not None:
        _print_differences(name, other, differences)


async def _run_job(job: _Job, configuration: Configuration, *, clean: bool) -> list[CaseResult]:
    results: list[CaseResult] = []
    async with open_bench(configuration.settings, configuration.embedder) as bench:
        if clean:
            count = await remove_leftovers(bench)
            screen.print_stderr(f"muniment: {count} {'space' if count == 1 else 'spaces'} of former runs erased")
        with terminal.show_progress("check", job.total, quiet=job.quiet) as move:

            def report_case(result: CaseResult) -> None:
                move(1)
                if not job.quiet and not configuration.name:
                    _print_case(result)

            for check in job.checks:
                results += await run_cases(bench, check, job.part, report_case)
    return results


def _check_writable(path: Path) -> None:
    """Raise BadInput for a file that cannot be written, before a long run that would be in it."""
    try:
        with path.open("ab"):
            pass
    except OSError as error:
        raise BadInput(f"--junit: {path} cannot be written ({error.strerror})") from None


def _print_case(case: CaseResult) -> None:
    screen.print_line(
        f"{case.outcome:<6}  {screen.join_lines(case.name)}  ({len(case.assertions)}, {_format_ms(case)})"
    )
    if case.error:
        screen.print_line(f"    {case.file}:{case.line}: {screen.join_lines(case.error)}")
        return
    for each in case.assertions:
        if each.outcome != "passed":
            screen.print_line(f"    {case.file}:{each.line}: {screen.join_lines(each.name)}")
            screen.print_line(f"        {screen.join_lines(each.found)}")


def _format_ms(case: CaseResult) -> str:
    return f"{_MILLI * case.seconds:,.0f} ms"


def _describe_counts(results: Sequence[CaseResult]) -> str:
    counts = count_outcomes(results)
    return ", ".join(f"{count:,} {name if name != 'error' else 'not looked at'}" for name, count in counts.items())


def _print_summary(results: Sequence[CaseResult]) -> None:
    screen.print_line(f"{_describe_counts(results)}; {sum(case.seconds for case in results):,.1f} s")


def _print_differences(name: str, results: Sequence[CaseResult], differences: Sequence[Difference]) -> None:
    screen.print_line(f"against {screen.join_lines(name)}: {_describe_counts(results)}")
    if not differences:
        screen.print_line("The same assertions pass in both.")
        return
    rows = [
        (each.own.outcome, each.other.outcome, each.case.name, each.own.name, each.own.found or each.other.found)
        for each in differences
    ]
    terminal.print_table(("own", "other", "case", "assertion", "found instead"), rows, text_columns=3)
