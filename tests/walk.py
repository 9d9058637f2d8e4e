"""Which files and functions of the product one chat turn and one query enter.

`python -m tests.walk` prints a table, with `--json` the four counts, with `--list` every function. A function is a
`def` and counts once, however often it is called; a lambda, a comprehension and a generator expression are part of the
function around them. A file counts when any of its code is entered. Imports, migrations, the connection pool and what
is compiled on first use do not count: each request is made once before, with another text."""

from __future__ import annotations

import argparse
import asyncio
import inspect
import json
import sys
import threading
import uuid
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import platformdirs
import psycopg
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from psycopg import sql
from psycopg.conninfo import make_conninfo

from muniment.graph.supervisor import build
from muniment.memory import bootstrap
from muniment.memory.config.settings import Settings, load_settings
from muniment.memory.domain.query import Query
from muniment.memory.domain.scope import Scope
from muniment.memory.stores.postgres.embedded import server
from muniment.nodes.state import Input, Who
from tests.conftest import GIVEN, discard, new_home

ROOT = Path(__file__).parents[1]
FOLDERS = ("memory", "agent", "plugin", "chain", "nodes", "graph", "faces", "src/muniment")
CACHE = Path(platformdirs.user_cache_dir("muniment")) / "models" / "bge-small-en-v1.5-int8"
_GOES_ON = 3  # of the argument of RESUME, where a call is reported: 0 at the start, else after a yield or an await
USER, THREAD = "ana", "a"
# A space with some memories, and a first turn and query, which pay for what is loaded on first use.
BEFORE = (
    "Hi, call me Ana. I am lactose intolerant and I'm training for the Lisbon marathon in October.",
    "My brother Tom works at a bank in Oslo. I love sailing and I play the violin on Sundays.",
    "What am I training for?",
)
TURN = "I live in Porto and my sister Anna works at a bakery. I love hiking."
QUERY_BEFORE, QUERY = "what instrument do I play?", "where do I live?"


@dataclass(frozen=True, slots=True, order=True)
class Function:
    """A function of the product: its file, seen from the root, its dotted name, and its first line."""

    file: str
    name: str
    line: int


@dataclass(slots=True)
class Walk:
    """The functions that were entered, in the order of their first call, with the number of calls; and their files."""

    root: Path = ROOT
    folders: tuple[str, ...] = FOLDERS
    calls: Counter[Function] = field(default_factory=Counter)
    files: set[str] = field(default_factory=set)
    _known: dict[tuple[str, CodeType], tuple[str, Function | None]] = field(default_factory=dict)
    _running: bool = False

    @contextmanager
    def installed(self) -> Iterator[None]:
        """Watch this thread and those that start inside; nothing is counted yet."""
        before = sys.getprofile()
        threading.setprofile(self._enter)
        sys.setprofile(self._enter)
        try:
            yield
        finally:
            sys.setprofile(before)
            threading.setprofile(None)

    @contextmanager
    def counting(self) -> Iterator[None]:
        """Count what is entered inside."""
        self._running = True
        try:
            yield
        finally:
            self._running = False

    def _enter(self, frame: FrameType, event: str, _: Any) -> None:
        if event != "call" or not self._running:
            return
        code = frame.f_code
        key = code.co_filename, code  # two codes of one text are equal, whichever file they are of
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = self._described(code)
        file, function = known
        if file:
            self.files.add(file)
        # A coroutine or generator that goes on is reported as another call.
        if function and code.co_code[frame.f_lasti + 1] & _GOES_ON == 0:
            self.calls[function] += 1

    def _described(self, code: CodeType) -> tuple[str, Function | None]:
        """The file of the code, "" for one that is not the product's, and the function if it is one."""
        try:
            file = Path(code.co_filename).resolve().relative_to(self.root).as_posix()
        except ValueError:
            return "", None
        # The body of a module or class is no function: it runs on import.
        if not file.startswith(tuple(f"{one}/" for one in self.folders)) or not code.co_flags & inspect.CO_OPTIMIZED:
            return "", None
        return file, None if code.co_name.startswith("<") else Function(file, code.co_qualname, code.co_firstlineno)


@dataclass(frozen=True, slots=True)
class Walks:
    """The walk of a chat turn through the graph, and of a query."""

    turn: Walk
    query: Walk

    def counts(self) -> dict[str, int]:
        """How many files and functions each enters."""
        return {
            "turn_files": len(self.turn.files),
            "turn_functions": len(self.turn.calls),
            "query_files": len(self.query.files),
            "query_functions": len(self.query.calls),
        }


def _settings(url: str) -> Settings:
    """The default settings: the walk is that of the product as it is installed, with its own embedder and clock."""
    return load_settings({"MUNIMENT_DATABASE_URL": url, "MUNIMENT_EMBEDDER_FOLDER": str(CACHE), "HOME": "/nonexistent"})


async def _turn(url: str, walk: Walk) -> None:
    settings = _settings(url)
    async with bootstrap.create_memory(settings) as memory:
        graph = build(memory, None, settings).compile(checkpointer=InMemorySaver())

        async def say(text: str) -> None:
            where: Any = {"configurable": {"thread_id": THREAD}}
            await graph.ainvoke(Input(messages=[HumanMessage(text)]), where, context=Who(user=USER))

        for text in BEFORE:
            await say(text)
        with walk.counting():
            await say(TURN)


async def _query(url: str, walk: Walk) -> None:
    """Of the space that `_turn` has filled."""
    settings = _settings(url)
    async with bootstrap.create_memory(settings) as memory:
        scope = Scope(owner=USER, tenant=settings.tenant, thread=THREAD)
        await memory.query(scope, "supervisor", Query(text=QUERY_BEFORE))
        with walk.counting():
            answer = await memory.query(scope, "supervisor", Query(text=QUERY))
    assert any("Porto" in hit.memory.text for hit in answer.hits), "the query found nothing, so its walk is not whole"


def trace(url: str) -> Walks:
    """Make a turn and a query in an empty database of one's own."""
    walks = Walks(turn=Walk(), query=Walk())
    for request, walk in ((_turn, walks.turn), (_query, walks.query)):
        with walk.installed():
            asyncio.run(request(url, walk))
    return walks


@contextmanager
def database() -> Iterator[str]:
    """The address of an empty database in the server of the tests, or else in a throw-away one."""
    home = new_home()
    name = f"walk_{uuid.uuid4().hex}"
    try:
        cluster = GIVEN or asyncio.run(server.ensure_server(home, fsync=False))
        with psycopg.connect(cluster, autocommit=True) as conn:
            conn.execute(sql.SQL("create database {}").format(sql.Identifier(name)))
            try:
                yield make_conninfo(cluster, dbname=name)
            finally:
                conn.execute(sql.SQL("drop database {} with (force)").format(sql.Identifier(name)))
    finally:
        discard(home)


def table(walks: Walks) -> str:
    counts = walks.counts()
    rows = [(name, counts[f"{name}_files"], counts[f"{name}_functions"]) for name in ("turn", "query")]
    lines = [f"{name:<8}{files:>7}{functions:>11}" for name, files, functions in rows]
    return "\n".join(["          files  functions", *lines])


def listing(walk: Walk) -> str:
    """The files in the order in which they are entered, each with its functions and how often they are called."""
    lines: list[str] = []
    for file in dict.fromkeys([*(one.file for one in walk.calls), *sorted(walk.files)]):
        inside = [one for one in walk.calls if one.file == file]
        lines += [f"{file}  ({len(inside)})", *(f"    {one.name}:{one.line}  x{walk.calls[one]}" for one in inside)]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m tests.walk", description="Which files and functions a request enters."
    )
    shown = parser.add_mutually_exclusive_group()
    shown.add_argument("--json", action="store_true", help="print the four counts as JSON")
    shown.add_argument("--list", action="store_true", help="print every file with its functions")
    given = parser.parse_args()
    with database() as url:
        walks = trace(url)
    if given.json:
        sys.stdout.write(json.dumps(walks.counts()) + "\n")
        return
    if given.list:
        sys.stdout.write(f"A turn\n\n{listing(walks.turn)}\n\nA query\n\n{listing(walks.query)}\n\n")
    sys.stdout.write(table(walks) + "\n")


if __name__ == "__main__":
    main()
