"""What a model reads for the facts of the conversation of 60 turns: with a request for each turn, and with one for a
run of a session's turns.

python -m benchmarks.building [--turns 100] [--json]

The same scripted model answers both ways over HTTP. Tokens are those of all messages, by the vocabulary of the budgets.
A session of `--turns` turns is built by the rules alone, too, from a ledger of which nothing was read before.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from time import perf_counter
from typing import Any

from rich.table import Table

from benchmarks import harness, turn
from benchmarks.conversation import Order, judged, play
from benchmarks.script import Script
from muniment.memory import bootstrap
from muniment.memory.config.settings import Settings, load_settings
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import Turn
from muniment.memory.rules.retrieval.render import count_tokens
from muniment.testing.fakes import FixedClock

NOON = datetime(2026, 5, 4, 12, tzinfo=UTC)
WAYS: dict[str, Order] = {"a request a turn": "prompt", "a request a run of turns": "session"}
LIMIT = 0.25  # of the tokens of a request a turn


async def measure(turns: int) -> dict[str, Any]:
    """Both ways, each on a database that is thrown away, and a session by the rules."""
    base, script, found = load_settings(), Script.load(), dict[str, Any](ways={})
    with harness.bar("building", len(WAYS) + 1) as tick:
        for name, order in WAYS.items():
            async with harness.throwaway(base) as own:
                found["machine"] = await harness.machine(await bootstrap.ensure_database(own))
                found["ways"][name] = await count(script, own, order)
            tick(1)
        async with harness.throwaway(base) as own:
            found["session"] = await build_by_rules(own, turns)
        tick(1)
    each, runs = found["ways"].values()
    found["share"] = round(runs["tokens"] / each["tokens"], 4)
    found["good"] = found["share"] <= LIMIT and runs["facts"] >= each["facts"] and runs["standing"] >= each["standing"]
    return found | {"embedder": base.embedder}


async def count(script: Script, own: Settings, order: Order) -> dict[str, Any]:
    """Requests, tokens and facts of the conversation one way."""
    played = await play(script, own, "model", jobs=order)
    run = judged(script, played)
    tokens = sum(count_tokens(str(one["content"])) for messages in played.prompts for one in messages)
    facts = run["totals"]["fact"][0]
    return {
        "requests": len(played.prompts), "tokens": tokens, "facts": facts, "standing": run["standing"][0],
        "tokens_a_fact": round(tokens / facts, 1), "duplicates": len(run["duplicates"]),
        "injections_active": run["injections_active"], "secrets_sent": run["secrets_sent"],
    }  # fmt: skip


async def build_by_rules(own: Settings, turns: int) -> dict[str, Any]:
    """How long a session of so many turns takes to be built by the rules."""
    clock, who = FixedClock(NOON), Scope(owner="nina", session="long", thread="long")
    async with bootstrap.create_memory(own, clock=clock) as memory:
        said = [
            Turn.make(
                session="long",
                thread="long",
                key=str(n),
                role="user" if n % 2 == 0 else "assistant",
                text=turn.say(n) if n % 2 == 0 else "I see.",
                at=NOON + timedelta(minutes=n),
            )
            for n in range(turns)
        ]
        for one in said:
            await memory.conversation.record(who, [one])
        clock.advance(60.0 * turns)
        began = perf_counter()
        await memory.sessions.build(who, "long")
        seconds = perf_counter() - began
        reader = memory.engine.settings.make_owner_reader(who)
        observed = await memory.engine.layer_stores.observations.list_of_session(reader, "long", 10_000)
    return {"turns": turns, "ms": round(1_000 * seconds, 1), "observations": len(observed)}


def tables(found: dict[str, Any]) -> Iterator[Table]:
    """The report for people."""
    names = {
        "requests": "requests", "tokens": "input tokens", "facts": "facts kept, of 40",
        "standing": "facts that stand at the end", "tokens_a_fact": "input tokens a fact", "duplicates": "duplicates",
        "injections_active": "injections active", "secrets_sent": "secrets sent to the model",
    }  # fmt: skip
    rows: list[list[object]] = [[name, *(run[key] for run in found["ways"].values())] for key, name in names.items()]
    yield harness.grid(f"The conversation of 60 turns ({found['embedder']})", ["", *found["ways"]], rows)
    session = found["session"]
    yield harness.grid(
        "A session by the rules alone",
        ["turns", "ms", "observations"],
        [[session["turns"], session["ms"], session["observations"]]],
    )


def main(argv: Sequence[str] | None = None) -> int:
    """The command; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.building", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--turns", type=int, default=100, help="turns of the session that the rules build")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    args = parser.parse_args(argv)
    return harness.run(measure(args.turns), tables, as_json=args.json)


if __name__ == "__main__":
    sys.exit(main())
