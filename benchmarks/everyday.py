"""Everyday questions over small memories: what new users have told in their first days, asked for in other words.

python -m benchmarks.everyday [FILE] [--half tune|held-out|later] [--beside FILE] [--together] [--misses] [--json]
[--limit N]

Each user of `data/everyday.json` has a space of a few memories, with `--beside` of some hundred turns of a conversation
of others besides, with `--together` of what all who speak the same language have told. Every question is asked as the
supervisor asks by default, and once more without each ingredient that is for such questions; some of them nothing in
the space answers. A further half is in a file of its own and is asked only by its name."""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import cycle, product
from pathlib import Path
from typing import Any

from rich.table import Table

from benchmarks import ablation, harness, recall
from muniment.faces import locomo
from muniment.memory import bootstrap
from muniment.memory.client import Memory
from muniment.memory.config import settings
from muniment.memory.domain.query import Query
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import Candidate

DATA = Path(__file__).parent / "data" / "everyday.json"
HALVES = ("tune", "held-out")
FURTHER = {"later": DATA.with_name("everyday_later.json")}
LANGUAGES = {"en": "English", "zh": "Chinese"}
EVERY = "all"
OPEN = "tune"  # the half whose questions may be looked at
INGREDIENTS = ("told", "own", "hint", "another", "others")  # of `ablation.PARTS`
TURNS = 400


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What a user asks, and the memories that answer it; nothing does where there are none."""

    text: str
    evidence: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class User:
    """Somebody with a space of their own."""

    id: str
    language: str
    half: str
    memories: tuple[Candidate, ...]
    questions: tuple[Question, ...]
    scope: Scope


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A question of a user with the texts that came, best first."""

    user: User
    question: Question
    got: tuple[str, ...]

    @property
    def found(self) -> bool:
        return not self.question.evidence.isdisjoint(self.got)

    @property
    def first(self) -> bool:
        return self.got[:1] != () and self.got[0] in self.question.evidence

    @property
    def wrong(self) -> str | None:
        """What went wrong, or None."""
        if not self.question.evidence:
            return "not silent" if self.got else None
        return None if self.first else "not first" if self.found else "not found"


def read(file: Path, halves: Sequence[str], limit: int | None = None, *, together: bool = False) -> list[User]:
    """The users of these halves, of each half and language at most `limit`; each in their own space, or those of a
    language `together` in one."""
    some: dict[tuple[str, str], list[User]] = {pair: [] for pair in product(halves, LANGUAGES)}
    for raw in json.loads(file.read_text(encoding="utf-8"))["users"]:
        texts = [one["text"] for one in raw["memories"]]
        answered = [
            Question(text=one["text"], evidence=frozenset(texts[at] for at in one["evidence"]))
            for one in raw["questions"]
        ]
        user = User(
            id=raw["id"],
            language=raw["language"],
            half=raw["half"],
            memories=tuple(Candidate(text=one["text"], category=one["category"]) for one in raw["memories"]),
            questions=(*answered, *(Question(text=text, evidence=frozenset()) for text in raw["unanswerable"])),
            scope=Scope(owner=raw["language" if together else "id"]),
        )
        if user.half in halves:
            some[user.half, user.language].append(user)
    return [user for users in some.values() for user in users[:limit]]


def talks(file: Path) -> list[Sequence[Candidate]]:
    """The first turns of every conversation of a LoCoMo file. Raises BadInput."""
    content = json.loads(file.read_text(encoding="utf-8"))
    return [one.candidates[:TURNS] for one in locomo.parse_conversations(content)]


async def measure(reading: Callable[[], Sequence[User]], *, beside: Path | None, misses: bool) -> dict[str, Any]:
    """Read the users, write everybody's memories, and one of the conversations `beside` them; then ask every question
    with the settings as they are, and without each of `INGREDIENTS`."""
    users = await asyncio.to_thread(reading)
    others = cycle(await asyncio.to_thread(talks, beside) if beside else [()])
    async with harness.throwaway(settings.load_settings()) as own:
        machine = await harness.machine(await bootstrap.ensure_database(own))
        async with recall.asking(own) as memory:
            with harness.bar("writing", len(users)) as tick:
                for user, talk in zip(users, others, strict=False):
                    await memory.ingest(user.scope, (*user.memories, *talk))
                    tick(1)
            now = memory.engine.settings.recall
            engines: dict[str | None, Memory] = {None: memory}
            for part in INGREDIENTS:
                changed = now.model_copy(update={ablation.PARTS[part]: 0.0})
                engines[part] = ablation.beside(memory.engine, changed)
            asked = {without: await ask(engine, users) for without, engine in engines.items()}
            embedder = memory.engine.embedder.name
    rows = []
    for half, language in product(dict.fromkeys(one.half for one in users), (*LANGUAGES, EVERY)):
        for without, every in asked.items():
            some = [one for one in every if one.user.half == half and language in (one.user.language, EVERY)]
            if some:
                rows.append({"half": half, "language": language, "without": without} | figures(some))
    return {
        "rows": rows,
        **({"misses": missed(asked[None])} if misses else {}),
        "beside": beside.name if beside else None,
        "gate": now.gate,
        "threshold": now.threshold,
        "embedder": embedder,
        "machine": machine,
    }


async def ask(memory: Memory, users: Sequence[User]) -> list[Asked]:
    """Every question of every user, as the supervisor asks by default."""
    todo = [(user, question) for user in users for question in user.questions]

    async def one(pair: tuple[User, Question]) -> Asked:
        user, question = pair
        answer = await memory.query(user.scope, recall.AGENT, Query(text=question.text))
        return Asked(user=user, question=question, got=tuple(hit.memory.text for hit in answer.hits))

    with harness.bar("asking", len(todo)) as tick:
        return await harness.together(todo, one, tick)


def figures(asked: Sequence[Asked]) -> dict[str, Any]:
    """Shares in [0, 1], each question counting the same; `hits`: how many an answerable question has that gets any."""
    answerable = [one for one in asked if one.question.evidence]
    others = [one for one in asked if not one.question.evidence]
    answered = [len(one.got) for one in answerable if one.got]
    return {
        "users": len({one.user.id for one in asked}),
        "answerable": len(answerable),
        "found": _share([one.found for one in answerable]),
        "first": _share([one.first for one in answerable]),
        "hits": round(sum(answered) / len(answered), 2) if answered else None,
        "unanswerable": len(others),
        "silent": _share([not one.got for one in others]),
    }


def missed(asked: Sequence[Asked]) -> list[dict[str, Any]]:
    """What went wrong in the half that may be looked at."""
    return [
        {
            "user": one.user.id,
            "wrong": one.wrong,
            "question": one.question.text,
            "evidence": [memory.text for memory in one.user.memories if memory.text in one.question.evidence],
            "got": list(one.got),
        }
        for one in asked
        if one.wrong and one.user.half == OPEN
    ]


def tables(found: dict[str, Any]) -> Iterator[Table]:
    """The report for people, in percent."""
    header = ["", "without", "asked", "found", "first", "hits", "others", "silent"]  # 80 columns wide
    rows: list[list[object]] = [
        [
            f"{row['half']}, {LANGUAGES.get(row['language'], row['language'])}",
            row["without"] or "",
            row["answerable"],
            _percent(row["found"]),
            _percent(row["first"]),
            row["hits"] and f"{row['hits']:.2f}",
            row["unanswerable"],
            _percent(row["silent"]),
        ]
        for row in found["rows"]
    ]
    beside = f" beside {TURNS} turns of {found['beside']}" if found["beside"] else ""
    title = f"Everyday questions{beside}, gate {found['gate']}, threshold {found['threshold']}, {found['embedder']}"
    yield harness.grid(title, header, rows)
    if "misses" in found:
        rows = [
            [one["user"], one["wrong"], one["question"], "\n".join(one["evidence"]), "\n".join(one["got"])]
            for one in found["misses"]
        ]
        table = harness.grid("What went wrong in the tune half", ["", "", "question", "evidence", "got"], rows)
        for column in table.columns:
            column.justify = "left"
        yield table


def main(argv: Sequence[str] | None = None) -> int:
    """The command; returns the exit code."""
    about = (__doc__ or "").splitlines()[0]
    parser = argparse.ArgumentParser(prog="python -m benchmarks.everyday", description=about)
    parser.add_argument("file", type=Path, nargs="?", metavar="FILE", help="users and what they ask")
    parser.add_argument("--half", choices=(*HALVES, *FURTHER), help="default: tune and held-out")
    parser.add_argument(
        "--beside", type=Path, metavar="FILE", help=f"a LoCoMo file: {TURNS} turns of it in each space, too"
    )
    parser.add_argument("--together", action="store_true", help="all users of a language in one space")
    parser.add_argument("--misses", action="store_true", help="list what went wrong in the tune half")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--limit", type=recall.many, metavar="N", help="at most N users of each half and language")
    args = parser.parse_args(argv)
    halves = (args.half,) if args.half else HALVES
    file = args.file or FURTHER.get(args.half, DATA)
    reading = partial(read, file, halves, args.limit, together=args.together)
    found = measure(reading, beside=args.beside, misses=args.misses)
    return harness.run(found, tables, as_json=args.json)


def _share(held: Sequence[bool]) -> float | None:
    return round(sum(held) / len(held), 4) if held else None


def _percent(share: float | None) -> str | None:
    return None if share is None else f"{100 * share:.1f}"


if __name__ == "__main__":
    sys.exit(main())
