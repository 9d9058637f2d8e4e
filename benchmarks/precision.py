"""Whether what is shown is what answers: spaces of one domain each, and questions with every statement that answers.

python -m benchmarks.precision [FILE] [--json] [--split dev|held-out|all] [--misses]

A space is a software team, a household, a patient or a novel's cast, with 50 to 60 statements that are alike in
subject. A second user has statements of the same domain, and some statements were replaced by later ones: neither may
be shown. Every question is asked as an agent asks by default. `precision` and `recall` are means over the questions
that have an answer (nothing shown is a precision of 0), `exact` is the share of them whose answer is shown and nothing
else, and `silent` the share of the other questions that show nothing. The spaces whose names end in `-b` are held
out: nothing is tuned on them."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from rich.table import Table

from benchmarks import harness
from muniment.memory import bootstrap
from muniment.memory.client import Memory
from muniment.memory.config import settings
from muniment.memory.domain.query import Query
from muniment.memory.domain.scope import Scope

AGENT = "supervisor"
FILE = Path(__file__).parent / "data" / "precision.json"
# Categories of the file that have another name here.
CATEGORIES = {"preference": "preferences", "relationship": "relationships", "project": "projects", "goal": "goals"}
WANTED = {"precision": 0.70, "recall": 0.92, "exact": 0.50, "silent": 0.85}


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A question, the texts that answer it, and those that were shown."""

    space: str
    split: str
    kind: str
    text: str
    gold: frozenset[str]
    shown: tuple[str, ...]

    @property
    def precision(self) -> float:
        """Share of what is shown that answers."""
        return len(self.gold & set(self.shown)) / len(self.shown) if self.shown else 0.0

    @property
    def recall(self) -> float:
        """Share of what answers that is shown."""
        return len(self.gold & set(self.shown)) / len(self.gold)

    @property
    def is_exact(self) -> bool:
        """Whether the answer is shown, and nothing else."""
        return self.gold == set(self.shown)


async def measure(base: settings.Settings, file: Path, split: str) -> dict[str, Any]:
    """Load the spaces of a split, ask every question, and count."""
    content = json.loads(await asyncio.to_thread(file.read_text, encoding="utf-8"))
    spaces = [space for space in content["spaces"] if split in (space["split"], "all")]
    async with harness.throwaway(base) as own:
        machine = await harness.machine(await bootstrap.ensure_database(own))
        async with bootstrap.create_memory(own) as memory:
            asked: list[Asked] = []
            with harness.bar("asking", sum(len(space["questions"]) for space in spaces)) as tick:
                for space in spaces:
                    await load_space(memory, space)
                    asked += await harness.together(space["questions"], partial(ask, memory, space), tick)
    return {
        "file": file.name,
        "split": split,
        "embedder": own.embedder,
        **score(asked),
        "by_split": {name: score([one for one in asked if one.split == name]) for name in harness.SPLITS},
        "by_space": {space["id"]: score([one for one in asked if one.space == space["id"]]) for space in spaces},
        "by_kind": {
            kind: score([one for one in asked if one.kind == kind]) for kind in sorted({one.kind for one in asked})
        },
        "misses": [describe(one) for one in asked if not one.is_exact],
        "machine": machine,
    }


async def load_space(memory: Memory, space: dict[str, Any]) -> None:
    """Import the statements of both users, and retire those that a later one replaced."""
    for owner in ("first", "second"):
        statements = [one for one in space["statements"] if one.get("owner", "first") == owner]
        scope = Scope(owner=f"{space['id']} {owner}")
        await memory.load(scope, [make_row(one) for one in statements])
        replaced = {one["text"] for one in statements if "superseded_by" in one}
        for one in await memory.list(scope, limit=1_000):
            if one.text in replaced:
                await memory.forget(scope, one.id)


def make_row(statement: dict[str, Any]) -> dict[str, Any]:
    """Return a statement as a row of an import."""
    category = CATEGORIES.get(statement["category"], statement["category"])
    return {"text": statement["text"], "category": category, "aliases": statement.get("aliases", [])}


async def ask(memory: Memory, space: dict[str, Any], question: dict[str, Any]) -> Asked:
    """Ask as an agent asks that sets nothing."""
    recall = memory.engine.settings.recall
    query = Query(text=question["text"], top_k=recall.top_k, budget_tokens=recall.budget_tokens)
    answer = await memory.query(Scope(owner=f"{space['id']} first"), AGENT, query)
    texts = {one["id"]: one["text"] for one in space["statements"]}
    return Asked(
        space=space["id"],
        split=space["split"],
        kind=question["kind"],
        text=question["text"],
        gold=frozenset(texts[id_] for id_ in question["gold"]),
        shown=tuple(hit.memory.text for hit in answer.hits),
    )


def score(asked: Sequence[Asked]) -> dict[str, Any]:
    """Return the shares in [0, 1]; None of no question."""
    answered = [one for one in asked if one.gold]
    empty = [one for one in asked if not one.gold]

    def mean(values: Sequence[float]) -> float | None:
        return round(sum(values) / len(values), 4) if values else None

    return {
        "precision": mean([one.precision for one in answered]),
        "recall": mean([one.recall for one in answered]),
        "exact": mean([one.is_exact for one in answered]),
        "silent": mean([not one.shown for one in empty]),
        "questions": len(answered),
        "empty": len(empty),
        "shown": mean([len(one.shown) for one in answered]),
    }


def describe(one: Asked) -> dict[str, Any]:
    """Return what was asked, what is missing and what is too much."""
    return {
        "space": one.space,
        "kind": one.kind,
        "question": one.text,
        "missing": sorted(one.gold - set(one.shown)),
        "right": sorted(one.gold & set(one.shown)),
        "wrong": [text for text in one.shown if text not in one.gold],
    }


def tables(found: dict[str, Any]) -> Iterator[Table]:
    """The report for people, in percent."""
    header = ["", "precision", "recall", "exact", "silent", "questions", "empty", "shown"]
    groups = {**found["by_space"], **found["by_kind"], found["split"]: found}
    wanted = ", ".join(f"{name} {100 * share:.0f} %" for name, share in WANTED.items())
    yield harness.grid(
        f"Embedder {found['embedder']}; wanted of the held-out half, at least: {wanted}",
        header,
        [[name, *_cells(part)] for name, part in groups.items()],
    )


def _cells(part: dict[str, Any]) -> list[object]:
    shares = [None if part[name] is None else f"{100 * part[name]:.1f}" for name in WANTED]
    return [*shares, part["questions"], part["empty"], part["shown"]]


def main(argv: Sequence[str] | None = None) -> int:
    """The command; returns the exit code."""
    return harness.run_halves("precision", __doc__, FILE, measure, tables, argv)


if __name__ == "__main__":
    sys.exit(main())
