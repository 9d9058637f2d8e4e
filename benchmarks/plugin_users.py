"""What the plugin spares people: 40 simulated users over 5 sessions each, with it and without.

python -m benchmarks.plugin_users [FILE] [--half known|held_out] [--users N] [--words] [--hybrid] [--by-hand] [--json]

Each session is a new process as far as memory goes: the plugin is opened anew over the user's file. Instructions said
again and tasks continued are counted by `benchmarks.simulated_users`. A backend call is any call of the store, of a
hybrid one any request to the server. A false recall is an item in the user placement of a turn that depends on nothing:
nobody has to use it, though it may be on the subject. Turns with one are told twice: with any item, and with one that
is no standing instruction (a preference or a rule, which holds in every turn whether or not its answer shows it).
Nothing was tuned on the half `held_out`."""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from rich.table import Table

from benchmarks import harness
from benchmarks.counted_store import CountedStore
from benchmarks.simulated_users import Person, Session, Watch, count_pair
from benchmarks.user_stores import Stores, open_stores
from muniment.chain import FaultReport, Host, Middleware, TurnContext, join_additions
from muniment.memory.config.settings import Settings, load_settings
from muniment.memory.rules.retrieval.render import count_tokens
from muniment.plugin.domain.item import ItemOwner, ListQuery, MemoryItem
from muniment.plugin.opening import open_plugin
from muniment.plugin.ports import MemoryStore
from muniment.plugin.stores.hybrid.store import HybridStore

FILE = Path(__file__).parent / "data" / "plugin_users.json"
HALVES = ("known", "held_out")
KEEP_SECONDS = 60.0  # nothing is late: what is measured is what is found
_ITEM = re.compile(r"^\W*\[(?P<type>\w+) [^\]]+\] ", re.MULTILINE)
_STANDING = frozenset({"preference", "rule"})


class Tally:
    """What the turns of one half cost."""

    def __init__(self) -> None:
        self.turns = 0
        self.quiet = 0  # turns without any call of the store
        self.tokens: list[int] = []
        self.free = 0  # turns that depend on nothing
        self.false_turns = 0
        self.loose_turns = 0  # with an item that is no standing instruction
        self.false_items = 0
        self.milliseconds: list[float] = []
        self.faults: list[str] = []
        self.remote_reads = 0
        self.remote_writes = 0

    def add_turn(self, prepared: TurnContext, *, depends: bool, calls: int) -> None:
        """Count a turn with what was added to it."""
        self.turns += 1
        self.quiet += calls == 0
        texts = [join_additions(prepared.additions, "system"), join_additions(prepared.additions, "user")]
        self.tokens.append(sum(count_tokens(text) for text in texts if text))
        if not depends:
            types = _ITEM.findall(texts[1])
            self.free += 1
            self.false_turns += bool(types)
            self.loose_turns += not _STANDING.issuperset(types)
            self.false_items += len(types)

    def add_fault(self, fault: FaultReport) -> None:
        """Keep what went wrong in a hook."""
        self.faults.append(f"{fault.hook} {fault.kind} {fault.error or ''} {fault.place or ''}".strip())

    def report(self) -> dict[str, Any]:
        """Return shares in [0, 1], tokens a turn and milliseconds before a prompt."""
        sorted_ms = sorted(self.milliseconds) or [0.0]
        return {
            "turns": self.turns,
            "without a call": round(self.quiet / max(self.turns, 1), 3),
            "tokens a turn": round(sum(self.tokens) / max(self.turns, 1), 1),
            "tokens at most": max(self.tokens, default=0),
            "turns with a false recall": round(self.false_turns / max(self.free, 1), 3),
            "turns with one beside standing instructions": round(self.loose_turns / max(self.free, 1), 3),
            "false items a turn": round(self.false_items / max(self.free, 1), 3),
            "ms before a prompt, median": round(sorted_ms[len(sorted_ms) // 2], 1),
            "ms before a prompt, p95": round(sorted_ms[int(len(sorted_ms) * 0.95) - 1], 1),
            "remote reads per 100 turns": round(100 * self.remote_reads / max(self.turns, 1), 1),
            "remote writes per 100 turns": round(100 * self.remote_writes / max(self.turns, 1), 1),
            "faults": len(self.faults),
        }


class _Stopwatch:
    """Times what stands between its two parts in a chain."""

    def __init__(self, milliseconds: list[float]) -> None:
        self._milliseconds, self._begun = milliseconds, 0.0
        self.parts = (_Part(self._start), _Part(self._stop))

    def _start(self) -> None:
        self._begun = time.perf_counter()

    def _stop(self) -> None:
        self._milliseconds.append(1000 * (time.perf_counter() - self._begun))


class _Part:
    def __init__(self, act: Callable[[], None]) -> None:
        self._act = act

    async def before_prompt(self, context: TurnContext) -> TurnContext:
        """Read the clock."""
        self._act()
        return context


async def play_without(person: Person) -> None:
    """Play all sessions without any middleware."""
    for number, _ in enumerate(person.sessions):
        async with Host([]) as host:
            await Session(person, number).play_turns(host)


async def play_with(person: Person, stores: Stores, file: Path, tally: Tally, *, by_hand: bool) -> None:
    """Play all sessions with the plugin, opened anew over the person's file in each.

    `by_hand`: what a session has taught is written at its end, whatever the plugin has kept of it, so that finding is
    measured apart from keeping."""
    for number, _ in enumerate(person.sessions):
        clock = _Clock(person.find_time(number))
        store = stores.open_store(file, clock)
        session = Session(person, number, _watch_calls(store, clock, tally))
        first, last = _Stopwatch(tally.milliseconds).parts
        async with open_plugin(stores.choose_file(file), store=store, embedder=stores.embedder) as plugin:
            chain: list[Middleware] = [first, plugin, last]
            async with Host(chain, before_seconds=KEEP_SECONDS, on_fault=tally.add_fault) as host:
                await session.play_turns(host)
            if by_hand:
                await _write_taught(person, number, store, session.now)
            await _check_kept(person, number, store, session.now)
        await store.close()
        if isinstance(store, HybridStore):
            tally.remote_reads += store.remote_reads
            tally.remote_writes += store.remote_writes


class _Clock:
    """The time of a session, for a store that sends by the clock."""

    def __init__(self, at: datetime) -> None:
        self.at = at

    def __call__(self) -> datetime:
        return self.at


async def _write_taught(person: Person, number: int, store: MemoryStore, at: datetime) -> None:
    identity = person.find_identity(number)
    for key, lesson in person.find_taught(number).items():
        is_of_project = identity.project is not None and lesson.kind != "preference"
        item = MemoryItem(
            id=str(uuid5(NAMESPACE_URL, f"{person.id}/{key}")),
            tenant_id=identity.tenant,
            user_id=identity.user,
            type=lesson.kind,
            content=lesson.words,
            created_at=at,
            scope="project" if is_of_project else "global",
            project_id=identity.project if is_of_project else None,
        )
        await store.upsert([item])


async def _check_kept(person: Person, number: int, store: MemoryStore, at: datetime) -> None:
    """Count what of a session stands in the store at its end."""
    identity = person.find_identity(number)
    owner = ItemOwner(user=identity.user, project=identity.project, session=identity.session)
    items = await store.list(ListQuery(owner=owner, at=at, everywhere=True, limit=1_000))
    contents = "\n".join(f"{item.content} {item.summary or ''}" for item in items).lower()
    for lesson in person.find_taught(number).values():
        person.counts.count_kept(lesson, contents)


def _watch_calls(store: CountedStore | HybridStore, clock: _Clock, tally: Tally) -> Watch:
    """Return what counts the calls since the turn before: of a hybrid those of the server. Those of the opening belong
    to the first turn."""
    seen = [0]

    def watch(context: TurnContext, depends: bool) -> None:
        calls = store.total if isinstance(store, CountedStore) else store.remote_reads + store.remote_writes
        tally.add_turn(context, depends=depends, calls=calls - seen[0])
        seen[0] = calls
        clock.at = context.at

    return watch


async def measure(
    base: Settings, file: Path, halves: Sequence[str], most: int | None, *, by_hand: bool, with_server: bool
) -> dict[str, Any]:
    """Play everybody of the halves, with the plugin and without, and return both reports of each half."""
    raws = json.loads(await asyncio.to_thread(file.read_text, encoding="utf-8"))["users"]
    found: dict[str, Any] = {"embedder": base.embedder if base.plugin.vectors else None, "misses": []}
    async with open_stores(base, with_server=with_server) as stores:
        with tempfile.TemporaryDirectory() as folder:
            for half in halves:
                chosen = [raw for raw in raws if raw["half"] == half][:most]
                tally, people = Tally(), {name: [Person(raw) for raw in chosen] for name in ("without", "with")}
                with harness.bar(half, len(chosen)) as tick:
                    for bare, kept in zip(people["without"], people["with"], strict=True):
                        await play_without(bare)
                        await play_with(kept, stores, Path(folder) / f"{kept.id}.sqlite", tally, by_hand=by_hand)
                        tick(1)
                found[half] = compare_runs(people, tally)
                found["misses"] += [miss for one in people["with"] for miss in one.counts.misses]
                found["misses"] += tally.faults
    return found


def compare_runs(people: Mapping[str, Sequence[Person]], tally: Tally) -> dict[str, Any]:
    """Return what was repeated and continued with the plugin and without, and what the turns cost."""
    totals = {name: sum_counts(group) for name, group in people.items()}
    repeated = totals["without"]["repeated"] or 1
    continued = {name: total["continued"] / (total["tasks"] or 1) for name, total in totals.items()}
    return {
        **totals,
        "repeated down by": round(1 - totals["with"]["repeated"] / repeated, 3),
        "tasks continued, share": {name: round(share, 3) for name, share in continued.items()},
        "cost": tally.report(),
        "languages": {
            language: {
                name: sum_counts([one for one in group if one.language == language]) for name, group in people.items()
            }
            for language in sorted({one.language for one in people["with"]})
        },
    }


def sum_counts(people: Sequence[Person]) -> dict[str, Any]:
    """Return the counts of some people as one."""
    needed: dict[str, list[int]] = {}
    kept: dict[str, list[int]] = {}
    for one in people:
        for counts, pairs in ((needed, one.counts.by_kind), (kept, one.counts.kept)):
            for kind, (all_, some) in sorted(pairs.items()):
                count_pair(counts, kind, all_, some)
    fields = ("turns", "needs", "repeated", "tasks", "continued")
    summed = {name: sum(getattr(one.counts, name) for one in people) for name in fields}
    return {**summed, "needed and said again": needed, "taught and kept": kept}


def tables(found: dict[str, Any]) -> Iterator[Table]:
    """Show each half."""
    for half in HALVES:
        if half not in found:
            continue
        report = found[half]
        table = Table("", "without", "with", title=half)
        for name in ("turns", "needs", "repeated", "tasks", "continued"):
            table.add_row(name, str(report["without"][name]), str(report["with"][name]))
        table.add_row("repeated down by", "", f"{report['repeated down by']:.0%}")
        for name, value in report["cost"].items():
            table.add_row(name, "", str(value))
        yield table


def main(argv: Sequence[str] | None = None) -> int:
    """The command; returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.plugin_users", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("file", nargs="?", type=Path, default=FILE, metavar="FILE", help="default: the file in data/")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--half", choices=HALVES, help="default: both")
    parser.add_argument("--users", type=int, metavar="N", help="only the first N of a half")
    parser.add_argument("--misses", action="store_true", help="with --json: list what was said again")
    parser.add_argument("--hybrid", action="store_true", help="with a server, over a throw-away database")
    parser.add_argument("--by-hand", action="store_true", help="write what was taught: finding apart from keeping")
    parser.add_argument("--words", action="store_true", help="without an embedder")
    args = parser.parse_args(argv)

    async def report() -> dict[str, Any]:
        base = load_settings()
        if args.words:
            base = base.model_copy(update={"plugin": base.plugin.model_copy(update={"vectors": False})})
        found = await measure(
            base,
            args.file,
            [args.half] if args.half else HALVES,
            args.users,
            by_hand=args.by_hand,
            with_server=args.hybrid,
        )
        return found if args.misses else {key: value for key, value in found.items() if key != "misses"}

    return harness.run(report(), tables, as_json=args.json)


if __name__ == "__main__":
    sys.exit(main())
