"""Muniment beside mem0, LangMem and LangGraph's stores: the same vectors, the same Postgres, the same questions.

python -m benchmarks.peers [FILE] [--statements 300] [--questions 60] [--writes 120] [--json]
    [--peers-venv DIR] [--only NAME…] [--out docs/benchmarks-peers.svg [--doc docs/benchmarks.md]]

Each has a database of its own, which is dropped at the end. mem0 runs in an environment of its own, which is made at
the first run. No model is called: what a peer's model would extract is not measured."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks import harness
from benchmarks.peers import race, report
from benchmarks.peers.ring import ABSENT, list_versions, open_ring
from benchmarks.peers.vectors import Vectors
from benchmarks.peers.workload import find_file, read_workload
from benchmarks.recall import many
from muniment.memory import bootstrap
from muniment.memory.config import settings

_UNCAPPED = 10**9  # writes of a user a day


async def measure(args: argparse.Namespace) -> dict[str, Any]:
    """Return the report of one run; with `--out`, the picture and the document are written, too."""
    base = settings.load_settings()
    base = base.model_copy(update={"write": base.write.model_copy(update={"per_day": _UNCAPPED})})
    work = read_workload(args.file or find_file(), args.statements, args.questions, args.writes)
    embedder = bootstrap.make_embedder(base)
    vectors = Vectors(embedder)
    try:
        dims = await vectors.prepare(work.list_texts(), [one.text for one in work.asked])
        environment = args.peers_venv or base.home / "cache" / "peers"
        await race.rehearse_rules(base, vectors, work)
        async with open_ring(base, vectors, dims, environment, args.only) as ring:
            found = await race.measure(work, ring)
            machine = await harness.machine(next(bench.dsn for bench in ring.benches.values() if bench.dsn))
    finally:
        await embedder.close()
    found |= {
        "absent": ABSENT,
        "file": work.file,
        "statements": work.statements,
        "questions": len(work.asked),
        "writes": len(work.writes),
        "embedder": vectors.name,
        "versions": list_versions(),
        "machine": machine,
    }
    if args.out:
        report.write_document(found, args.out, args.doc, _format_command(args))
    return found


def main(argv: Sequence[str] | None = None) -> int:
    """The command; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("file", type=Path, nargs="?", metavar="FILE", help="a LoCoMo file, or everyday questions")
    parser.add_argument("--statements", type=many, default=300, metavar="N", help="that are imported")
    parser.add_argument("--questions", type=many, default=60, metavar="N", help="at most so many")
    parser.add_argument("--writes", type=many, default=120, metavar="N", help="one by one: half with the embedder")
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME", help="beginnings of the names of peers")
    parser.add_argument(
        "--peers-venv", type=Path, metavar="DIR", help="their environment; default: a folder of the home"
    )
    parser.add_argument("--out", type=Path, metavar="SVG", help="the picture")
    parser.add_argument("--doc", type=Path, metavar="MD", help="with --out: the document that gets the tables")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    args = parser.parse_args(argv)
    if args.writes < 2:
        parser.error("--writes: 2 or more wanted")
    if args.doc and (not args.out or not all(mark in args.doc.read_text(encoding="utf-8") for mark in report.MARKS)):
        parser.error(f"--doc: --out and the marks {' and '.join(report.MARKS)} in the document wanted")
    return harness.run(measure(args), report.show_tables, as_json=args.json)


def _format_command(args: argparse.Namespace) -> str:
    doc = f" --doc docs/{args.doc.name}" if args.doc else ""
    sizes = f"--statements {args.statements} --questions {args.questions} --writes {args.writes}"
    return f"python -m benchmarks.peers {sizes} --out docs/{args.out.name}{doc}"


if __name__ == "__main__":
    sys.exit(main())
