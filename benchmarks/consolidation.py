"""What nights of consolidation make of a space with planted doubles: by the rules alone, and with a model that errs.

    python -m benchmarks.consolidation [--memories 2000] [--errors 0.05] [--json]
                                       [--half tune|held-out|both|fresh|sealed|unseen|strange|last|plain|odd
                                               |usual|daily|further|later|spare|closing]

Half of the memories are of families of statements that the rules may be made better on, half are held out; each half is
a space of its own. `fresh` and `sealed` have as many memories as a half, of families written without sight of the
rules; `unseen` too, above all about people with names nearly alike, written without sight of what the others have shown
either, and so are `strange` and `last`, of which half of the families are about two people, `plain`, `usual`, `daily`,
`further`, `later`, `spare` and `closing`, which are ordinary, and `odd`, which is made to fool. The scripted model,
over real HTTP, knows what was planted, and is wrong about a share of the pairs."""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from random import Random
from time import perf_counter
from typing import Any

from pydantic import SecretStr
from rich.table import Table

from benchmarks import doubles, harness
from muniment.memory import bootstrap
from muniment.memory.client import Memory
from muniment.memory.config import settings
from muniment.memory.config.schema import Price
from muniment.memory.domain.consolidation import Run
from muniment.memory.domain.ids import MemoryId
from muniment.memory.domain.memory import StoredMemory
from muniment.memory.domain.scope import Scope
from muniment.memory.errors import StoreError
from muniment.testing import FixedClock, ScriptedOpenAI, structured

SEED = 20261121
MODES = ("rules", "model")
MODEL = "scripted"
PRICE = Price(input=0.25, output=2.0)  # of a small model, per million tokens
START = datetime(2026, 3, 2, 3, 0, tzinfo=UTC)
LATER, NIGHT = timedelta(hours=12), timedelta(hours=1)  # all of it changed "in the last 72 hours", as after an import
NIGHTS = 60  # at most
LIFTED = 1_000_000  # pairs of a night, in place of a day's cap
EVERYTHING = 1_000_000
LABELS: tuple[doubles.Label, ...] = ("same", "supersedes", "different")


@dataclass
class Oracle:
    """A model that knows what two statements are to each other, but for a share of the pairs."""

    world: doubles.World
    errors: float
    asked: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self._said = {one.text: one for one in self.world.said}

    def __call__(self, body: dict[str, Any]) -> str:
        pairs = json.loads(body["messages"][-1]["content"])["pairs"]
        return structured({"pairs": [{"pair": one["pair"], "verdict": self._verdict(one)} for one in pairs]})

    def _verdict(self, pair: dict[str, Any]) -> str:
        earlier, later = pair["earlier"]["text"], pair["later"]["text"]
        right = self._said[later].beside(self._said[earlier])
        dice = Random(f"{earlier}\n{later}")
        wrong = dice.random() < self.errors
        self.asked["wrong" if wrong else "right"] += 1
        return dice.choice([one for one in LABELS if one != right]) if wrong else right


async def measure(memories: int, halves: Sequence[str], seed: int, errors: float) -> dict[str, Any]:
    """Every half in every mode, each in a database of its own."""
    found: dict[str, dict[str, Any]] = {}
    machine: dict[str, Any] = {}
    base = settings.load_settings()
    with harness.bar("spaces", len(halves) * len(MODES)) as tick:
        for half in halves:
            world = doubles.world(half, memories // len(doubles.BOTH), seed)
            for mode in MODES:
                async with harness.throwaway(base) as own:
                    machine = machine or await harness.machine(await bootstrap.ensure_database(own))
                    found.setdefault(half, {})[mode] = await _mode(own, world, mode, errors)
                tick(1)
    return {"memories": memories, "seed": seed, "errors": errors, "halves": found, "machine": machine}


async def _mode(own: settings.Settings, world: doubles.World, mode: str, errors: float) -> dict[str, Any]:
    oracle = Oracle(world, errors)
    with ScriptedOpenAI(oracle) if mode == "model" else nullcontext() as server:
        prices = own.spend.model_copy(update={"prices": {MODEL: PRICE}})
        asked = {"chat_model": MODEL, "base_url": server.base_url, "api_key": SecretStr("none")} if server else {}
        tuned = own.model_copy(update={"spend": prices, "chat_model": None} | asked)
        clock = FixedClock(START)
        # The embedder's own endpoint, if it has one, is not the scripted server.
        embedder = bootstrap.make_embedder(own)
        async with bootstrap.create_memory(tuned, embedder=embedder, clock=clock) as memory:
            found = await _nights(memory, clock, world)
    return found | {"model_right": oracle.asked["right"], "model_wrong": oracle.asked["wrong"]}


async def _nights(memory: Memory, clock: FixedClock, world: doubles.World) -> dict[str, Any]:
    """Import, consolidate until nothing is left, look, and take it all back."""
    scope = Scope(owner=world.half)
    await memory.ingest(scope, [one.candidate for one in world.earlier])
    clock.advance(LATER.total_seconds())
    await memory.ingest(scope, [one.candidate for one in world.later])
    before = await _content(memory, scope)
    runs: list[Run] = []
    started = perf_counter()
    while len(runs) < NIGHTS and not _rested(runs):
        clock.advance(NIGHT.total_seconds())
        run = await memory.admin.consolidate(scope, limit=LIFTED)
        if run is None or run.status != "done":
            raise StoreError(f"a night of the benchmark has not ended well: {run and run.status}")
        runs.append(run)
    seconds = perf_counter() - started
    after = await memory.list(scope, states=("active", "superseded"), limit=EVERYTHING)
    judged = quality(world, after)
    for run in reversed(runs):
        await memory.admin.undo_consolidation(scope, run.id)
    return judged | {
        "nights": len(runs),
        "duplicates_before": runs[0].duplicates_before,
        "duplicates_after": runs[-1].duplicates_after,
        "pairs": sum(one.checked for one in runs),
        "requests": sum(one.requests for one in runs),
        "tokens": sum(one.input_tokens + one.output_tokens for one in runs),
        "money": round(sum(one.micros for one in runs) / 1e6, 4),
        "seconds": round(seconds, 1),
        "undone_exactly": await _content(memory, scope) == before,
    }


def _rested(runs: Sequence[Run]) -> bool:
    """Whether the last night had nothing to do and has come no further than the one before."""
    return len(runs) > 1 and not runs[-1].seen and runs[-1].surveyed == runs[-2].surveyed


async def _content(memory: Memory, scope: Scope) -> bytes:
    """What `muniment export --content` writes."""
    rows = await memory.export(scope, content=True)
    return "".join(json.dumps(row, ensure_ascii=False, sort_keys=True) + "\n" for row in rows).encode()


def quality(world: doubles.World, after: Sequence[StoredMemory]) -> dict[str, Any]:
    """What became of what was planted: shares of the doubles and of the changes, and every merge that should not have
    been."""
    said = {one.text: one for one in world.said}
    by_id = {one.id: one for one in after}
    last = {said[one.text].text: said[_root(one, by_id).text] for one in after}
    gone = [(said[one.text], last[one.text]) for one in after if one.state == "superseded"]
    wrong = [(one, stays) for one, stays in gone if stays.beside(one) == "different"]
    wrong.sort(key=lambda both: both[0].person == both[1].person)  # the worst first
    rooted = Counter(stays.group for one, stays in gone if one.group == stays.group)
    doubled = [one for one in world.later if one.role == "double"]
    changed = [one for one in world.later if one.role == "change"]
    olds = {one.line: one for one in world.earlier if one.line}
    misses = {one.text for one in world.later if one.role == "miss"}
    return {
        "memories": len(after),
        "doubles": len(doubled),
        "doubles_merged": sum(rooted[one.group] > 0 for one in doubled),
        "by_kind": _by_kind(doubled, rooted),
        "changes": len(changed),
        "changes_superseded": sum(last[olds[one.line].text].line == one.line and last[olds[one.line].text].version > 0
                                  for one in changed if one.line in olds),
        "misses": len(misses),
        "misses_merged": sum(bool({one.text, stays.text} & misses) for one, stays in wrong),
        "wrong": len(wrong),
        "wrong_persons": sum(one.person != stays.person for one, stays in wrong),
        "wrong_pairs": [[one.text, stays.text] for one, stays in wrong[:20]],
    }  # fmt: skip


def _by_kind(doubled: Sequence[doubles.Said], rooted: Counter[str]) -> dict[str, list[int]]:
    """Kind of double -> merged, planted."""
    kinds = sorted({one.how for one in doubled})
    found = {kind: [one for one in doubled if one.how == kind] for kind in kinds}
    return {kind: [sum(rooted[one.group] > 0 for one in some), len(some)] for kind, some in found.items()}


def _root(memory: StoredMemory, by_id: dict[MemoryId, StoredMemory]) -> StoredMemory:
    while memory.superseded_by is not None and memory.superseded_by in by_id:
        memory = by_id[memory.superseded_by]
    return memory


def tables(found: dict[str, Any]) -> Iterator[Table]:
    """The report for people."""
    columns = [
        (
            f"{half}, {mode}",
            f"{one['doubles_merged']}/{one['doubles']}",
            f"{one['changes_superseded']}/{one['changes']}",
            f"{one['misses_merged']}/{one['misses']}",
            one["wrong"],
            one["wrong_persons"],
            f"{one['duplicates_before']} -> {one['duplicates_after']}",
            one["nights"],
            one["pairs"],
            one["requests"],
            one["tokens"],
            one["money"],
            one["seconds"],
            "yes" if one["undone_exactly"] else "NO",
        )
        for half, modes in found["halves"].items()
        for mode, one in modes.items()
    ]
    names = ["", "doubles merged", "changes superseded", "near misses merged", "wrong", "across persons",
             "duplicates", "nights", "pairs", "requests", "tokens", "money", "seconds", "undone"]  # fmt: skip
    header, *rows = zip(names, *columns, strict=True)
    title = f"{found['memories']} memories; the model is wrong about {found['errors']:.0%} of the pairs"
    yield harness.grid(title, header, rows)


def main(argv: Sequence[str] | None = None) -> int:
    """The command; returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.consolidation", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("--memories", type=int, default=2_000, metavar="N", help="of both halves together")
    parser.add_argument(
        "--half", choices=[*doubles.HALVES, "both"], default="both", help="which families of statements"
    )
    parser.add_argument("--errors", type=float, default=0.05, metavar="SHARE", help="of the pairs, wrong by the model")
    parser.add_argument("--seed", type=int, default=SEED, metavar="N", help="another one, another space")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    args = parser.parse_args(argv)
    if args.memories < 40 or not 0 <= args.errors <= 1:
        parser.error("--memories: 40 or more wanted, --errors: 0 to 1")
    halves = doubles.BOTH if args.half == "both" else (args.half,)
    return harness.run(measure(args.memories, halves, args.seed, args.errors), tables, as_json=args.json)


if __name__ == "__main__":
    sys.exit(main())
