"""What memory keeps of ordinary messages, without a model: what people say of themselves, and what they do not.

python -m benchmarks.said FILE [--json] [--misses]

Each message of the file is learned in a space of its own, each correction's messages one after the other in one. The
layout: `messages` with `id`, `lang`, `text`, `facts` (each with groups of `words`, of which one form each must stand in
one active memory), `not` (words that may stand in none) and `may` (a memory is no mistake); `corrections` with `said`,
`holds` and `gone`, two patterns."""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from rich.table import Table

from benchmarks import harness
from muniment.memory import bootstrap
from muniment.memory.client import Memory
from muniment.memory.config import settings
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import Turn
from muniment.memory.errors import BadInput
from muniment.testing.fakes import FixedClock

SAID_AT = datetime(2026, 11, 23, 10, 0, tzinfo=UTC)
COVERED = 0.6  # of a fact's groups of words; then the fact counts as kept


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """A message, the word groups of each fact in it, and the words that no memory of it may have."""

    id: str
    lang: str
    kind: str
    text: str
    facts: tuple[tuple[tuple[str, ...], ...], ...]
    forbidden: tuple[str, ...]
    may: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Correction:
    """Messages of one conversation, and what must stand and must not stand at its end; None forbids nothing."""

    id: str
    lang: str
    said: tuple[str, ...]
    holds: str
    gone: str | None


@dataclass(slots=True)
class Tally:
    """Counts of one language."""

    facts: int = 0
    kept: int = 0
    memories: int = 0
    clean: int = 0
    empty: int = 0  # messages without a fact
    silent: int = 0
    corrections: int = 0
    corrected: int = 0
    stale: int = 0
    misses: list[dict[str, Any]] = field(default_factory=list)


def read(file: Path) -> tuple[list[Message], list[Correction]]:
    """The messages and the corrections of a file. Raises BadInput for another layout."""
    content = json.loads(file.read_text(encoding="utf-8"))
    try:
        messages = [
            Message(
                id=raw["id"],
                lang=raw["lang"],
                kind=raw["kind"],
                text=raw["text"],
                facts=tuple(tuple(tuple(group) for group in fact["words"]) for fact in raw.get("facts", ())),
                forbidden=tuple(raw.get("not") or ()),
                may=bool(raw.get("may")),
            )
            for raw in content["messages"]
        ]
        corrections = [
            Correction(
                id=raw["id"],
                lang=raw["lang"],
                said=tuple(raw["said"]),
                holds=raw["holds"] or "",
                gone=raw["gone"] or None,
            )
            for raw in content["corrections"]
        ]
    except (KeyError, TypeError) as error:
        raise BadInput(f"{file.name}: not the layout of messages and corrections ({error})") from None
    return messages, corrections


async def learn(memory: Memory, clock: FixedClock, owner: str, texts: Sequence[str]) -> list[str]:
    """Learn texts one after the other in a new space, an hour apart; the texts of its active memories."""
    scope = Scope(owner=owner, session=owner, thread=owner)
    turns: list[Turn] = []
    for n, text in enumerate(texts):
        clock.advance(timedelta(hours=1).total_seconds())
        turn = Turn.make(session=owner, key=str(n), role="user", text=text, at=clock.now())
        await memory.learn(scope, turn, previous=turns)
        turns.append(turn)
    rows = await memory.list(scope, limit=100)
    return [row.text for row in rows]


def is_kept(fact: Sequence[Sequence[str]], texts: Sequence[str]) -> bool:
    """Whether one text holds enough of the fact's word groups."""
    counts = (sum(any(form.casefold() in text.casefold() for form in group) for group in fact) for text in texts)
    return max(counts, default=0) >= COVERED * len(fact) if fact else bool(texts)


def judge_message(message: Message, texts: Sequence[str], tally: Tally) -> None:
    """Count what became of a message."""
    kept = [is_kept(fact, texts) for fact in message.facts]
    tally.facts += len(kept)
    tally.kept += sum(kept)
    meant = bool(message.facts) or message.may
    wrong = [
        text for text in texts if not meant or any(word.casefold() in text.casefold() for word in message.forbidden)
    ]
    tally.memories += len(texts)
    tally.clean += len(texts) - len(wrong)
    if not meant:
        tally.empty += 1
        tally.silent += not texts
    if wrong or not all(kept):
        missing = [list(map(list, fact)) for fact, is_there in zip(message.facts, kept, strict=True) if not is_there]
        tally.misses.append(
            {"id": message.id, "text": message.text, "missing": missing, "wrong": wrong, "memories": list(texts)}
        )


def judge_correction(correction: Correction, texts: Sequence[str], tally: Tally) -> None:
    """Count what became of a correction."""
    holds = any(re.search(correction.holds, text, re.IGNORECASE) for text in texts) or not correction.holds
    gone = correction.gone and any(re.search(correction.gone, text, re.IGNORECASE) for text in texts)
    tally.corrections += 1
    tally.corrected += holds and not gone
    tally.stale += bool(gone and (not holds or not correction.holds))
    if gone or not holds:
        tally.misses.append({"id": correction.id, "text": list(correction.said), "memories": list(texts)})


async def measure(file: Path, *, misses: bool) -> dict[str, Any]:
    """Learn every message and correction, and count."""
    messages, corrections = await asyncio.to_thread(read, file)
    tallies = {"en": Tally(), "zh": Tally()}
    clock = FixedClock(SAID_AT)
    async with harness.throwaway(settings.load_settings()) as own:
        machine = await harness.machine(await bootstrap.ensure_database(own))
        async with bootstrap.create_memory(own, clock=clock) as memory:
            with harness.bar("learning", len(messages) + len(corrections)) as tick:
                for message in messages:
                    texts = await learn(memory, clock, message.id, [message.text])
                    judge_message(message, texts, tallies[message.lang])
                    tick(1)
                for correction in corrections:
                    texts = await learn(memory, clock, f"correction {correction.id}", correction.said)
                    judge_correction(correction, texts, tallies[correction.lang])
                    tick(1)
    found: dict[str, Any] = {"file": file.name, "messages": len(messages), "corrections": len(corrections)}
    found |= figures(list(tallies.values())) | {
        f"{name}_zh": share for name, share in figures([tallies["zh"]]).items() if share is not None
    }
    if misses:
        found["misses"] = [miss for tally in tallies.values() for miss in tally.misses]
    return found | {"machine": machine}


def figures(tallies: Sequence[Tally]) -> dict[str, Any]:
    """Shares in [0, 1]; None of nothing."""

    def share(part: str, whole: str) -> float | None:
        total = sum(getattr(tally, whole) for tally in tallies)
        return round(sum(getattr(tally, part) for tally in tallies) / total, 4) if total else None

    return {
        "kept": share("kept", "facts"),
        "clean": share("clean", "memories"),
        "silent": share("silent", "empty"),
        "corrected": share("corrected", "corrections"),
        "stale": share("stale", "corrections"),
        "memories": sum(tally.memories for tally in tallies),
    }


def tables(found: dict[str, Any]) -> Iterator[Table]:
    """The report for people, in percent."""
    names = ("kept", "clean", "silent", "corrected", "stale")
    rows = [
        [title, *(None if found.get(name + end) is None else f"{100 * found[name + end]:.1f}" for name in names)]
        for title, end in (("both languages", ""), ("Chinese", "_zh"))
    ]
    yield harness.grid(f"{found['file']}: {found['messages']} messages, in percent", ["", *names], rows)
    if "misses" in found:
        table = Table("id", "said", "memories", title="missed or wrong", title_justify="left")
        for miss in found["misses"]:
            table.add_row(miss["id"], str(miss["text"]), "\n".join(miss["memories"]))
        yield table


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit code: 0 measured, 1 failed in one line, 130 interrupted."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.said", description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--misses", action="store_true", help="also what was missed and what is wrong")
    given = parser.parse_args(arguments)
    return harness.run(measure(given.file, misses=given.misses), tables, as_json=given.json)


if __name__ == "__main__":
    sys.exit(main())
