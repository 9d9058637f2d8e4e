"""What a question and a turn cost while their own space is consolidated by another process, against the same when it is
not.

python -m benchmarks.meanwhile [--memories 1000] [--seconds 4] [--rounds 6] [--model [0.3]] [--json]

Calm and busy windows in turns. Busy: a worker process consolidates the very space that is asked, again and again from
the start, without a pause between two runs - much more than a night ever does. With --model both sides have a model
over real HTTP: a scripted server, in a process of its own, replies to a turn at once and judges pairs of memories after
so many seconds."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import signal
import sys
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from statistics import median
from time import perf_counter
from typing import Any, TypeAlias
from uuid import uuid4

import psycopg
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import SecretStr
from rich.table import Table

from benchmarks import harness, synthetic
from muniment.graph.supervisor import build
from muniment.memory import bootstrap
from muniment.memory.client import Memory
from muniment.memory.config import settings
from muniment.memory.domain.consolidation import Finding
from muniment.memory.domain.ids import TurnId
from muniment.memory.domain.query import Query
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import Candidate
from muniment.memory.ports.llm import ChatModel
from muniment.nodes.state import Input, Who
from muniment.testing.openai_server import Request, ScriptedOpenAI, structured

SEED = 20261121
Check: TypeAlias = Callable[[], bool]
OWNER = "busy"
LIMIT = 1.3
AGENT = "supervisor"
JUDGING_SECONDS = 0.3


async def measure(memories: int, seconds: float, rounds: int, judging: float | None) -> dict[str, Any]:
    """Medians of both kinds of window, over all rounds, and their ratio."""
    async with harness.throwaway(settings.load_settings()) as own, _endpoint(judging) as url:
        dsn = await bootstrap.ensure_database(own)
        machine = await harness.machine(dsn)
        async with _memory(own, url) as memory:
            texts = await _fill(memory, memories)
            turns = _Turns(memory, None if url is None else memory.engine.model)
            await turns.say(texts[0])  # the first one imports and connects
            took: dict[str, dict[str, list[float]]] = {"calm": {}, "busy": {}}
            seen: Counter[str] = Counter()
            with harness.bar("windows", 2 * rounds) as tick:
                for _ in range(rounds):
                    await _window(memory, turns, texts, seconds, took["calm"], lambda: True)
                    tick(1)
                    async with _consolidating(dsn, url) as (lines, worked):
                        await _window(memory, turns, texts, seconds, took["busy"], worked)
                    seen += lines
                    tick(1)
    found = {what: {kind: round(median(took[kind][what]) * 1000, 2) for kind in took} for what in took["calm"]}
    return {
        "memories": memories,
        "seconds": seconds,
        "rounds": rounds,
        "judging_model_seconds": judging,
        "runs": seen["run"],
        "judged_by_the_model": seen["judged"],
        "of": {what: one | {"ratio": round(one["busy"] / one["calm"], 2)} for what, one in found.items()},
        "limit": LIMIT,
        "machine": machine,
    }


def _memory(own: settings.Settings, url: str | None) -> Memory:
    """With the model at this address, if there is one; an embedder's endpoint stays its own."""
    model = {} if url is None else {"chat_model": "scripted", "base_url": url, "api_key": SecretStr("none")}
    return bootstrap.create_memory(own.model_copy(update=model), embedder=bootstrap.make_embedder(own))


class _Turns:
    """Turns of a conversation. Without a model: what the graph itself costs, and nothing that hides it."""

    def __init__(self, memory: Memory, model: ChatModel | None) -> None:
        self._graph = build(memory, model, memory.engine.settings).compile(checkpointer=InMemorySaver())
        self._said = 0

    async def say(self, text: str) -> None:
        self._said += 1
        config: Any = {"configurable": {"thread_id": f"thread {self._said % 8}"}}
        await self._graph.ainvoke(Input(messages=[HumanMessage(text)]), config, context=Who(user=OWNER))


async def _fill(memory: Memory, count: int) -> list[str]:
    world = synthetic.World(SEED)
    made = world.memories(0, count)
    turns = (TurnId(uuid4()) for _ in made)
    some = [
        Candidate(text=one.text, category=one.category, kind="semantic", importance=3, turns=(turn,))
        for one, turn in zip(made, turns, strict=True)
    ]
    await memory.ingest(Scope(owner=OWNER), some)
    return [one.text for one in world.questions(1, 200)]


async def _window(
    memory: Memory, turns: _Turns, texts: Sequence[str], seconds: float, took: dict[str, list[float]], worked: Check
) -> None:
    """Questions and turns one after the other for so long, and until what is beside them has done something."""
    end = perf_counter() + seconds
    queries, replies = took.setdefault("query", []), took.setdefault("turn", [])
    while perf_counter() < end or not worked():
        text = texts[(len(queries) + len(replies)) % len(texts)]
        started = perf_counter()
        await memory.query(Scope(owner=OWNER), AGENT, Query(text=text))
        queries.append(perf_counter() - started)
        if len(queries) % 4 == 0:
            started = perf_counter()
            await turns.say(text)
            replies.append(perf_counter() - started)


@asynccontextmanager
async def _consolidating(dsn: str, url: str | None) -> AsyncIterator[tuple[Counter[str], Check]]:
    """A process that consolidates meanwhile: how many runs it has made by now, how many answers it has used, and
    whether it has done anything yet, or has ended."""
    seen: Counter[str] = Counter()
    child = await _child("--consolidate", *(("--at", url) if url else ()), environment={"MUNIMENT_DATABASE_URL": dsn})
    assert child.stdout is not None
    lines = child.stdout
    await lines.readline()  # its first run is over, or the model's first answer there: it is warm

    async def hear() -> None:
        async for line in lines:
            seen[line.decode().strip()] += 1

    hearing = asyncio.create_task(hear())
    try:
        yield seen, lambda: bool(seen["judged" if url else "run"]) or hearing.done()
    finally:
        if child.returncode is None:
            child.send_signal(signal.SIGINT)
        await hearing
        await child.wait()


@asynccontextmanager
async def _endpoint(judging: float | None) -> AsyncIterator[str | None]:
    """The address of a scripted model that takes so long to judge pairs, if there is to be one."""
    if judging is None:
        yield None
        return
    child = await _child("--serve", "--model", str(judging))
    assert child.stdout is not None
    try:
        yield (await child.stdout.readline()).decode().strip()
    finally:
        await child.communicate(b"")  # the end of its input is its end


async def _child(*arguments: str, environment: dict[str, str] | None = None) -> asyncio.subprocess.Process:
    pipe = asyncio.subprocess.PIPE
    command = (sys.executable, "-m", "benchmarks.meanwhile", *arguments)
    return await asyncio.create_subprocess_exec(*command, env=os.environ | (environment or {}), stdin=pipe, stdout=pipe)


async def _consolidate(url: str | None) -> None:
    """Forget what was checked, and check it again."""
    own = settings.load_settings()
    scope = Scope(owner=OWNER)
    address = await bootstrap.ensure_database(own)

    def tell(findings: Sequence[Finding]) -> None:
        if any(one.source == "model" for one in findings):
            print("judged", flush=True)

    async with (
        _memory(own.model_copy(update={"database_url": SecretStr(address)}), url) as memory,
        await psycopg.AsyncConnection.connect(address, autocommit=True) as admin,
    ):
        while True:
            await admin.execute("delete from muniment.pair_fingerprints")
            await memory.admin.consolidate(scope, limit=400, on_findings=tell)
            print("run", flush=True)


def _serve(judging: float) -> None:
    """Answer until nobody is there any more."""

    def reply(body: dict[str, Any]) -> str:
        pairs = _form(body) == "pairs"
        return structured({"pairs": [{"pair": n, "verdict": "different"} for n in range(1, 11)]}) if pairs else "I see."

    def latency(request: Request) -> float:
        return judging if _form(request.body) == "pairs" else 0.0

    with contextlib.suppress(KeyboardInterrupt), ScriptedOpenAI(reply, latency=latency) as server:
        print(server.base_url, flush=True)
        sys.stdin.read()


def _form(body: dict[str, Any]) -> str | None:
    name: str | None = body.get("response_format", {}).get("json_schema", {}).get("name")
    return name


def show(found: dict[str, Any]) -> Iterator[Table]:
    """One table."""
    model = f", {found['judged_by_the_model']} answers of a model" if found["judging_model_seconds"] is not None else ""
    yield harness.grid(
        f"A space of {found['memories']:,} memories while it is consolidated ({found['runs']} runs{model})",
        ["", "calm p50 ms", "busy p50 ms", "ratio"],
        [[what, one["calm"], one["busy"], one["ratio"]] for what, one in found["of"].items()],
    )


def main(argv: Sequence[str] | None = None) -> int:
    """The command; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.meanwhile", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--memories", type=int, default=1000, metavar="N")
    parser.add_argument("--seconds", type=float, default=4.0, metavar="S", help="of a window")
    parser.add_argument("--rounds", type=int, default=6, metavar="N", help="windows of each kind")
    parser.add_argument(
        "--model",
        type=float,
        nargs="?",
        const=JUDGING_SECONDS,
        metavar="S",
        help=f"turns and consolidation have a model that judges pairs after S seconds ({JUDGING_SECONDS:g})",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--consolidate", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--at", help=argparse.SUPPRESS)
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args(argv)
    if args.serve:
        _serve(args.model)
        return 0
    if args.consolidate:
        with contextlib.suppress(KeyboardInterrupt):
            asyncio.run(_consolidate(args.at))
        return 0
    return harness.run(measure(args.memories, args.seconds, args.rounds, args.model), show, as_json=args.json)


if __name__ == "__main__":
    sys.exit(main())
