"""Writes the golden files anew: `python -m tests.golden`, with `--inputs` from inputs that are collected anew."""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
from psycopg import sql
from psycopg.conninfo import make_conninfo

from muniment.memory.stores import migrate, server
from tests.golden import inputs


@contextmanager
def databases() -> Iterator[str]:
    """The address of a throw-away server."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        home.chmod(0o711)
        try:
            yield asyncio.run(server.ensure(home, fsync=False))
        finally:
            asyncio.run(server.stop(home))


def database(url: str, name: str) -> str:
    """The address of a new migrated database."""
    with psycopg.connect(url, autocommit=True) as conn:
        conn.execute(sql.SQL("create database {}").format(sql.Identifier(name)))
    made = make_conninfo(url, dbname=name)
    asyncio.run(migrate.migrate(made))
    return made


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.golden", description=(__doc__ or "").partition(":")[0])
    parser.add_argument("--inputs", action="store_true", help="collect the inputs anew from the tests and benchmarks")
    parser.add_argument("files", nargs="*", metavar="FILE", help="golden files; all when left out")
    args = parser.parse_args()
    if args.inputs:
        inputs.freeze()
    from tests.golden import areas  # reads the inputs

    if unknown := set(args.files) - areas.PURE.keys() - areas.STORED.keys():
        parser.error(f"no golden file {min(unknown)}; known: {', '.join([*areas.PURE, *areas.STORED])}")
    wanted = args.files or [*areas.PURE, *areas.STORED]
    made = {name: make() for name, make in areas.PURE.items() if name in wanted}
    stored = {name: make for name, make in areas.STORED.items() if name in wanted}
    if stored:
        with databases() as url:
            made |= {name: make(database(url, f"golden_{n}")) for n, (name, make) in enumerate(stored.items())}
    for name, text in made.items():
        path = inputs.HERE / "outputs" / name
        path.parent.mkdir(exist_ok=True)
        changed = not path.exists() or path.read_bytes() != text.encode()
        path.write_bytes(text.encode())
        sys.stdout.write(f"{name}: {len(text.encode()):,} bytes{', changed' if changed else ''}\n")


if __name__ == "__main__":
    main()
