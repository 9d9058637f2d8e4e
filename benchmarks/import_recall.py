"""Evidence recall of an imported space beside that of mem0's own search: the same memories, vectors and questions.

python -m benchmarks.import_recall FILE [--conversations N] [--limit N] [--json]

mem0 gets every turn of a LoCoMo conversation as one memory, what its `get_all` returns is imported, and both are asked
the same. mem0 is installed into an environment of its own."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import tempfile
import venv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rich.table import Table

from benchmarks import harness, recall
from muniment.faces import locomo
from muniment.faces.importing.formats import ImportFiles
from muniment.faces.importing.registry import FORMATS
from muniment.faces.importing.sources import open_source
from muniment.faces.importing.spool import RecordSpool
from muniment.memory.client import Memory
from muniment.memory.config import settings
from muniment.memory.domain.query import Query
from muniment.memory.domain.scope import Scope

MEM0 = ("mem0ai==2.2.1", "qdrant-client==1.20.0")
DEPTH = 10
_ENVIRONMENT = Path("build/mem0")
_PROGRAM = Path(__file__).with_name("mem0_search.py")


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """A conversation as texts, its questions, and for each the positions of the texts that answer it."""

    name: str
    texts: list[str]
    questions: list[str]
    wanted: list[frozenset[int]]


def read_grounds(file: Path, conversations: int, limit: int | None) -> list[Ground]:
    """Read the first conversations of a LoCoMo file, with at most `limit` questions of each."""
    content = json.loads(file.read_text(encoding="utf-8"))
    raws = content if isinstance(content, list) else [content]
    grounds = []
    for raw, talk in list(zip(raws, locomo.parse_conversations(content), strict=True))[:conversations]:
        turns = {recall.turn_of_tags(one.tags): number for number, one in enumerate(talk.candidates)}
        # A number makes each text the only one of its kind, so that both sides know which one was found.
        texts = [f"{one.actor}: {one.text} ({number})" for number, one in enumerate(talk.candidates)]
        asked = recall.questions(raw, frozenset(turns), recall.Evidence(), limit)
        wanted = [frozenset(turns[turn] for turn in one.evidence) for one in asked]
        grounds.append(Ground(name=talk.sample_id, texts=texts, questions=[one.text for one in asked], wanted=wanted))
    return grounds


def prepare_mem0() -> Path:
    """Make the environment with mem0 unless it is there; return its Python."""
    python = _ENVIRONMENT / "bin" / "python"
    if not python.exists():
        venv.create(_ENVIRONMENT, with_pip=True)
        subprocess.run([python, "-m", "pip", "install", "-qq", *MEM0], check=True)
    return python


async def measure(file: Path, conversations: int, limit: int | None) -> dict[str, Any]:
    """Fill both sides with each conversation, and ask both."""
    python = await asyncio.to_thread(prepare_mem0)
    rows: list[dict[str, Any]] = []
    async with harness.throwaway(settings.load_settings()) as own, recall.asking(own) as memory:
        for ground in await asyncio.to_thread(read_grounds, file, conversations, limit):
            theirs = await ask_mem0(python, memory, ground)
            kept = await import_memories(memory, ground, theirs["memories"])
            ours = [await ask_muniment(memory, ground, question) for question in ground.questions]
            rows.append(
                {
                    "conversation": ground.name,
                    "memories": len(ground.texts),
                    "fates": kept,
                    "questions": len(ground.questions),
                    "mem0": score(theirs["found"], ground.wanted),
                    "muniment": score(ours, ground.wanted),
                }
            )
        embedder = memory.engine.embedder.name
    total = sum(row["questions"] for row in rows)
    means = {side: round(sum(row[side] * row["questions"] for row in rows) / total, 4) for side in ("mem0", "muniment")}
    return {"file": file.name, "mem0_version": MEM0[0], "embedder": embedder, "rows": rows, "questions": total, **means}


async def ask_mem0(python: Path, memory: Memory, ground: Ground) -> dict[str, Any]:
    """Return what mem0 keeps and finds, with the vectors of our embedder."""
    embedder = memory.engine.embedder
    given = {
        "texts": ground.texts,
        "vectors": [list(map(float, vector)) for vector in await embedder.embed_documents(ground.texts)],
        "questions": ground.questions,
        "question_vectors": [list(map(float, await embedder.embed_query(each))) for each in ground.questions],
    }
    process = await asyncio.create_subprocess_exec(
        python, _PROGRAM, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    out, _ = await process.communicate(json.dumps(given).encode())
    found: dict[str, Any] = json.loads(out.decode().splitlines()[-1])
    return found


async def import_memories(memory: Memory, ground: Ground, memories: Any) -> dict[str, int]:
    """Import what `get_all` returned, as the command does; return how many records had which fate."""
    fates: dict[str, int] = {}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "mem0.json"
        await asyncio.to_thread(file.write_text, json.dumps(memories), "utf-8")
        with open_source(str(file)) as files, RecordSpool() as spool:
            spool.take_records(FORMATS["mem0"].read(ImportFiles(files, datetime.now(UTC))))
            for batch in spool.read_batches():
                for outcome in await memory.imports.keep_memories(Scope(owner=ground.name), batch.memories):
                    fates[outcome.fate] = fates.get(outcome.fate, 0) + 1
    return fates


async def ask_muniment(memory: Memory, ground: Ground, question: str) -> list[int]:
    """Return the positions of the texts that the imported space finds."""
    asked = Query(text=question, top_k=DEPTH, threshold=0.0, budget_tokens=recall.UNLIMITED)
    answer = await memory.query(Scope(owner=ground.name), recall.AGENT, asked)
    tags = (tag for hit in answer.hits for tag in hit.memory.tags)
    return [int(tag.removeprefix("position: ")) for tag in tags if tag.startswith("position: ")]


def score(found: Sequence[Sequence[int]], wanted: Sequence[frozenset[int]]) -> float:
    """Return the mean share of the wanted texts that are among the first 10."""
    shares = [len(right & set(some[:DEPTH])) / len(right) for some, right in zip(found, wanted, strict=True)]
    return round(sum(shares) / len(shares), 4) if shares else 0.0


def tables(found: dict[str, Any]) -> Iterator[Table]:
    """The report for people."""
    rows = [
        [
            row["conversation"],
            row["memories"],
            row["questions"],
            f"{100 * row['mem0']:.1f}",
            f"{100 * row['muniment']:.1f}",
        ]
        for row in found["rows"]
    ]
    rows.append(["all", "", found["questions"], f"{100 * found['mem0']:.1f}", f"{100 * found['muniment']:.1f}"])
    yield harness.grid(
        f"Evidence recall@{DEPTH}, percent ({found['mem0_version']}, {found['embedder']})",
        ["", "memories", "questions", "mem0's search", "imported space"],
        rows,
    )


def main(argv: Sequence[str] | None = None) -> int:
    """The command; returns the exit code."""
    parser = recall.command("import_recall", __doc__)
    parser.add_argument("--conversations", type=recall.many, default=1, metavar="N", help="the first N of the file")
    args = parser.parse_args(argv)
    return harness.run(measure(args.file, args.conversations, args.limit), tables, as_json=args.json)


if __name__ == "__main__":
    sys.exit(main())
