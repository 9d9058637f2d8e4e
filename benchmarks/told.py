"""What memory keeps of what one person tells in LoCoMo conversations, without a model.

python -m benchmarks.told FILE [--json] [--limit N]

Each speaker of a conversation is once the user, whose turns are learned one after the other, while the other one is the
assistant. Measured is whether a memory cites the turns that answer the questions, and whether a question finds it."""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

from rich.table import Table

from benchmarks import harness, recall
from muniment.faces import locomo
from muniment.memory import bootstrap
from muniment.memory.client import Memory
from muniment.memory.config import settings
from muniment.memory.domain.ids import TurnId
from muniment.memory.domain.query import Query
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import Turn
from muniment.memory.errors import BadInput
from muniment.testing.fakes import FixedClock

_PAUSE = 20.0  # seconds between two turns of a session


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What became of what one speaker said: counts, and the recall of each question at `recall.DEPTHS`."""

    turns: int
    memories: int
    evidence: int
    kept: int
    recalls: tuple[tuple[float, ...], ...]


async def tell(memory: Memory, clock: FixedClock, talk: locomo.Conversation, speaker: str) -> dict[TurnId, str]:
    """Say a conversation with this speaker as the user; the ids of that speaker's turns."""
    scope = Scope(owner=f"{talk.sample_id}/{speaker}", session=talk.sample_id, thread=talk.sample_id)
    ids: dict[TurnId, str] = {}
    at = clock.now()
    before: list[Turn] = []
    for candidate in talk.candidates:
        said_at = candidate.event_time or at
        clock.advance(max(_PAUSE, (said_at - clock.now()).total_seconds()))
        dia = next(tag.removeprefix("dia:") for tag in candidate.tags if tag.startswith("dia:"))
        is_user = candidate.actor == speaker
        turn = Turn.make(
            session=talk.sample_id,
            key=dia,
            role="user" if is_user else "assistant",
            text=candidate.text,
            at=clock.now(),
            thread=talk.sample_id,
        )
        if is_user:
            ids[turn.id] = dia
            await memory.learn(scope, turn, previous=before)
        before = [*before[-1:], turn]
        await memory.conversation.record(scope, [turn])
    return ids


async def measure_speaker(
    own: settings.Settings, talk: locomo.Conversation, raw: dict[str, Any], speaker: str, limit: int | None
) -> Told:
    """Tell a conversation as one speaker, and ask what that speaker's turns answer."""
    start = min(each.event_time for each in talk.candidates if each.event_time)
    clock = FixedClock(start)
    async with bootstrap.create_memory(own, clock=clock) as memory:
        ids = await tell(memory, clock, talk, speaker)
        scope = Scope(owner=f"{talk.sample_id}/{speaker}")
        rows = [row for row in await memory.export(scope) if row["type"] == "memory" and row["state"] == "active"]
        cited = {ids[turn] for row in rows for turn in map(TurnId, map(UUID, row["turns"])) if turn in ids}
        asked = recall.questions(raw, frozenset(ids.values()), recall.Evidence(), limit)
        recalls = []
        for question in asked:
            query = Query(text=question.text, top_k=max(recall.DEPTHS), threshold=0.0, budget_tokens=recall.UNLIMITED)
            hits = (await memory.query(scope, recall.AGENT, query)).hits
            found = [{ids[turn] for turn in hit.memory.turns if turn in ids} for hit in hits]
            recalls.append(
                tuple(
                    len(question.evidence & set[str]().union(*found[:depth])) / len(question.evidence)
                    for depth in recall.DEPTHS
                )
            )
    evidence = set[str]().union(*(question.evidence for question in asked))
    return Told(
        turns=len(ids),
        memories=len(rows),
        evidence=len(evidence),
        kept=len(evidence & cited),
        recalls=tuple(recalls),
    )


async def measure(file: Path, limit: int | None) -> dict[str, Any]:
    """Tell every conversation of the file twice, once as each speaker. Raises BadInput when nothing can be asked."""
    content = json.loads(await asyncio.to_thread(file.read_text, encoding="utf-8"))
    raws = content if isinstance(content, list) else [content]
    talks = locomo.parse_conversations(content)
    told: list[Told] = []
    async with harness.throwaway(settings.load_settings()) as own:
        machine = await harness.machine(await bootstrap.ensure_database(own))
        with harness.bar("telling", 2 * len(talks)) as tick:
            for raw, talk in zip(raws, talks, strict=True):
                for speaker in sorted({each.actor for each in talk.candidates if each.actor}):
                    told.append(await measure_speaker(own, talk, raw, speaker, limit))
                    tick(1)
    asked = [one for each in told for one in each.recalls]
    if not asked:
        raise BadInput(f"{file.name}: no question of categories 1-4 has evidence in its conversation")
    turns = sum(each.turns for each in told)
    return {
        "file": file.name,
        "users": len(told),
        "turns": turns,
        "questions": len(asked),
        "kept": round(sum(each.kept for each in told) / sum(each.evidence for each in told), 4),
        "memories_per_turn": round(sum(each.memories for each in told) / turns, 4),
        **{
            f"recall@{depth}": round(sum(one[n] for one in asked) / len(asked), 4)
            for n, depth in enumerate(recall.DEPTHS)
        },
        "machine": machine,
    }


def tables(found: dict[str, Any]) -> Iterator[Table]:
    """The report for people."""
    names = ["kept", "memories_per_turn", *(f"recall@{depth}" for depth in recall.DEPTHS)]
    yield harness.grid(
        f"{found['file']}: {found['users']} users, {found['turns']} turns, {found['questions']} questions",
        ["", *names],
        [["all", *(found[name] for name in names)]],
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit code: 0 measured, 1 failed in one line, 130 interrupted."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.told", description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--limit", type=int, help="at most so many questions of each conversation")
    given = parser.parse_args(arguments)
    return harness.run(measure(given.file, given.limit), tables, as_json=given.json)


if __name__ == "__main__":
    sys.exit(main())
