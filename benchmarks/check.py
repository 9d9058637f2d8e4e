"""What 200 assertions cost: `muniment check` beside the calls that a program would make itself.

python -m benchmarks.check [--cases 10] [--assertions 20] [--rounds 5] [--json]

Both run in one process on one throw-away database, round by round, each time in the other order. The ratio is the
median of the rounds. Of the calls there are: learning and recording each turn, a list of what is kept, each question,
and the removal of the space."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

from rich.table import Table

from benchmarks import harness
from benchmarks.recall import many
from muniment.faces.check.bench import Bench, open_bench
from muniment.faces.check.reading import CheckFile, read_check_file
from muniment.faces.check.runner import run_cases
from muniment.memory.config import settings
from muniment.memory.domain.query import Query
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import Turn
from muniment.memory.errors import MunimentError

MOST = 1.5  # times the calls themselves
AGENT, TOP_K = "supervisor", 8
TURNS = (
    "I live in Porto.", "I am allergic to peanuts.", "I like sailing.", "My sister Ida lives in Bergen.",
    "I work as a carpenter.",
)  # fmt: skip


def build_check(cases: int, assertions: int) -> dict[str, Any]:
    """Return a check file, which may be JSON: half of the assertions ask, half look at what is kept."""
    given = {"turns": [{"user": text} for text in TURNS]}
    expect = [
        {"query": _ask(number), "has": "Porto", "top_k": TOP_K} if number % 2 else {"remembers": "Porto"}
        for number in range(assertions)
    ]
    return {
        "muniment_check": 1,
        "cases": [{"name": f"case {n}", "given": given, "expect": expect} for n in range(cases)],
    }


async def measure(args: argparse.Namespace) -> dict[str, Any]:
    """Return the seconds of each round and their ratio. Raises MunimentError where an assertion does not hold."""
    base = settings.load_settings()
    with tempfile.TemporaryDirectory(prefix="check-") as folder:
        file = Path(folder) / "a.memory.yaml"
        file.write_text(json.dumps(build_check(args.cases, args.assertions)), encoding="utf-8")
        check = read_check_file(file)
        async with harness.throwaway(base) as own, open_bench(own) as bench:
            await run_cases(bench, check, "case 0")  # what is loaded once is none of either
            rounds = [await _run_round(bench, check, args, is_first=bool(number % 2)) for number in range(args.rounds)]
            machine = await harness.machine(own.database_url.get_secret_value() if own.database_url else "")
    ratios = [checked / called for checked, called in rounds]
    return {
        "assertions": args.cases * args.assertions,
        "check_seconds": [round(checked, 3) for checked, _ in rounds],
        "calls_seconds": [round(called, 3) for _, called in rounds],
        "ratio": round(median(ratios), 3),
        "ratios": [round(each, 3) for each in ratios],
        "most": MOST,
        "machine": machine,
    }


async def _run_round(
    bench: Bench, check: CheckFile, args: argparse.Namespace, *, is_first: bool
) -> tuple[float, float]:
    """Return the seconds of the assertions and of the calls; `is_first`: the assertions come first."""
    checked = await _time_check(bench, check) if is_first else 0.0
    called = await _time_calls(bench, args.cases, args.assertions)
    return (checked if is_first else await _time_check(bench, check)), called


async def _time_check(bench: Bench, check: CheckFile) -> float:
    began = perf_counter()
    results = await run_cases(bench, check)
    seconds = perf_counter() - began
    if failed := next((case for case in results if case.outcome != "passed"), None):
        raise MunimentError(f"{failed.name} does not hold: {failed.error or failed.assertions}")
    return seconds


async def _time_calls(bench: Bench, cases: int, assertions: int) -> float:
    began, memory = perf_counter(), bench.memory
    for number in range(cases):
        scope = Scope(tenant=bench.tenant, owner=f"plain/{number}", session="check", thread="check")
        said: list[Turn] = []
        for n, text in enumerate(TURNS):
            turn = Turn.make(session="check", key=str(n), role="user", text=text, at=memory.now(), thread="check")
            await memory.learn(scope, turn, previous=said)
            await memory.conversation.record(scope, [turn])
            said.append(turn)
        await memory.list(scope)
        for n in range(1, assertions, 2):
            await memory.query(scope, AGENT, Query(text=_ask(n), top_k=TOP_K))
        await memory.admin.erase_space(scope)
    return perf_counter() - began


def _ask(number: int) -> str:
    return f"Where does the user live? {number}"


def show_tables(found: dict[str, Any]) -> Iterator[Table]:
    """Yield the report as a table."""
    table = Table(title=f"{found['assertions']} assertions, in {len(found['ratios'])} rounds")
    for name in ("round", "check s", "calls s", "x"):
        table.add_column(name, justify="right")
    rows = zip(found["check_seconds"], found["calls_seconds"], found["ratios"], strict=True)
    for number, row in enumerate(rows, 1):
        table.add_row(str(number), *map(str, row))
    table.add_row("median", "", "", f"{found['ratio']} of at most {found['most']}")
    yield table


def main(argv: Sequence[str] | None = None) -> int:
    """The command; returns the exit code."""
    about = (__doc__ or "").splitlines()[0]
    parser = argparse.ArgumentParser(prog="python -m benchmarks.check", description=about)
    parser.add_argument("--cases", type=many, default=10, metavar="N")
    parser.add_argument("--assertions", type=many, default=20, metavar="N", help="of each case")
    parser.add_argument("--rounds", type=many, default=5, metavar="N")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    args = parser.parse_args(argv)
    return harness.run(measure(args), show_tables, as_json=args.json)


if __name__ == "__main__":
    sys.exit(main())
