"""Evidence recall on LoCoMo conversations: how many of the turns that answer a question are among the first found.

python -m benchmarks.recall FILE [--json] [--limit N]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import sys
from collections import defaultdict
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import pstdev
from time import perf_counter
from typing import Any

from rich.table import Table

from benchmarks import harness
from muniment.faces import locomo
from muniment.memory import bootstrap
from muniment.memory.client import Memory
from muniment.memory.config import settings
from muniment.memory.domain.ids import Vector
from muniment.memory.domain.memory import StoredMemory
from muniment.memory.domain.query import Query
from muniment.memory.domain.scope import Scope
from muniment.memory.errors import BadInput
from muniment.memory.ports.embedders import Embedder

AGENT = "supervisor"
DEPTHS = (5, 10)
# The numbers of the data set; 5 is adversarial and has nothing to find.
CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop"}
UNLIMITED = 10**9  # tokens: recall is about finding, not about packing

_ID = re.compile(r"D(\d+):(\d+)")
_STRAY_COLON = re.compile(r"\bD:(?=\d)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question and the turns (`D1:3`) that hold its answer; never empty."""

    text: str
    category: int
    evidence: frozenset[str]


@dataclass(slots=True)
class Evidence:
    """What became of the evidence strings of a file, counted."""

    strings: int = 0
    repaired: int = 0
    dropped: int = 0
    questions_dropped: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """One question's recall at each of `DEPTHS`, in [0, 1]."""

    conversation: str
    category: int
    recall: tuple[float, ...]
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Talk:
    """A conversation that is imported into a space of its own, with those who speak in it (lower case) and its
    questions."""

    name: str
    scope: Scope
    speakers: frozenset[str]
    questions: tuple[Question, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """An open memory with every conversation of a file in it."""

    memory: Memory
    talks: tuple[Talk, ...]
    evidence: Evidence
    about: dict[str, Any]  # what every report tells of the file and the machine


class Once:
    """An embedder that reads a question once, however often it is asked."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._known: dict[str, Vector] = {}

    @property
    def name(self) -> str:
        return self._embedder.name

    async def embed_documents(self, texts: Sequence[str]) -> list[Vector]:
        return await self._embedder.embed_documents(texts)

    async def embed_query(self, text: str) -> Vector:
        if text not in self._known:
            self._known[text] = await self._embedder.embed_query(text)
        return self._known[text]

    async def close(self) -> None:
        await self._embedder.close()


def asking(own: settings.Settings) -> Memory:
    """An engine that reads each question once."""
    return bootstrap.create_memory(own, embedder=Once(bootstrap.make_embedder(own)))


def parse(raw: str) -> tuple[list[str], bool]:
    """The ids in an evidence string, and whether it had to be repaired; what is not certain gives no id.

    `D8:6; D9:17` holds two; in `D:11:26` a colon has strayed; `D30:05` is `D30:5`."""
    ids = [f"D{int(session)}:{int(turn)}" for session, turn in _ID.findall(_STRAY_COLON.sub("D", raw))]
    return ids, ids != [raw.strip()]


def questions(
    raw: dict[str, Any], known: frozenset[str], counted: Evidence, limit: int | None = None
) -> list[Question]:
    """The questions of categories 1-4 whose evidence is among the known turns; the rest is counted."""
    found = []
    asked = [one for one in raw.get("qa", []) if one.get("category") in CATEGORIES][:limit]
    for one in asked:
        evidence: set[str] = set()
        for text in one.get("evidence", []):
            ids, repaired = parse(text)
            there = [turn for turn in ids if turn in known]
            counted.strings += 1
            counted.repaired += bool(there) and repaired
            counted.dropped += len(ids) - len(there) if ids else 1
            evidence.update(there)
        if evidence:
            found.append(Question(text=one["question"], category=one["category"], evidence=frozenset(evidence)))
        else:
            counted.questions_dropped += 1
    return found


async def ask(memory: Memory, scope: Scope, name: str, question: Question) -> Score:
    """Ask as an agent would, without a threshold, and see which evidence is among the first."""
    started = perf_counter()
    asked = Query(text=question.text, top_k=max(DEPTHS), threshold=0.0, budget_tokens=UNLIMITED)
    answer = await memory.query(scope, AGENT, asked)
    seconds = perf_counter() - started
    turns = [turn_of(hit.memory) for hit in answer.hits]
    shares = tuple(len(question.evidence & set(turns[:depth])) / len(question.evidence) for depth in DEPTHS)
    return Score(conversation=name, category=question.category, recall=shares, seconds=seconds)


def turn_of(memory: StoredMemory) -> str:
    """The data set's id of the turn that a memory was imported from."""
    return turn_of_tags(memory.tags)


@asynccontextmanager
async def imported(file: Path, limit: int | None = None) -> AsyncIterator[World]:
    """Every conversation of the file in a throw-away database, with at most `limit` questions of each.

    Raises BadInput when there is no question to ask."""
    content = json.loads(await asyncio.to_thread(file.read_text, encoding="utf-8"))
    raws = content if isinstance(content, list) else [content]
    talks, evidence, memories = [], Evidence(), 0
    conversations = locomo.parse_conversations(content)
    async with harness.throwaway(settings.load_settings()) as own:
        machine = await harness.machine(await bootstrap.ensure_database(own))
        async with asking(own) as memory:
            for raw, talk in zip(raws, conversations, strict=True):
                scope = Scope(owner=talk.sample_id)
                known = frozenset(turn_of_tags(one.tags) for one in talk.candidates)
                with harness.bar(f"{talk.sample_id}: importing", len(talk.candidates)) as tick:
                    memories += await memory.ingest(scope, talk.candidates, tick)
                talks.append(
                    Talk(
                        name=talk.sample_id,
                        scope=scope,
                        speakers=frozenset(one.actor.lower() for one in talk.candidates if one.actor),
                        questions=tuple(questions(raw, known, evidence, limit)),
                    )
                )
            if not any(talk.questions for talk in talks):
                raise BadInput(f"{file.name}: no question of categories 1-4 has evidence in its conversation")
            about = {
                "file": file.name,
                "memories": memories,
                "embedder": memory.engine.embedder.name,
                "machine": machine,
            }
            yield World(memory=memory, talks=tuple(talks), evidence=evidence, about=about)


async def measure(file: Path, limit: int | None) -> dict[str, Any]:
    """Ask the questions of every conversation of the file: at most `limit` of each."""
    async with imported(file, limit) as world:
        scores = []
        for talk in world.talks:
            with harness.bar(f"{talk.name}: asking", len(talk.questions)) as tick:
                for question in talk.questions:
                    scores.append(await ask(world.memory, talk.scope, talk.name, question))
                    tick(1)
        return report(scores, world.evidence) | world.about


def report(scores: Sequence[Score], counted: Evidence) -> dict[str, Any]:
    """The figures: shares in [0, 1], each question counting the same."""
    by_category: dict[str, list[Score]] = defaultdict(list)
    by_conversation: dict[str, list[Score]] = defaultdict(list)
    for score in scores:
        by_category[CATEGORIES[score.category]].append(score)
        by_conversation[score.conversation].append(score)
    seconds = sorted(score.seconds for score in scores)
    deepest = [score.recall[-1] for score in scores]
    return _figures(scores) | {
        f"standard_error@{DEPTHS[-1]}": round(pstdev(deepest) / len(deepest) ** 0.5, 4),
        "by_category": {name: _figures(by_category[name]) for name in CATEGORIES.values() if name in by_category},
        "by_conversation": {name: _figures(some) for name, some in by_conversation.items()},
        "dropped": counted.dropped,
        "repaired": counted.repaired,
        "evidence": counted.strings,
        "questions_dropped": counted.questions_dropped,
        "query_p50_ms": round(seconds[len(seconds) // 2] * 1000, 2),
    }


def tables(found: dict[str, Any]) -> Iterator[Table]:
    """The report for people."""
    for kind in ("category", "conversation"):
        rows = [[name, *_cells(part)] for name, part in found[f"by_{kind}"].items()]
        yield harness.grid(
            f"Evidence recall by {kind}, percent", ["", *_names(), "questions"], [*rows, ["all", *_cells(found)]]
        )
    yield harness.grid(
        "The data",
        ["", ""],
        [
            [f"standard error of recall@{DEPTHS[-1]}, points", round(100 * found[f"standard_error@{DEPTHS[-1]}"], 1)],
            ["memories", found["memories"]],
            ["embedder", found["embedder"]],
            ["evidence strings", found["evidence"]],
            ["… repaired", found["repaired"]],
            ["… dropped", found["dropped"]],
            ["questions left out (no evidence)", found["questions_dropped"]],
            ["query p50, ms", found["query_p50_ms"]],
        ],
    )


def main(argv: Sequence[str] | None = None) -> int:
    """The command; returns the exit code."""
    parser = command("recall", __doc__)
    args = parser.parse_args(argv)
    return harness.run(measure(args.file, args.limit), tables, as_json=args.json)


def command(name: str, doc: str | None) -> argparse.ArgumentParser:
    """The arguments of a benchmark that reads a LoCoMo file."""
    parser = argparse.ArgumentParser(prog=f"python -m benchmarks.{name}", description=(doc or "").splitlines()[0])
    parser.add_argument("file", type=Path, metavar="FILE", help="a LoCoMo file: one conversation or a list")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--limit", type=many, metavar="N", help="at most N questions of each conversation")
    return parser


def many(text: str) -> int:
    """A whole number of 1 or more."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("a whole number of 1 or more wanted")
    return number


def turn_of_tags(tags: Sequence[str]) -> str:
    """The data set's id of a memory, which the import keeps as a tag."""
    return next((tag.removeprefix("dia:") for tag in tags if tag.startswith("dia:")), "")


def _figures(scores: Sequence[Score]) -> dict[str, Any]:
    means = {
        f"recall@{depth}": round(sum(score.recall[i] for score in scores) / len(scores), 4)
        for i, depth in enumerate(DEPTHS)
    }
    return means | {"questions": len(scores)}


def _names() -> list[str]:
    return [f"recall@{depth}" for depth in DEPTHS]


def _cells(part: dict[str, Any]) -> list[str]:
    return [f"{100 * part[name]:.1f}" for name in _names()] + [str(part["questions"])]


if __name__ == "__main__":
    sys.exit(main())
