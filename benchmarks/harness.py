"""What every benchmark shares: a throw-away database, one event loop, a table for people and JSON for programs."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from traceback import clear_frames
from typing import Any, TypeVar
from uuid import uuid4

import psycopg
from psycopg import sql
from psycopg.conninfo import make_conninfo
from pydantic import SecretStr
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from muniment.memory import bootstrap
from muniment.memory.config import settings
from muniment.memory.errors import MunimentError
from muniment.memory.stores.postgres.embedded import server

PACKAGES = ("muniment", "langgraph", "langgraph-checkpoint-postgres", "psycopg", "pgvector", "numpy", "onnxruntime")
CLIENTS = 2
SPLITS = ("dev", "held-out")
Tick = Callable[[int], None]
Todo = TypeVar("Todo")
Done = TypeVar("Done")


@asynccontextmanager
async def throwaway(base: settings.Settings) -> AsyncIterator[settings.Settings]:
    """Settings of a new, migrated database on the configured server; it is dropped at the end, also on Ctrl-C.

    The configured role must be allowed to create databases: that of the embedded server is."""
    address = await _address(base)
    name = f"muniment_bench_{os.getpid()}_{uuid4().hex[:12]}"
    async with await psycopg.AsyncConnection.connect(address, autocommit=True) as admin:
        await admin.execute(sql.SQL("create database {}").format(sql.Identifier(name)))
        try:
            own = base.model_copy(update={"database_url": SecretStr(make_conninfo(address, dbname=name))})
            await bootstrap.ensure_database(own)
            yield own
        except BaseException as error:
            # A connection that was interrupted while it was made lives on in these frames, and the drop waits for it.
            clear_frames(error.__traceback__)
            raise
        finally:
            # Shielded: a second Ctrl-C must not leave the database behind.
            drop = sql.SQL("drop database {} with (force)").format(sql.Identifier(name))
            await asyncio.shield(admin.execute(drop))


def run(
    report: Coroutine[Any, Any, dict[str, Any]], show: Callable[[dict[str, Any]], Iterator[Table]], *, as_json: bool
) -> int:
    """Run a benchmark to its report and print it; the exit code: 0 done, 1 failed in one line, 130 interrupted."""
    try:
        found = asyncio.run(report)
    except (MunimentError, psycopg.Error, OSError, json.JSONDecodeError) as error:
        print(f"benchmark: {str(error).splitlines()[0] if str(error) else type(error).__name__}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("benchmark: interrupted; the throw-away database is dropped", file=sys.stderr)
        return 130
    if as_json:
        print(json.dumps(found, ensure_ascii=False))
        return 0
    console = Console()
    for table in show(found):
        console.print(table)
    if "machine" in found:  # what has no times is the same on every machine
        console.print(line(found["machine"]), style="dim")
    return 0


def run_halves(
    name: str,
    doc: str | None,
    file: Path,
    measure: Callable[[settings.Settings, Path, str], Coroutine[Any, Any, dict[str, Any]]],
    show: Callable[[dict[str, Any]], Iterator[Table]],
    argv: Sequence[str] | None,
) -> int:
    """Run the command of a benchmark whose file has a tuning and a held-out half; its report lists `misses`."""
    parser = argparse.ArgumentParser(prog=f"python -m benchmarks.{name}", description=(doc or "").splitlines()[0])
    parser.add_argument("file", nargs="?", type=Path, default=file, metavar="FILE", help="default: the file in data/")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--split", choices=[*SPLITS, "all"], default="all", help="which half; default: all")
    parser.add_argument("--embedder", metavar="NAME", help="in place of MUNIMENT_EMBEDDER")
    parser.add_argument("--misses", action="store_true", help="with --json: list what was not shown as wanted")
    args = parser.parse_args(argv)

    async def report() -> dict[str, Any]:
        base = settings.load_settings()
        chosen = base.model_copy(update={"embedder": args.embedder}) if args.embedder else base
        found = await measure(chosen, args.file, args.split)
        return found if args.misses else {key: value for key, value in found.items() if key != "misses"}

    return run(report(), show, as_json=args.json)


@contextmanager
def bar(what: str, total: int) -> Iterator[Tick]:
    """A progress bar on a terminal, nothing when piped."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty()) as progress:
        task = progress.add_task(what, total=total)
        yield lambda done: progress.advance(task, done)


async def together(todo: Sequence[Todo], do: Callable[[Todo], Awaitable[Done]], tick: Tick) -> list[Done]:
    """What is done for each, in order; some at once, so that the server has work while this process has."""
    waiting = iter(enumerate(todo))
    done: dict[int, Done] = {}

    async def client() -> None:
        for n, one in waiting:
            done[n] = await do(one)
            tick(1)

    await asyncio.gather(*(client() for _ in range(CLIENTS)))
    return [done[n] for n in range(len(todo))]


def grid(title: str, header: Sequence[str], rows: Sequence[Sequence[object]]) -> Table:
    """A table whose first column is words and whose others are numbers."""
    table = Table(title=title, title_justify="left")
    for index, name in enumerate(header):
        table.add_column(name, justify="right" if index else "left")
    for row in rows:
        table.add_row(*("-" if cell is None else str(cell) for cell in row))
    return table


async def machine(dsn: str) -> dict[str, Any]:
    """Where and with what it was measured."""
    async with await psycopg.AsyncConnection.connect(dsn, autocommit=True) as conn:
        row = await (
            await conn.execute(
                "select current_setting('server_version'), current_setting('shared_buffers'),"
                " (select extversion from pg_extension where extname = 'vector')"
            )
        ).fetchone()
    assert row is not None
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "cpu": _cpu(),
        "cores": os.cpu_count(),
        "load": round(os.getloadavg()[0], 1) if hasattr(os, "getloadavg") else None,
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "postgres": row[0],
        "shared_buffers": row[1],
        "vector_extension": row[2],
        "packages": {name: version(name) for name in PACKAGES},
    }


def import_seconds(statement: str) -> float:
    """CPU seconds that an import takes in a new process, the interpreter's own start left out; the least of five."""
    timed = f"from time import process_time as now; begun = now(); {statement}; print(now() - begun)"
    runs = [subprocess.run([sys.executable, "-c", timed], capture_output=True, text=True, check=True) for _ in range(5)]
    return round(min(float(run.stdout) for run in runs), 3)


def line(found: dict[str, Any]) -> str:
    """The machine and the versions in one line."""
    packages = ", ".join(f"{name} {number}" for name, number in found["packages"].items())
    return (
        f"{found['date']} · {found['cores']} cores {found['cpu']}, load {found['load']} · {found['system']}, Python "
        f"{found['python']}, PostgreSQL {found['postgres']} (shared_buffers {found['shared_buffers']}), "
        f"vector {found['vector_extension']} · {packages}"
    )


async def _address(base: settings.Settings) -> str:
    """Where the server is; unlike `bootstrap.database` this migrates nothing that is the user's own."""
    return base.database_url.get_secret_value() if base.database_url else await server.ensure_server(base.home)


def _cpu() -> str:
    info = Path("/proc/cpuinfo")
    if info.exists():
        names = [
            text.partition(":")[2].strip() for text in info.read_text().splitlines() if text.startswith("model name")
        ]
        if names:
            return names[0]
    return platform.processor() or platform.machine()
