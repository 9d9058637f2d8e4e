"""Whether a word of one user of the gateway reaches another's results, when many ask at once.

python -m benchmarks.gateway_crosstalk [--users 50] [--seconds 60] [--json]

The gateway runs in this process. Each user tells, flushes and asks in chats of the same names, in two applications;
what is told has the mark of the user and the application. Every mark in an answer has to be its own, and so has every
mark in a row of the database. The exit code is 1 where one is not, and where a request fails."""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from time import monotonic
from typing import Any

import psycopg
from rich.table import Table

from benchmarks import harness
from benchmarks.gateways import Connection, lift_limits, make_key, open_gateway
from benchmarks.soak import make_name
from muniment.memory import bootstrap
from muniment.memory.config import settings

_MARK = re.compile(r"Mark[A-Z]{3}")
APPS = ("default", "mail")
SCOPES = ["current_chat", "resources", "all_user_memory"]


def make_mark(user: int, app: int) -> str:
    """The mark of a user in an application."""
    return "Mark" + chr(65 + user // 26) + chr(65 + user % 26) + chr(65 + app)


async def converse(user: Connection, number: int, until: float, seen: Counter[str]) -> None:
    """One user: tells and asks in both applications until the time is over."""
    count = 0
    while monotonic() < until:
        count += 1
        app = count % len(APPS)
        mark = make_mark(number, app)
        place = {"app_id": APPS[app]}
        chat = f"c{count % 3}"
        message = {
            "sender_id": f"user{number}",
            "role": "user",
            "timestamp": 1_777_896_000_000 + count,
            "content": f"My friend {make_name(number, count)} lives beside {mark}.",
        }
        try:
            await user.post("add", session_id=f"chat:{chat}", messages=[message], **place)
            await user.post("flush", session_id=f"chat:{chat}", **place)
            question = {"conversation_id": chat, "query": "Who lives beside whom?", "scope": SCOPES, "top_k": 20}
            text = json.dumps(await user.post("search", **question, **place))
        except OSError as error:
            seen[f"failed {str(error)[:80]}"] += 1
            continue
        marks = set(_MARK.findall(text))
        seen["asked"] += 3
        seen["own"] += mark in marks
        seen["foreign answers"] += bool(marks - {mark})


async def find_stored(address: str, users: int, seen: Counter[str]) -> None:
    """Count the rows that have a mark which is not that of their space."""
    owners = {
        f"user{user}" if app == 0 else f"user{user}/{APPS[app]}/default": make_mark(user, app)
        for user in range(users)
        for app in range(len(APPS))
    }
    async with await psycopg.AsyncConnection.connect(address) as conn:
        for table in ("memories", "turns"):
            rows = await conn.execute(
                f"select s.owner_id, t.text from muniment.{table} t join muniment.spaces s using (space_id)"
            )
            async for owner, text in rows:
                seen[f"rows of {table}"] += 1
                seen[f"foreign rows of {table}"] += bool(set(_MARK.findall(text)) - {owners.get(owner)})


async def measure(users: int, seconds: float) -> dict[str, Any]:
    """Let the users come, and look into the database afterwards."""
    seen = Counter[str]()
    async with harness.throwaway(lift_limits(settings.load_settings())) as own:
        address = await bootstrap.ensure_database(own)
        async with bootstrap.open_memory(own) as memory, open_gateway(own, memory) as (port, tokens):
            keys = [await make_key(tokens, own, f"user{number}") for number in range(users)]
            until = monotonic() + seconds
            await asyncio.gather(
                *(
                    converse(Connection(port, f"user{number}", key), number, until, seen)
                    for number, key in enumerate(keys)
                )
            )
        await find_stored(address, users, seen)
    return {"users": users, "seconds": seconds, "seen": dict(seen)}


def count_wrong(found: dict[str, Any]) -> int:
    """How many answers and rows have a foreign mark, and requests have failed."""
    return sum(number for name, number in found["seen"].items() if name.startswith(("foreign", "failed")))


def tables(found: dict[str, Any]) -> Iterator[Table]:
    """The report for people."""
    title = f"{found['users']} users, {found['seconds']} s"
    yield harness.grid(title, ("", ""), [*sorted(found["seen"].items()), ("wrong", count_wrong(found))])


def main(argv: Sequence[str] | None = None) -> int:
    """The command; returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.gateway_crosstalk", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("--users", type=int, default=50, metavar="N")
    parser.add_argument("--seconds", type=float, default=60, metavar="S")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    args = parser.parse_args(argv)
    wrong = 0

    async def report() -> dict[str, Any]:
        nonlocal wrong
        found = await measure(args.users, args.seconds)
        wrong = count_wrong(found)
        return found

    return harness.run(report(), tables, as_json=args.json) or int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
