"""Whether what is in the database holds together after long use and many kills.

python -m benchmarks.soak [--minutes 30] [--kill-every 20] [--chats 3] [--workers 2] [--seed 20261127] [--json]

In a home of its own run chats of several users, workers, and nights of consolidation, all as programs of their own,
with a scripted model over HTTP of which one request in twenty fails. Every few seconds one of them is killed with
SIGKILL, and each fourth time the database's server is, too. A chat that died begins again and says again what was not
answered. At the end the queue is worked off, and an audit counts what does not hold: the journal, versions, cursors,
relations, jobs, spending, and statements that were answered and are not there once."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import shutil
import signal
import sys
import tempfile
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic
from typing import Any

import psycopg
from rich.table import Table

from benchmarks import harness
from muniment.memory.config import settings
from muniment.memory.stores.postgres.embedded import server
from muniment.testing.openai_server import ScriptedOpenAI, structured

PROGRAM = str(Path(sys.executable).with_name("muniment"))
NIGHT_SECONDS = 60.0
FAIL_SHARE = 0.05
REPLY_SECONDS = 60.0
SYLLABLES = ("ta", "ro", "ve", "li", "ka", "mu", "sen", "dor", "bri", "fa", "zu", "pel")
PLAYS = ("cello", "harp", "oboe", "banjo", "tuba", "lute")
CONFIG = """
jobs: {stalled_seconds: 5}
consolidation: {every_hours: 0.01}
write: {per_day: 1000000}
spend: {daily_tokens: null}
"""

# Each counts what must not be.
AUDIT = {
    "journal": """
        select count(*) from muniment.spaces s left join lateral (
          select count(*) as lines, coalesce(min(rev), 1) as first, coalesce(max(rev), 0) as last
          from muniment.journal j where j.space_id = s.space_id) j on true
        where j.lines <> s.rev or j.first <> 1 or j.last <> s.rev""",
    "memories without a line": """
        select count(*) from muniment.memories m where not exists (
          select from muniment.journal j
          where j.space_id = m.space_id and j.rev = m.rev and j.memory_id = m.memory_id)""",
    "versions": """
        select count(*) from (
          select v.to_rev, coalesce(
            lead(v.from_rev) over (partition by v.space_id, v.memory_id order by v.from_rev), m.rev) as next
          from muniment.memory_versions v join muniment.memories m using (space_id, memory_id)) v
        where v.to_rev <> v.next""",
    "cursors": """
        select count(*) from muniment.thread_revision t join muniment.spaces s using (space_id) where t.rev > s.rev""",
    "relations": """
        select count(*) from muniment.relations r where not exists (
          select from muniment.memories m where m.space_id = r.space_id and m.memory_id = r.from_id) or not exists (
          select from muniment.memories m where m.space_id = r.space_id and m.memory_id = r.to_id)""",
    "jobs": """
        select count(*) from jobs.queue
        where status = 'doing' or coalesce(scheduled_at, now()) <= now() - interval '1 minute'""",
    "runs of consolidation": """
        select count(*) from muniment.consolidation_runs
        where ended_at is null and leased_until < now() - interval '1 day'""",
    # A request of a process that was killed stays charged; what was answered is never more than what was charged.
    "spending": """
        select count(*) from (
          select space_id, day, sum(input_tokens + output_tokens) as used from muniment.spend group by 1, 2) s
        left join muniment.spend_days d using (space_id, day) where d.tokens is null or d.tokens < s.used""",
    "open transactions": """
        select count(*) from pg_stat_activity
        where datname = current_database() and state like 'idle in transaction%'""",
}


@dataclass
class Soak:
    """What runs, and what was seen."""

    environment: dict[str, str]
    home: Path
    dice: random.Random
    until: float = 0.0  # on the clock of `monotonic`; counted from when the database is there
    programs: dict[str, Process] = field(default_factory=dict)
    answered: list[tuple[str, str]] = field(default_factory=list)  # the user, and the name in what was said
    seen: Counter[str] = field(default_factory=Counter)

    async def start_program(self, name: str, *arguments: str, stdin: int = DEVNULL, stdout: int = DEVNULL) -> Process:
        """Start the command line under a name by which it may be killed."""
        started = await asyncio.create_subprocess_exec(
            PROGRAM, *arguments, env=self.environment, stdin=stdin, stdout=stdout, stderr=DEVNULL
        )
        self.programs[name] = started
        return started

    async def hold_chat(self, user: str, number: int) -> None:
        """Say one statement after the other; again what was not answered when the chat died."""
        name, waiting, count = f"chat {number}", "", 0
        while monotonic() < self.until:
            talk = await self.start_program(
                name, "chat", "--json", "--user", user, "--thread", f"t{number}", stdin=PIPE, stdout=PIPE
            )
            assert talk.stdin is not None
            assert talk.stdout is not None
            while monotonic() < self.until:
                friend = waiting or make_name(number, count)
                waiting = friend
                try:
                    said = f"My friend {friend} plays the {PLAYS[count % len(PLAYS)]}.\n"
                    talk.stdin.write(said.encode())
                    await talk.stdin.drain()
                    line = await asyncio.wait_for(talk.stdout.readline(), REPLY_SECONDS)
                except (OSError, TimeoutError):
                    break
                if not line:
                    break
                if "reply" not in json.loads(line):
                    self.seen["refused"] += 1
                    await asyncio.sleep(0.2)
                    continue
                self.answered.append((user, friend))
                waiting, count = "", count + 1
            with suppress(ProcessLookupError):
                talk.kill()
            await talk.wait()

    async def keep_running(self, name: str, *arguments: str, pause: float = 0.5) -> None:
        """Run a command again and again."""
        while monotonic() < self.until:
            started = await self.start_program(name, *arguments)
            waiting = asyncio.create_task(started.wait())
            await asyncio.wait([waiting], timeout=max(0.0, self.until - monotonic()))
            if not waiting.done():
                started.terminate()
                await waiting
            await asyncio.sleep(min(pause, max(0.0, self.until - monotonic())))

    async def kill_programs(self, every: float) -> None:
        """Kill one program after the other, and each fourth time the database's server, too."""
        count = 0
        while (left := self.until - monotonic()) > every:
            await asyncio.sleep(min(every, left))
            alive = [name for name, program in self.programs.items() if program.returncode is None]
            if alive:
                chosen = self.dice.choice(alive)
                with suppress(ProcessLookupError):
                    self.programs[chosen].kill()
                self.seen[f"killed {chosen.split()[0]}"] += 1
            count += 1
            if count % 4 == 0 and (running := await server.find_server(self.home)) is not None:
                with suppress(ProcessLookupError):
                    os.kill(running["pid"], signal.SIGKILL)
                self.seen["killed server"] += 1


async def measure(minutes: float, every: float, chats: int, workers: int, seed: int) -> dict[str, Any]:
    """Run everything, then work off the queue and audit what is there."""
    home = make_home(CONFIG)
    with ScriptedOpenAI(_reply, fail_share=FAIL_SHARE) as model:
        environment = {
            name: value for name, value in os.environ.items() if not name.startswith(("MUNIMENT_", "OPENAI_"))
        }
        environment |= {
            "MUNIMENT_HOME": str(home / "home"), "MUNIMENT_CONFIG": str(home / "soak.yaml"),
            "MUNIMENT_EMBEDDER": settings.HASH_EMBEDDER, "MUNIMENT_MODEL": "scripted", "OPENAI_API_KEY": "none",
            "OPENAI_BASE_URL": model.base_url,
        }  # fmt: skip
        soak = Soak(environment, home / "home", random.Random(seed))
        try:
            await (await soak.start_program("first", "migrate")).wait()
            soak.until = monotonic() + minutes * 60
            users = [f"user{n % 2}" for n in range(chats)]
            await asyncio.gather(
                *(soak.hold_chat(user, n) for n, user in enumerate(users)),
                *(soak.keep_running(f"worker {n}", "work") for n in range(workers)),
                soak.keep_running("night", "consolidate", "--all", pause=NIGHT_SECONDS),
                soak.kill_programs(every),
            )
            await asyncio.sleep(6)  # until the jobs of killed workers count as abandoned
            for _ in range(3):
                await (await soak.start_program("drain", "work", "--drain")).wait()
            return await _audit(soak) | {"minutes": minutes, "seed": seed}
        finally:
            for program in soak.programs.values():
                with suppress(ProcessLookupError):
                    program.kill()
            await server.stop_server(soak.home)
            shutil.rmtree(home, ignore_errors=True)


def make_home(config: str) -> Path:
    """Make a home, with these settings in its `soak.yaml`."""
    home = Path(tempfile.mkdtemp(prefix="muniment-soak-"))
    home.chmod(0o711)  # the account that runs a root session's Postgres has to pass
    (home / "soak.yaml").write_text(config, encoding="utf-8")
    return home


def make_name(number: int, count: int) -> str:
    """Make a name that nobody else has: its syllables are the digits of its number."""
    digits, value = "", (count * 64 + number) * 8 + 1
    while value:
        value, digit = divmod(value, len(SYLLABLES))
        digits += SYLLABLES[digit]
    return digits.capitalize()


def _reply(body: dict[str, Any]) -> str:
    """Answer like a model that finds nothing: what is kept is what the rules keep."""
    asked = json.dumps(body.get("response_format") or body["messages"][0])
    return structured({"facts": []}) if "facts" in asked else "Understood."


async def _audit(soak: Soak) -> dict[str, Any]:
    """Count what does not hold, over the address of the owner."""
    address = await server.ensure_server(soak.home)
    async with await psycopg.AsyncConnection.connect(address, autocommit=True) as conn:
        broken: dict[str, int] = {}
        for name, query in AUDIT.items():
            row = await (await conn.execute(query.encode())).fetchone()
            broken[name] = int(row[0]) if row else 0
        rows = await (
            await conn.execute(
                "select s.owner_id, m.text from muniment.memories m join muniment.spaces s using (space_id) "
                "where m.state = 'active'"
            )
        ).fetchall()
        counts = await (
            await conn.execute(
                "select (select sum(rev) from muniment.spaces), (select count(*) from muniment.turns), "
                "(select count(*) from muniment.consolidation_runs), (select count(*) from jobs.queue), "
                "(select coalesce(sum(requests), 0) from muniment.spend)"
            )
        ).fetchone()
        machine = await harness.machine(address)
    found = Counter((owner, word.strip(".,")) for owner, text in rows for word in set(text.split()))
    broken["lost"] = sum(not found[one] for one in soak.answered)
    broken["doubled"] = sum(found[one] > 1 for one in soak.answered)
    names = ("revisions", "turns", "consolidation_runs", "jobs_left", "requests")
    totals = dict(zip(names, map(int, counts or ()), strict=True))
    return {"broken": broken, "answered": len(soak.answered), "seen": dict(soak.seen), **totals, "machine": machine}


def show(found: dict[str, Any]) -> Iterator[Table]:
    """What was done, and what does not hold."""
    done = {
        name: found[name] for name in ("answered", "turns", "revisions", "requests", "consolidation_runs", "jobs_left")
    }
    yield harness.grid("done", ["what", "count"], list((done | found["seen"]).items()))
    yield harness.grid("audit", ["what does not hold", "count"], list(found["broken"].items()))


def main(argv: Sequence[str] | None = None) -> int:
    """The exit code is 1 where the audit finds anything."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.soak", description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--kill-every", type=float, default=20.0, metavar="SECONDS")
    parser.add_argument("--chats", type=int, default=3)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--seed", type=int, default=20261127)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args(argv)
    broken = 0

    async def report() -> dict[str, Any]:
        nonlocal broken
        found = await measure(args.minutes, args.kill_every, args.chats, args.workers, args.seed)
        broken = sum(found["broken"].values())
        return found

    code = harness.run(report(), show, as_json=args.json)
    return code or int(broken > 0)


if __name__ == "__main__":
    sys.exit(main())
