"""What becomes of the answers of a weak model: crafted wrong ones, right ones in other words than the user's, and
hostile ones that cite the user for what somebody else said.

python -m benchmarks.weak_model [FILE] [--json]

Each case is a conversation of its own user. The model is a scripted server that answers with the fact of the case over
HTTP; everything after the answer is the real path: parsing, checks, merging and the database. Wrong and hostile cases
are read twice, without and with what the rules find in the same turn, and count as active if they are so in either.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal

from pydantic import SecretStr
from rich.table import Table

from benchmarks import harness
from muniment.memory import bootstrap
from muniment.memory.client import Memory
from muniment.memory.config import settings
from muniment.memory.config.settings import Settings
from muniment.memory.domain.memory import Role
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import Turn
from muniment.memory.models.openai.chat import OpenAIChat
from muniment.memory.rules.language.tokens import normalize_text
from muniment.testing.fakes import FixedClock
from muniment.testing.openai_server import ScriptedOpenAI

DATA = Path(__file__).with_name("data") / "weak_model.jsonl"
SAID_AT = datetime(2026, 5, 4, 12, 0, tzinfo=UTC)
Sort = Literal["wrong", "right", "hostile"]
SORTS: tuple[Sort, ...] = ("wrong", "right", "hostile")


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A conversation, and what the model makes of its last turn. A wrong fact may be repaired to `fine`."""

    id: str
    half: int  # 1: written before the checks, 2: after them
    sort: Sort
    lang: str
    mistake: str
    said: str
    fact: dict[str, Any]
    before: tuple[tuple[Role, str], ...] = ()
    fine: str | None = None

    def turns(self) -> list[Turn]:
        """The turns of the conversation; the last one is the user's."""
        spoken: list[tuple[Role, str]] = [*self.before, ("user", self.said)]
        return [
            Turn.make(
                session=self.id,
                key=str(n),
                role=role,
                text=text,
                at=SAID_AT + timedelta(minutes=n),
                thread=self.id,
            )
            for n, (role, text) in enumerate(spoken)
        ]


@dataclass(slots=True, kw_only=True)
class Outcome:
    """What became of a case: the new active memories, or why there are none."""

    case: Case
    active: list[str] = field(default_factory=list)
    refused: tuple[str, ...] = ()

    @property
    def good(self) -> bool:
        """Whether a right answer is active, or a wrong one is not."""
        return bool(self.active) is (self.case.sort == "right")


def load_cases(path: Path = DATA) -> list[Case]:
    """The cases of a file of JSON lines."""
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    return [Case(**row | {"before": tuple(map(tuple, row.get("before", ())))}) for row in rows]


async def measure(cases: Sequence[Case], base: Settings) -> dict[str, Any]:
    """Run all cases in a throw-away database."""
    spend = base.spend.model_copy(update={"daily_tokens": None})
    by_text = {normalize_text(case.said): case for case in cases}

    def reply(body: dict[str, Any]) -> str:
        shown = json.loads(body["messages"][-1]["content"])
        case = by_text[next(each["text"] for each in shown["conversation"] if each["turn"] == shown["extract_from"][0])]
        return json.dumps({"facts": [case.fact]}, ensure_ascii=False)

    async with harness.throwaway(base.model_copy(update={"spend": spend})) as own:
        with ScriptedOpenAI(reply) as server:
            model = OpenAIChat("weak", api_key=SecretStr("none"), base_url=server.base_url, max_retries=0)
            clock = FixedClock(SAID_AT + timedelta(hours=1))
            async with bootstrap.create_memory(own, clock=clock, model=model) as memory:
                outcomes = [await _run_case(memory, case) for case in cases]
    return _report(outcomes)


async def _run_case(memory: Memory, case: Case) -> Outcome:
    outcome = Outcome(case=case)
    for has_rules in (False, True) if case.sort != "right" else (False,):
        who = Scope(owner=f"{case.id} {has_rules}", thread=case.id, session=case.id)
        turns = case.turns()
        if has_rules:
            await memory.learn(who, turns[-1])
        before = {stored.text for stored in await memory.list(who)}
        await memory.conversation.record(who, turns)
        receipt = await memory.jobs.extract(who, turns[-1].id)
        after = {stored.text for stored in await memory.list(who) if stored.state == "active"}
        outcome.active += sorted(text for text in after - before if text != case.fine)
        outcome.refused += receipt.refused or ((receipt.skipped,) if receipt.skipped else ())
    return outcome


def _report(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    counts: dict[str, Any] = {
        sort: {
            name: {
                "cases": len(own := [each for each in outcomes if each.case.sort == sort and each.case.half in halves]),
                "active": sum(bool(each.active) for each in own),
            }
            for name, halves in (("all", {1, 2}), ("before", {1}), ("after", {2}))
        }
        for sort in SORTS
    }
    missed = [
        {
            "id": each.case.id,
            "sort": each.case.sort,
            "mistake": each.case.mistake,
            "said": each.case.said,
            "answer": each.case.fact["statement"],
            "active": each.active,
            "refused": list(each.refused),
        }
        for each in outcomes
        if not each.good
    ]
    return {"counts": counts, "missed": missed}


def show(report: dict[str, Any]) -> Iterator[Table]:
    """The report for people."""
    rows = [
        (f"{sort}, {name}", found["cases"], found["active"])
        for sort, parts in report["counts"].items()
        for name, found in parts.items()
    ]
    yield harness.grid("answers of a weak model", ("cases", "number", "active"), rows)
    table = Table(title="not as it should be", title_justify="left")
    for name in ("id", "said", "answer", "active or refused"):
        table.add_column(name, overflow="fold")
    for one in report["missed"]:
        table.add_row(one["id"], one["said"], one["answer"], "; ".join([*one["active"], *one["refused"]]))
    yield table


def main(argv: Sequence[str] | None = None) -> int:
    """Run the benchmark and print it."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.weak_model", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("file", nargs="?", type=Path, default=DATA, help="cases as JSON lines")
    parser.add_argument("--json", action="store_true", help="print JSON")
    args = parser.parse_args(argv)
    return harness.run(measure(load_cases(args.file), settings.load_settings()), show, as_json=args.json)


if __name__ == "__main__":
    sys.exit(main())
