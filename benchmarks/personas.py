"""Everyday questions after a chat, beside the same questions after the same sentences were asked to be remembered.

python -m benchmarks.personas [FILE] [--json] [--misses]

Each persona of `data/personas.json` has two spaces: in one of them the messages are learned as a chat, one after the
other, in the other each is given to `Memory.remember`. Every question is asked of both as the supervisor asks by
default. A question is found where a hit has one of each group of its key words."""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rich.table import Table

from benchmarks import harness, recall
from muniment.memory import bootstrap
from muniment.memory.client import Memory
from muniment.memory.config import settings
from muniment.memory.domain.query import Query
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import Turn
from muniment.memory.errors import BadInput
from muniment.testing.fakes import FixedClock

DATA = Path(__file__).parent / "data" / "personas.json"
LANGUAGES = {"en": "English", "zh": "Chinese"}
WAYS = ("chat", "remember")
START = datetime(2026, 9, 7, 9, 0, tzinfo=UTC)
_PAUSE = 3 * 3600.0  # seconds between two messages


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A question of a persona, and by way of writing whether a hit answers it."""

    persona: str
    language: str
    question: str
    found: dict[str, bool]


async def write_messages(memory: Memory, clock: FixedClock, persona: dict[str, Any], way: str) -> Scope:
    """Give a persona's messages to memory in one of `WAYS`. Returns the scope of the space."""
    owner = f"{persona['id']}/{way}"
    scope = Scope(owner=owner, session=owner, thread=owner)
    for n, text in enumerate(persona["messages"]):
        clock.advance(_PAUSE)
        if way == "remember":
            await memory.remember(scope, text)
        else:
            turn = Turn.make(session=owner, key=str(n), role="user", text=text, at=clock.now(), thread=owner)
            await memory.learn(scope, turn)
    return scope


async def ask_persona(memory: Memory, clock: FixedClock, persona: dict[str, Any]) -> list[Asked]:
    """Write a persona's messages in both ways, and ask every question of both spaces."""
    scopes = {way: await write_messages(memory, clock, persona, way) for way in WAYS}
    asked = []
    for question in persona["questions"]:
        found = {}
        for way, scope in scopes.items():
            hits = (await memory.query(scope, recall.AGENT, Query(text=question["text"]))).hits
            found[way] = any(_has_keys(hit.memory.text, question["keys"]) for hit in hits)
        asked.append(Asked(persona=persona["id"], language=persona["language"], question=question["text"], found=found))
    return asked


def _has_keys(text: str, keys: Sequence[Sequence[str]]) -> bool:
    folded = text.casefold()
    return all(any(word.casefold() in folded for word in group) for group in keys)


async def measure(file: Path, *, misses: bool) -> dict[str, Any]:
    """Return the share of questions found by language and way, and the ratio. Raises BadInput for another file."""
    content = json.loads(await asyncio.to_thread(file.read_text, encoding="utf-8"))
    if not isinstance(content, dict) or not content.get("personas"):
        raise BadInput(f"{file.name}: an object with `personas` wanted")
    asked: list[Asked] = []
    clock = FixedClock(START)
    async with harness.throwaway(settings.load_settings()) as own:
        machine = await harness.machine(await bootstrap.ensure_database(own))
        async with bootstrap.create_memory(own, clock=clock) as memory:
            with harness.bar("personas", len(content["personas"])) as tick:
                for persona in content["personas"]:
                    asked += await ask_persona(memory, clock, persona)
                    tick(1)
    missed = [each for each in asked if each.found["remember"] and not each.found["chat"]]
    return {
        "file": file.name,
        "rows": [_make_row(asked, language) for language in LANGUAGES],
        **({"misses": [[each.persona, each.question] for each in missed]} if misses else {}),
        "machine": machine,
    }


def _make_row(asked: Sequence[Asked], language: str) -> dict[str, Any]:
    own = [each for each in asked if each.language == language]
    shares = {way: round(sum(each.found[way] for each in own) / len(own), 4) if own else None for way in WAYS}
    ratio = round(shares["chat"] / shares["remember"], 4) if shares["chat"] and shares["remember"] else None
    return {"language": language, "questions": len(own), **shares, "ratio": ratio}


def tables(found: dict[str, Any]) -> Iterator[Table]:
    """The report for people."""
    names = ("questions", *WAYS, "ratio")
    rows = [[LANGUAGES[row["language"]], *(row[name] for name in names)] for row in found["rows"]]
    yield harness.grid(f"{found['file']}: share of the questions that are found", ["", *names], rows)
    if found.get("misses"):
        yield harness.grid("Found after remember alone", ["persona", "question"], found["misses"])


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit code: 0 measured, 1 failed in one line, 130 interrupted."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.personas", description=__doc__)
    parser.add_argument("file", type=Path, nargs="?", default=DATA)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--misses", action="store_true", help="list what is found after remember alone")
    given = parser.parse_args(arguments)
    return harness.run(measure(given.file, misses=given.misses), tables, as_json=given.json)


if __name__ == "__main__":
    sys.exit(main())
