"""What a call that is cancelled takes from others: calls cancelled in five ways at any moment, beside bystanders.

python -m benchmarks.cancel [--calls 5000] [--at-once 8] [--seed 20261124] [--json]

Each call is of one kind (learn, remember, query, brief, list, forget, ingest, import, export, a turn of the supervisor
graph on Postgres checkpoints) and is cancelled after a random share of what its kind takes: once, twice in a row, by a
scope of anyio, which cancels again and again until the call has ended, by anyio's timeout, or by asyncio.wait_for. Two
bystanders write and read in spaces of their own and two in that of the cancelled calls. At the end every connection of
the pool has to be there, no session may be in a transaction, and no advisory lock may be left."""

from __future__ import annotations

import argparse
import asyncio
import random
import sys
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Sequence
from contextlib import suppress
from time import perf_counter
from typing import Any, TypeAlias

import anyio
import psycopg
from langchain_core.messages import HumanMessage
from rich.table import Table

from benchmarks import harness
from muniment.graph.checkpointer import open_saver
from muniment.graph.supervisor import build
from muniment.memory import bootstrap
from muniment.memory.client import Memory
from muniment.memory.config import settings
from muniment.memory.domain.query import Query
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import Candidate, Turn
from muniment.memory.errors import MunimentError
from muniment.memory.models.hash_embedder import HashEmbedder
from muniment.nodes.state import Input, Who

AGENT = "supervisor"
OWNER = "ana"
BYSTANDERS = ("ben", "cem", OWNER, OWNER)
POOL = 10  # connections that the pool lends at most
WARM_UP = 3  # calls of each kind that are not cancelled, to know what it takes
PATIENCE_SECONDS = 30.0
_LEFT = """
select count(*) filter (where state like 'idle in transaction%'),
  (select count(*) from pg_locks where locktype = 'advisory'
     and database = (select oid from pg_database where datname = current_database()))
from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()
"""

Call: TypeAlias = Callable[[], Coroutine[Any, Any, object]]
Cancel: TypeAlias = Callable[[Coroutine[Any, Any, object], float], Awaitable[None]]


async def cancel_once(call: Coroutine[Any, Any, object], delay: float) -> None:
    """A call of a task that is cancelled."""
    task = asyncio.create_task(call)
    await asyncio.wait([task], timeout=delay)
    task.cancel()
    await _end(task)


async def cancel_twice(call: Coroutine[Any, Any, object], delay: float) -> None:
    """The second cancellation comes while the first one is under way."""
    task = asyncio.create_task(call)
    await asyncio.wait([task], timeout=delay)
    for _ in range(2):
        task.cancel()
        await asyncio.sleep(0)
    await _end(task)


async def cancel_by_scope(call: Coroutine[Any, Any, object], delay: float) -> None:
    """As Starlette, httpx and MCP cancel: at every turn of the event loop until the call has ended."""
    with anyio.CancelScope() as within:
        asyncio.get_running_loop().call_later(delay, within.cancel)
        with suppress(MunimentError):
            await call


async def cancel_by_move_on(call: Coroutine[Any, Any, object], delay: float) -> None:
    """A timeout of anyio."""
    with anyio.move_on_after(delay), suppress(MunimentError):
        await call


async def cancel_by_wait_for(call: Coroutine[Any, Any, object], delay: float) -> None:
    """A timeout of asyncio."""
    with suppress(TimeoutError, MunimentError):
        await asyncio.wait_for(call, delay)


WAYS: dict[str, Cancel] = {
    "once": cancel_once,
    "twice": cancel_twice,
    "scope": cancel_by_scope,
    "move_on_after": cancel_by_move_on,
    "wait_for": cancel_by_wait_for,
}


async def _end(task: asyncio.Task[object]) -> None:
    with suppress(asyncio.CancelledError, MunimentError):
        await task


class Calls:
    """The kinds of calls, each with new words every time."""

    def __init__(self, memory: Memory, graph: Any, dice: random.Random) -> None:
        self._memory, self._graph, self._dice = memory, graph, dice
        self._made = 0
        self._scope = Scope(owner=OWNER, thread="A")

    def list_kinds(self) -> dict[str, Call]:
        """Return the kinds by name."""
        names = ("learn", "remember", "query", "brief", "list", "forget", "ingest", "load", "export", "turn")
        return {name: getattr(self, f"_{name}") for name in names}

    def _say(self) -> str:
        self._made += 1
        return f"I keep the key number {self._made} behind the {self._dice.choice(('red', 'green', 'old'))} door."

    async def _learn(self) -> object:
        text = self._say()
        turn = Turn.make(session="A", key=str(self._made), role="user", text=text, at=self._memory.now(), thread="A")
        return await self._memory.learn(self._scope, turn)

    async def _remember(self) -> object:
        return await self._memory.remember(self._scope, self._say())

    async def _query(self) -> object:
        return await self._memory.query(self._scope, AGENT, Query(text="Where is the key?"))

    async def _brief(self) -> object:
        return await self._memory.brief(self._scope, AGENT, "Where is the key?")

    async def _list(self) -> object:
        return await self._memory.list(self._scope)

    async def _forget(self) -> object:
        memories = await self._memory.list(self._scope)
        return await self._memory.forget(self._scope, self._dice.choice(memories).id) if memories else None

    async def _ingest(self) -> object:
        return await self._memory.ingest(self._scope, [make_candidate(self._say()) for _ in range(3)])

    async def _load(self) -> object:
        return await self._memory.load(self._scope, [{"text": self._say()} for _ in range(3)])

    async def _export(self) -> object:
        return await self._memory.export(self._scope)

    async def _turn(self) -> object:
        config = {"configurable": {"thread_id": f"thread {self._made % 8}"}}
        said = Input(messages=[HumanMessage(self._say())])
        return await self._graph.ainvoke(said, config, context=Who(user=OWNER))


def make_candidate(text: str) -> Candidate:
    """Return a text as a candidate without a turn."""
    return Candidate(text=text, category="activity", kind="episodic", importance=3)


async def bystand(memory: Memory, owner: str, over: asyncio.Event, failures: Counter[str]) -> int:
    """Write and read until it is over. Returns how many calls were answered; `failures` counts the others by error."""
    answered, who = 0, Scope(owner=owner)
    while not over.is_set():
        try:
            await memory.ingest(who, [make_candidate(f"The lamp {answered} of {owner} is lit")])
            await memory.query(who, AGENT, Query(text="Which lamp is lit?"))
            answered += 2
        except Exception as error:  # noqa: BLE001 - whatever it is, it came from somebody else's call
            failures[type(error).__name__] += 1
        await asyncio.sleep(0)
    return answered


async def measure(count: int, at_once: int, seed: int) -> dict[str, Any]:
    """The report: how many calls were cancelled in which way, and what they took from others."""
    base = settings.load_settings()
    base = base.model_copy(update={"write": base.write.model_copy(update={"per_day": 10_000_000})})
    async with harness.throwaway(base) as own:
        dsn = await bootstrap.ensure_database(own)
        async with bootstrap.create_memory(own, embedder=HashEmbedder()) as memory, open_saver(dsn) as saver:
            graph = build(memory, None, own).compile(checkpointer=saver)
            dice, failures, over = random.Random(seed), Counter[str](), asyncio.Event()
            kinds = Calls(memory, graph, dice).list_kinds()
            took = {name: await _time_call(call) for name, call in kinds.items()}
            tasks = [asyncio.create_task(bystand(memory, owner, over, failures)) for owner in BYSTANDERS]
            done = Counter[str]()
            with harness.bar("cancelled calls", count) as tick:
                todo = iter(range(count))

                async def client() -> None:
                    for _ in todo:
                        name, way = dice.choice(list(kinds)), dice.choice(list(WAYS))
                        await WAYS[way](kinds[name](), took[name] * dice.uniform(0, 1.5))
                        done[way] += 1
                        tick(1)

                await asyncio.gather(*(client() for _ in range(at_once)))
            over.set()
            answered = sum(await asyncio.gather(*tasks))
            lost = await _count_lost(memory)
        async with await psycopg.AsyncConnection.connect(dsn, autocommit=True) as admin:
            in_transaction, locks = await _read_left(admin)
    return {
        "calls": sum(done.values()),
        "ways": dict(done),
        "bystander_calls": answered,
        "bystanders_failed": sum(failures.values()),
        "errors": dict(failures),
        "in_transaction": in_transaction,
        "locks_left": locks,
        "connections_lost": lost,
    }


async def _time_call(call: Call) -> float:
    """What a kind takes at most of a few times, in seconds."""
    longest = 0.0
    for _ in range(WARM_UP):
        began = perf_counter()
        await call()
        longest = max(longest, perf_counter() - began)
    return longest


async def _count_lost(memory: Memory) -> int:
    """How many connections the pool cannot lend any more, though nobody uses them."""
    store: Any = memory.engine.store
    connections = store._connections  # noqa: SLF001 - how many it can lend is nothing that the product asks
    ready, enough, lent = asyncio.Event(), asyncio.Event(), 0

    async def borrow() -> None:
        nonlocal lent
        async with connections.connect():
            lent += 1
            if lent == POOL:
                ready.set()
            await enough.wait()

    tasks = [asyncio.create_task(borrow()) for _ in range(POOL)]
    with suppress(TimeoutError):
        await asyncio.wait_for(ready.wait(), PATIENCE_SECONDS)
    enough.set()
    await asyncio.gather(*tasks, return_exceptions=True)
    return POOL - lent


async def _read_left(admin: psycopg.AsyncConnection[Any]) -> tuple[int, int]:
    """Sessions in a transaction and advisory locks that do not go away by themselves."""
    deadline = perf_counter() + PATIENCE_SECONDS
    while True:
        row = await (await admin.execute(_LEFT)).fetchone()
        left = (row[0], row[1]) if row else (0, 0)
        if left == (0, 0) or perf_counter() > deadline:
            return left
        await asyncio.sleep(0.1)


def tables(found: dict[str, Any]) -> Iterator[Table]:
    """The report as a table."""
    asked = {"bystanders_failed": 0, "in_transaction": 0, "locks_left": 0, "connections_lost": 0}
    yield harness.grid(
        f"{found['calls']} cancelled calls beside {found['bystander_calls']} of bystanders",
        ("", "found", "asked"),
        [(name, found[name], limit) for name, limit in asked.items()],
    )


def main(argv: Sequence[str] | None = None) -> int:
    """The command; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.cancel", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--calls", type=int, default=5_000, metavar="N", help="that are cancelled")
    parser.add_argument("--at-once", type=int, default=8, metavar="N", help="of them")
    parser.add_argument("--seed", type=int, default=20261124, metavar="N", help="of kinds, ways and moments")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    args = parser.parse_args(argv)
    if min(args.calls, args.at_once) < 1:
        parser.error("--calls, --at-once: 1 or more wanted")
    return harness.run(measure(args.calls, args.at_once, args.seed), tables, as_json=args.json)


if __name__ == "__main__":
    sys.exit(main())
