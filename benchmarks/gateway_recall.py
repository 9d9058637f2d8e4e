"""Evidence recall through the gateway: a conversation told turn by turn by add and flush, then asked by search.

python -m benchmarks.gateway_recall FILE [--json] [--limit N] [--conversations N]

Each speaker is a sender with the role `user`; a conversation is one chat of a user. There is no model: the rules learn.
`current_chat` has the memories and the messages of which nothing was kept, `all_user_memory` the memories alone.
`import` is the engine's own import, which keeps every turn word for word, asked by `memory.query` with the threshold
of all queries; `whole import` without one, as benchmarks.recall asks. A result counts for all turns it rests on."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import UUID

from rich.table import Table

from benchmarks import harness, recall
from benchmarks.gateways import Connection, lift_limits, make_key, open_gateway
from muniment.faces import locomo
from muniment.memory import bootstrap
from muniment.memory.client import Memory
from muniment.memory.config import settings
from muniment.memory.domain.query import Query
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import Candidate

DEPTH = 10
SCOPES = ("current_chat", "all_user_memory")
IMPORTS: dict[str, float | None] = {"import": None, "whole import": 0.0}  # way -> threshold


async def measure(file: Path, limit: int | None, conversations: int | None) -> dict[str, Any]:
    """Tell and ask every conversation of the file, or the first ones."""
    content = json.loads(await asyncio.to_thread(file.read_text, encoding="utf-8"))
    raws = (content if isinstance(content, list) else [content])[:conversations]
    shares: dict[str, list[float]] = {way: [] for way in (*SCOPES, *IMPORTS)}
    async with (
        harness.throwaway(lift_limits(settings.load_settings())) as own,
        recall.asking(own) as memory,
        open_gateway(own, memory) as (port, tokens),
    ):
        for raw, talk in zip(raws, locomo.parse_conversations(content), strict=False):
            user = Connection(port, talk.sample_id, await make_key(tokens, own, talk.sample_id))
            await tell(user, talk.sample_id, talk.candidates)
            imported = Scope(owner=f"import-{talk.sample_id}")
            await memory.ingest(imported, talk.candidates)
            known = frozenset(_name_turn(one) for one in talk.candidates)
            asked = recall.questions(raw, known, recall.Evidence(), limit)
            names = await name_turns(memory, Scope(owner=talk.sample_id), talk.candidates)
            with harness.bar(f"{talk.sample_id}: asking", len(asked)) as tick:
                for question in asked:
                    for way in SCOPES:
                        found = await user.search(question.text, talk.sample_id, way, top_k=DEPTH)
                        seen = await find_turns(memory, Scope(owner=talk.sample_id), found, names)
                        shares[way].append(len(question.evidence & seen) / len(question.evidence))
                    query = Query(text=question.text, top_k=DEPTH, budget_tokens=recall.UNLIMITED)
                    for way, least in IMPORTS.items():
                        hits = (await memory.query(imported, recall.AGENT, replace(query, threshold=least))).hits
                        told = {recall.turn_of(hit.memory) for hit in hits}
                        shares[way].append(len(question.evidence & told) / len(question.evidence))
                    tick(1)
        machine = await harness.machine(await bootstrap.ensure_database(own))
        means = {way: round(sum(each) / len(each), 4) for way, each in shares.items()}
        return {
            "file": file.name,
            f"recall@{DEPTH}": means,
            "questions": len(shares["import"]),
            "conversations": len(raws),
            "embedder": memory.engine.embedder.name,
            "machine": machine,
        }


async def tell(user: Connection, chat: str, said: Sequence[Candidate]) -> None:
    """Add and flush each turn; those of a session are a second apart."""
    with harness.bar(f"{chat}: telling", len(said)) as tick:
        for number, one in enumerate(said):
            at = one.event_time
            assert at is not None
            message = {
                "sender_id": one.actor,
                "role": "user",
                "timestamp": int(at.timestamp()) * 1000 + number,
                "content": one.text,
            }
            await user.post("add", session_id=f"chat:{chat}", messages=[message])
            await user.post("flush", session_id=f"chat:{chat}")
            tick(1)


async def name_turns(memory: Memory, scope: Scope, said: Sequence[Candidate]) -> dict[UUID, str]:
    """The data set's ids of the turns of a chat: they were told in its order."""
    turns = (await memory.sessions.get(scope, f"chat:{scope.owner}", limit=1000)).turns
    return {turn.id: _name_turn(one) for turn, one in zip(turns, said, strict=True)}


async def find_turns(
    memory: Memory, scope: Scope, results: Sequence[Mapping[str, Any]], names: Mapping[UUID, str]
) -> set[str]:
    """The data set's ids of the turns that results are or rest on."""
    found = set[str]()
    for one in results:
        if one["raw"]["kind"] == "message":
            found.add(names[UUID(one["id"])])
        else:
            found |= {names[turn] for turn in (await memory.get(scope, one["id"])).turns if turn in names}
    return found


def _name_turn(candidate: Candidate) -> str:
    return next(tag.removeprefix("dia:") for tag in candidate.tags if tag.startswith("dia:"))


def tables(found: dict[str, Any]) -> Iterator[Table]:
    """The report for people."""
    rows = [(way, f"{100 * share:.1f}") for way, share in found[f"recall@{DEPTH}"].items()]
    about = f"{found['questions']} questions of {found['conversations']} conversations"
    yield harness.grid(f"Evidence recall@{DEPTH}, percent; {about}", ("", f"recall@{DEPTH}"), rows)


def main(argv: Sequence[str] | None = None) -> int:
    """The command; returns the exit code."""
    parser = recall.command("gateway_recall", __doc__)
    parser.add_argument("--conversations", type=recall.many, metavar="N", help="only the first N of the file")
    args = parser.parse_args(argv)
    return harness.run(measure(args.file, args.limit, args.conversations), tables, as_json=args.json)


if __name__ == "__main__":
    sys.exit(main())
