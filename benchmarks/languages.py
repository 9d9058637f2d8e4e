"""Questions in nine languages about what was said in the same language, in other words.

python -m benchmarks.languages [FILE] [--json] [--split dev|held-out|all] [--embedder NAME] [--misses]

Each language has a space of twelve statements in two halves, of which one is held out, and a question for each of
them; eight more questions nothing answers, half of them about a person of the space. Every question is asked as an
agent asks by default. `found` is the share of the questions whose statement is among the first three, `silent` the
share of the others that show nothing."""

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
FILE = Path(__file__).parent / "data" / "languages.json"
TOP = 3
LATIN = ("de", "fr", "es", "pt", "it", "nl")


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A question, the statement that answers it (None: nothing does), and the texts that were shown."""

    language: str
    split: str
    text: str
    gold: str | None
    shown: tuple[str, ...]

    @property
    def is_right(self) -> bool:
        """Whether the answer is among the first, or nothing is shown where nothing answers."""
        return not self.shown if self.gold is None else self.gold in self.shown[:TOP]


async def measure(base: settings.Settings, file: Path, split: str) -> dict[str, Any]:
    """Import the statements of each language and half, ask every question, and count."""
    content = json.loads(await asyncio.to_thread(file.read_text, encoding="utf-8"))
    spaces = [space for space in content["languages"] if split in (space["split"], "all")]
    asked: list[Asked] = []
    async with harness.throwaway(base) as own:
        machine = await harness.machine(await bootstrap.ensure_database(own))
        async with bootstrap.create_memory(own) as memory:
            with harness.bar("asking", sum(12 + len(space["unanswerable"]) for space in spaces)) as tick:
                for space in spaces:
                    rows = [{"text": fact["text"], "category": "activity"} for fact in space["facts"]]
                    await memory.load(make_scope(space), rows)
                    questions = [*space["questions"], *({"text": text} for text in space["unanswerable"])]
                    asked += await harness.together(questions, partial(ask, memory, space), tick)
    names = list(dict.fromkeys(space["language"] for space in spaces))
    return {
        "file": file.name,
        "split": split,
        "embedder": own.embedder,
        **score(asked),
        "by_language": {name: score([one for one in asked if one.language == name]) for name in names},
        "latin": score([one for one in asked if one.language in LATIN]),
        "by_split": {name: score([one for one in asked if one.split == name]) for name in harness.SPLITS},
        "misses": [
            {"language": one.language, "question": one.text, "wanted": one.gold, "shown": one.shown}
            for one in asked
            if not one.is_right
        ],
        "machine": machine,
    }


def make_scope(space: dict[str, Any]) -> Scope:
    """Return the scope of a language and half."""
    return Scope(owner=f"{space['language']} {space['split']}")


async def ask(memory: Memory, space: dict[str, Any], question: dict[str, Any]) -> Asked:
    """Ask as an agent asks that sets nothing."""
    recall = memory.engine.settings.recall
    query = Query(text=question["text"], top_k=recall.top_k, budget_tokens=recall.budget_tokens)
    answer = await memory.query(make_scope(space), AGENT, query)
    texts = {fact["id"]: fact["text"] for fact in space["facts"]}
    return Asked(
        language=space["language"],
        split=space["split"],
        text=question["text"],
        gold=texts[question["gold"]] if "gold" in question else None,
        shown=tuple(hit.memory.text for hit in answer.hits),
    )


def score(asked: Sequence[Asked]) -> dict[str, Any]:
    """Return the shares in [0, 1]; None of no question."""
    found = [one.is_right for one in asked if one.gold is not None]
    silent = [one.is_right for one in asked if one.gold is None]
    return {
        "found": round(sum(found) / len(found), 4) if found else None,
        "silent": round(sum(silent) / len(silent), 4) if silent else None,
        "questions": len(found),
        "unanswerable": len(silent),
    }


def tables(report: dict[str, Any]) -> Iterator[Table]:
    """The report for people, in percent."""
    groups = {**report["by_language"], "latin": report["latin"], report["split"]: report}
    rows = []
    for name, part in groups.items():
        shares = [None if part[key] is None else f"{100 * part[key]:.1f}" for key in ("found", "silent")]
        rows.append([name, *shares, part["questions"], part["unanswerable"]])
    yield harness.grid(
        f"Embedder {report['embedder']}: found among the first {TOP}",
        ["", "found", "silent", "questions", "unanswerable"],
        rows,
    )


def main(argv: Sequence[str] | None = None) -> int:
    """The command; returns the exit code."""
    return harness.run_halves("languages", __doc__, FILE, measure, tables, argv)


if __name__ == "__main__":
    sys.exit(main())
