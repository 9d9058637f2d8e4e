"""Whether anything is lost or there twice when who builds and ends a session is killed at random moments.

python -m benchmarks.killed_builds [--kills 50] [--seed 1] [--json]

A process builds and ends the session of the conversation of 60 turns, with a scripted model over HTTP; it is killed
(-9) at a random moment, again and again, until the session is built; then the next user's, until there were `--kills`.
Each is compared with a session that nobody interrupted: memories, observations and what came of them, projections
(which a write makes in its statement), and how far it is built. Then the projections are made anew: no row may change.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection
from time import perf_counter
from typing import Any

from rich.table import Table

from benchmarks import harness
from benchmarks.script import Script
from muniment.memory import bootstrap
from muniment.memory.client import Memory
from muniment.memory.config.settings import HASH_EMBEDDER, load_settings
from muniment.memory.domain.scope import Scope
from muniment.testing.fakes import FixedClock
from muniment.testing.openai_server import ScriptedOpenAI

SESSION = "talk"
_REQUESTS = 3  # fewer requests to the model are let through before a kill
# Forks of a process that has imported everything: a new one would take longer to begin than to build.
_FORKS = get_context("forkserver")


async def measure(kills: int, seed: int) -> dict[str, Any]:
    """Sessions that are built by processes that are killed, beside one that is not."""
    script, dice = Script.load(), random.Random(seed)
    base = load_settings().model_copy(update={"embedder": HASH_EMBEDDER})
    async with harness.throwaway(base) as own:
        with ScriptedOpenAI(reply=script.reply, latency=0.02) as server:
            address = await bootstrap.ensure_database(own)
            environ = os.environ | {
                "MUNIMENT_DATABASE_URL": address, "MUNIMENT_EMBEDDER": HASH_EMBEDDER, "MUNIMENT_MODEL": "scripted",
                "OPENAI_API_KEY": "none", "OPENAI_BASE_URL": server.base_url,
            }  # fmt: skip
            async with bootstrap.create_memory(own, clock=FixedClock(script.turns[-1].at)) as memory:
                await tell(memory, script, "whole")
                began = perf_counter()
                await asyncio.to_thread(build, environ, "whole", None)
                moment = (perf_counter() - began) / len(server.requests)
                wanted, rounds, done = await read(memory, "whole"), list[dict[str, Any]](), 0
                with harness.bar("kills", kills) as tick:
                    while done < kills:
                        owner = f"user {len(rounds)}"
                        await tell(memory, script, owner)
                        killed, left = 0, set[tuple[int, int]]()
                        while done + killed < kills:
                            seen = len(server.requests) + dice.randrange(_REQUESTS)
                            kill = Kill(lambda: len(server.requests) >= seen, dice.uniform(0, moment))  # noqa: B023 - called in its round
                            if await asyncio.to_thread(build, environ, owner, kill):
                                break
                            killed += 1
                            record = await memory.sessions.get(who_is(owner), SESSION)
                            left.add((record.session.built_to, len(record.observations)))
                            tick(1)
                        # Whoever comes last finds a session that is built, or builds the rest.
                        await asyncio.to_thread(build, environ, owner, None)
                        done += killed
                        found = await read(memory, owner)
                        differences = await compare(memory, owner, wanted, found)
                        rounds.append({"kills": killed, "left": sorted(left), **differences})
        machine = await harness.machine(address)
    sums = {name: sum(one[name] for one in rounds) for name in ("lost", "twice", "projected")}
    return {
        "machine": machine, "sessions": len(rounds), "kills": done, **sums, "rounds": rounds,
        "good": not any(sums.values()),
    }  # fmt: skip


def who_is(owner: str) -> Scope:
    """The user in the session."""
    return Scope(owner=owner, session=SESSION, thread=SESSION)


async def tell(memory: Memory, script: Script, owner: str) -> None:
    """The conversation is in the ledger, and the rules have read it."""
    who = who_is(owner)
    for said in script.turns:
        turn = said.turn(SESSION)
        if said.role == "user":
            await memory.learn(who, turn)
        await memory.conversation.record(who, [turn])


@dataclass(frozen=True, slots=True)
class Kill:
    """When a process is killed: so many seconds after something has come about."""

    is_due: Callable[[], bool]
    seconds: float


def build(environ: Mapping[str, str], owner: str, kill: Kill | None) -> bool:
    """Build and end the session in a process. Returns whether it came to its end, and was not killed."""
    here, there = _FORKS.Pipe()
    process = _FORKS.Process(target=work, args=(dict(environ), owner, there))
    process.start()
    there.close()  # what ends without a word is an error here, and not waited for
    here.recv()
    while kill is not None and not kill.is_due() and not here.poll(0.005):
        pass
    is_done = here.poll(kill.seconds if kill is not None else None)
    if is_done:
        here.recv()
    else:
        process.kill()
    process.join()
    return is_done


def work(environ: Mapping[str, str], owner: str, told: Connection) -> None:
    """What the process does: it tells when it begins, and when it is done."""
    os.environ.update(environ)
    who = who_is(owner)

    async def end() -> None:
        async with bootstrap.open_memory(load_settings()) as memory:
            told.send("ready")
            await memory.sessions.end(who, SESSION)
        told.send("done")

    asyncio.run(end())


async def read(memory: Memory, owner: str) -> dict[str, Counter[str]]:
    """What is active of a user, what was observed and became of it, the projections, and how far the session is
    built."""
    who = who_is(owner)
    record = await memory.sessions.get(who, SESSION)
    shown = await memory.projections.list(who, limit=1_000)
    return {
        "memories": Counter(each.text for each in await memory.list(who, limit=1_000)),
        "observations": Counter(f"{each.stable_key}: {each.outcome}" for each in record.observations),
        "projections": Counter(f"{each.status} {each.type} {each.key}: {each.title}" for each in shown),
        "built": Counter([f"{record.session.built_to} of {record.session.turns}, {record.session.ended_why}"]),
    }


async def compare(
    memory: Memory, owner: str, wanted: Mapping[str, Counter[str]], found: Mapping[str, Counter[str]]
) -> dict[str, int]:
    """How much of what is wanted is missing, how much is there beside it or once more, and how many projections differ
    from those that are made anew."""
    who = who_is(owner)
    return {
        "lost": sum((values - found[name]).total() for name, values in wanted.items()),
        "twice": sum((values - wanted[name]).total() for name, values in found.items()),
        "projected": (await memory.projections.rebuild(who)).changed,
    }


def tables(found: dict[str, Any]) -> Iterator[Table]:
    """The report for people."""
    yield harness.grid(
        "Building and ending a session, killed at random moments",
        ["sessions", "kills", "lost", "twice", "projected otherwise"],
        [[found[name] for name in ("sessions", "kills", "lost", "twice", "projected")]],
    )


def main(argv: Sequence[str] | None = None) -> int:
    """The command; returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.killed_builds", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("--kills", type=int, default=50, help="how often a process is killed")
    parser.add_argument("--seed", type=int, default=1, help="of the moments")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    args = parser.parse_args(argv)
    _FORKS.set_forkserver_preload(["benchmarks.script", "muniment.memory.bootstrap"])
    return harness.run(measure(args.kills, args.seed), tables, as_json=args.json)


if __name__ == "__main__":
    sys.exit(main())
