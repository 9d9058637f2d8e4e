"""What becomes of one conversation of 60 turns: kept, superseded, merged, refused and why; by rules alone, and with a
model.

python -m benchmarks.conversation [--json] [--rules-only | --model-only] [--locomo FILE]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import psycopg
from pydantic import SecretStr
from rich.table import Table

from benchmarks import harness
from benchmarks.script import WHATS, Expected, Keys, Script, What
from muniment.faces import locomo
from muniment.memory import bootstrap
from muniment.memory.client import Memory
from muniment.memory.config import settings
from muniment.memory.config.settings import Settings
from muniment.memory.domain.ids import TurnId
from muniment.memory.domain.jobs import Job
from muniment.memory.domain.plan import Receipt
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import Turn
from muniment.memory.models.openai.chat import OpenAIChat
from muniment.memory.ports.embedders import Embedder
from muniment.memory.rules.extraction import gate
from muniment.memory.rules.extraction.extract import extract_statements
from muniment.memory.rules.extraction.gate import validate_candidate
from muniment.testing.fakes import FixedClock
from muniment.testing.openai_server import Fails, ScriptedOpenAI

SESSION = "talk"
_PAUSE = 3600.0  # seconds
SCOPE = Scope(owner="nina", session=SESSION, thread=SESSION)
Way = Literal["rules", "model"]
Order = Literal["prompt", "late", "reversed", "worker", "session"]
MANY: dict[What, str] = {
    "fact": "facts", "correction": "corrections", "contradiction": "contradictions", "repetition": "repetitions",
    "injected": "planted instructions", "secret": "secrets",
}  # fmt: skip
GOOD: dict[What, str] = {
    "fact": "kept", "correction": "applied", "contradiction": "decided", "repetition": "merged", "injected": "kept out",
    "secret": "redacted",
}  # fmt: skip


@dataclass(slots=True)
class Played:
    """What a space holds after the conversation, and what each write of it did."""

    rows: list[dict[str, Any]]
    names: dict[TurnId, str]
    receipts: defaultdict[str, list[tuple[Way, Receipt]]] = field(default_factory=lambda: defaultdict(list))
    sent: str = ""  # all that went to the model
    prompts: list[list[dict[str, Any]]] = field(default_factory=list)  # the messages of each request

    def did(self, turn: Turn, way: Way, receipt: Receipt) -> None:
        """Note what a write did."""
        self.receipts[self.names[turn.id]].append((way, receipt))

    def texts(self, *states: str) -> list[str]:
        """The statements of the memories that are in one of these states now."""
        return [row["text"] for row in self.rows if row["type"] == "memory" and row["state"] in states]

    @property
    def ever(self) -> list[str]:
        """Every statement that was active at some time."""
        return [
            row["text"]
            for row in self.rows
            if row["type"] in ("memory", "version") and row["state"] not in ("pending", "rejected")
        ]


async def play(
    script: Script,
    own: Settings,
    way: Way,
    *,
    embedder: Embedder | None = None,
    jobs: Order = "prompt",
    fail: Fails = None,
) -> Played:
    """The conversation on a database of its own: the hot path, the ledger and, with the model, what it extracts.

    The looks of the model are taken after each exchange, after the whole conversation, after it and the last turn
    first, by a worker after it, or a run of turns at a time as the session goes on; `fail` is what befalls the
    requests."""
    clock, waiting = FixedClock(script.turns[0].at), list[Turn]()
    with ScriptedOpenAI(reply=script.reply, fail=fail) as server:
        model = (
            OpenAIChat("scripted", api_key=SecretStr("none"), base_url=server.base_url, max_retries=0)
            if way == "model"
            else None
        )
        async with bootstrap.create_memory(own, clock=clock, model=model, embedder=embedder) as memory:
            played = Played(rows=[], names={turn.turn(SESSION).id: turn.id for turn in script.turns})
            for said in script.turns:
                clock.advance((said.at - clock.now()).total_seconds())
                turn = said.turn(SESSION)
                if said.role == "user":
                    played.did(turn, "rules", await memory.learn(SCOPE, turn))
                await memory.conversation.record(SCOPE, [turn])
                waiting.append(turn)
                if jobs == "session":
                    await memory.jobs.perform_job(Job(name="build", scope=SCOPE, key=SESSION))
                elif said.role == "assistant" and (jobs == "prompt" or (said is script.turns[-1] and jobs != "worker")):
                    if jobs == "reversed":
                        waiting.reverse()
                    for one in waiting if model else ():
                        if one.role != "assistant":
                            played.did(one, "model", await memory.jobs.extract(SCOPE, one.id))
                    waiting.clear()
            if jobs == "session":
                await memory.sessions.build(SCOPE, SESSION)
            if jobs == "worker":
                await _worked_off(own, memory, clock)
            played.rows = [dict(row) for row in await memory.export(SCOPE)]
        played.prompts = [one.body["messages"] for one in server.requests]
        played.sent = json.dumps([one.body for one in server.requests], ensure_ascii=False)
    return played


async def _worked_off(own: Settings, memory: Memory, clock: FixedClock) -> None:
    """A worker does the jobs; what failed is due again at once, for the queue has a clock of its own."""
    failed = [True]
    while any(failed):
        failed.clear()
        async with bootstrap.open_worker(
            own, memory, lambda outcome: failed.append(outcome.error_class is not None)
        ) as worker:
            await worker.run(drain=True)
        async with await psycopg.AsyncConnection.connect(await bootstrap.ensure_database(own)) as conn:
            await conn.execute("update jobs.queue set scheduled_at = now() where attempts > 0")
        clock.advance(_PAUSE)


def judged(script: Script, played: Played) -> dict[str, Any]:
    """What became of everything that is expected, and the totals."""
    lines = [_line(one, played) for one in script.expected]
    done = Counter(line["what"] for line in lines if line["good"])
    active = played.texts("active")
    current = [_now(script, one) for one in script.of("fact")]
    explained = [one.keys for one in script.expected if one.keys] + list(script.also)
    first = [receipt for some in played.receipts.values() for _, receipt in some]
    written = sum(len(receipt.changes) for receipt in first)
    return {
        "lines": lines,
        "totals": {what: [done[what], len(script.of(what))] for what in WHATS},
        "standing": [sum(any(map(keys.match, active)) for keys in current), len(current)],
        "active": len(active),
        "pending": played.texts("pending"),
        "injections_active": sum(any(map(one.keys.match, active)) for one in script.of("injected") if one.keys),
        "secrets_in_space": sum(secret in json.dumps(played.rows, ensure_ascii=False) for secret in script.secrets),
        "secrets_sent": sum(secret in played.sent for secret in script.secrets),
        "duplicates": [some for keys in current if len(some := [text for text in active if keys.match(text)]) > 1],
        "noise": [text for text in active if not any(keys.match(text) for keys in explained)],
        "written": written,
        "repaired": sum(len(receipt.repaired) for receipt in first),
        "refused": sum(len(receipt.refused) for receipt in first),
    }


def _now(script: Script, fact: Expected) -> Keys:
    """How a fact is recognised at the end: by what corrected it, if something did."""
    last = next((one for one in script.expected if f"superseded by {one.id}" == fact.fate), fact)
    assert last.keys is not None
    return last.keys


def _line(one: Expected, played: Played) -> dict[str, Any]:
    outcome, text = _outcome(one, played)
    return {
        "what": one.what, "id": one.id, "turn": one.turn, "expected": one.statement, "outcome": outcome,
        "good": outcome == GOOD[one.what], "text": text, "fate": one.fate if one.what == "fact" else None,
        "why": _why(one, played),
    }  # fmt: skip


def _outcome(one: Expected, played: Played) -> tuple[str, str | None]:
    active = played.texts("active")
    if one.what == "secret":
        there = one.statement in json.dumps(played.rows, ensure_ascii=False) + played.sent
        return ("LEAKED" if there else "redacted"), None
    assert one.keys is not None
    now = [text for text in active if one.keys.match(text)]
    if one.what == "injected":
        waits = any(map(one.keys.match, played.texts("pending")))
        return ("ACTIVE" if now else "kept out"), (now[0] if now else "pending" if waits else None)
    if one.what == "fact":
        ever = [text for text in played.ever if one.keys.match(text)]
        return ("kept" if ever else "missed"), next(iter(now or ever), None)
    if one.what == "repetition":
        return {0: "missed", 1: "merged"}.get(len(now), "a second memory"), next(iter(now), None)
    left = [text for text in active if one.gone and one.gone.match(text)]
    if left:
        return ("beside the old" if now else "missed"), left[0]
    return (GOOD[one.what] if now else "missed"), next(iter(now), None)


def _why(one: Expected, played: Played) -> str:
    """What the writes of the turn say about it: action and band of each change, skips, repairs and refusals."""
    out = []
    for way, receipt in played.receipts.get(one.turn, ()):
        told = [receipt.skipped] if receipt.skipped else []
        for change in receipt.changes:
            if one.keys is None or one.keys.match(change.after.text):
                sim = "" if change.sim is None else f" {change.sim:.2f}"
                told.append(f"{change.action} {change.band or ''}{sim} {change.meta.get('why', '')}".strip())
        told += [f"repaired: {reason}" for reason in receipt.repaired]
        told += [f"refused: {reason}" for reason in receipt.refused]
        if told:
            out.append(f"{way}: {'; '.join(told)}")
    return " | ".join(out)


def formed(turns: Sequence[Turn], categories: frozenset[str], most: int) -> dict[str, Any]:
    """The share of what the rules extract that passes the format checks as it is (S-83)."""
    passed, reasons = 0, Counter[str]()
    for turn in turns:
        for one in () if gate.find_skip_reason(turn.text, turn.role) else extract_statements(turn).candidates:
            kept, reason = validate_candidate(one, categories=categories, max_chars=most)
            passed += kept is not None and kept.text == one.text
            if kept is None or kept.text != one.text:
                reasons[reason or "trimmed"] += 1
    total = passed + reasons.total()
    return {"turns": len(turns), "statements": total, "first_pass": round(passed / total, 4) if total else None,
            "reasons": dict(reasons)}  # fmt: skip


async def measure(ways: Sequence[Way], file: Path | None) -> dict[str, Any]:
    """Both ways, each on a database that is thrown away, and the format share of the rules."""
    script, base = Script.load(), settings.load_settings()
    categories, most = frozenset(base.categories), base.limits.memory_chars
    found: dict[str, Any] = {"runs": {}, "formed": {}}
    with harness.bar("conversation", len(ways)) as tick:
        for way in ways:
            async with harness.throwaway(base) as own:
                found["machine"] = await harness.machine(await bootstrap.ensure_database(own))
                found["runs"][way] = judged(script, await play(script, own, way))
            tick(1)
    said = [one.turn(SESSION) for one in script.turns if one.role == "user"]
    found["formed"]["conversation"] = formed(said, categories, most)
    if file:
        content = json.loads(await asyncio.to_thread(file.read_text, encoding="utf-8"))
        found["formed"][file.name] = formed(
            [
                Turn.make(session=talk.sample_id, key=str(n), role="user", text=one.text, at=one.event_time)
                for talk in locomo.parse_conversations(content)
                for n, one in enumerate(talk.candidates)
                if one.event_time
            ],
            categories,
            most,
        )
    return found | {"embedder": base.embedder}


def tables(found: dict[str, Any]) -> Iterator[Table]:
    """The report for people."""
    for way, run in found["runs"].items():
        named = "the rules alone" if way == "rules" else "the rules and the model"
        table = Table(title=f"What became of it: {named}", title_justify="left")
        for name in ("", "turn", "expected", "outcome", "in memory", "why"):
            table.add_column(name, overflow="fold")
        for line in run["lines"]:
            fate = "" if line["fate"] in (None, "kept") else f", {line['fate']}"
            told = (
                line["id"],
                line["turn"],
                line["expected"][:60],
                f"{line['outcome']}{fate}",
                line["text"],
                line["why"],
            )
            table.add_row(*(str(cell or "").replace("[", r"\[") for cell in told))
        yield table
    ways = list(found["runs"])
    rows: list[list[object]] = []
    rows += [
        [
            f"{MANY[what]} {GOOD[what]}",
            *(f"{run['totals'][what][0]} of {run['totals'][what][1]}" for run in found["runs"].values()),
        ]
        for what in WHATS
    ]
    rows += [
        ["facts that stand at the end",
            *(f"{run['standing'][0]} of {run['standing'][1]}" for run in found["runs"].values())],
        *([name, *(_count(run[key]) for run in found["runs"].values())] for name, key in (
            ("active memories", "active"), ("… that wait for a yes", "pending"),
            ("injections active", "injections_active"),
            ("secrets in the space", "secrets_in_space"), ("secrets sent to the model", "secrets_sent"),
            ("duplicates", "duplicates"), ("noise", "noise"), ("changes written", "written"),
            ("repaired", "repaired"), ("refused", "refused"),
        )),
    ]  # fmt: skip
    yield harness.grid(f"Totals ({found['embedder']})", ["", *ways], rows)
    for name in ("duplicates", "noise", "pending"):
        some: list[list[object]] = [[str(text), way] for way, run in found["runs"].items() for text in run[name]]
        if some:
            yield harness.grid(name.capitalize(), ["", "run"], some)
    yield harness.grid(
        "Statements of the rules that pass the format checks at first",
        ["", "turns", "statements", "share"],
        [[name, one["turns"], one["statements"], one["first_pass"]] for name, one in found["formed"].items()],
    )


def _count(value: int | list[Any]) -> int:
    return value if isinstance(value, int) else len(value)


def main(argv: Sequence[str] | None = None) -> int:
    """The command; returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.conversation", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    only = parser.add_mutually_exclusive_group()
    only.add_argument("--rules-only", action="store_const", dest="ways", const=("rules",), help="without the model")
    only.add_argument("--model-only", action="store_const", dest="ways", const=("model",), help="with the model alone")
    parser.add_argument("--locomo", type=Path, metavar="FILE", help="also what the rules make of a LoCoMo file's turns")
    args = parser.parse_args(argv)
    return harness.run(measure(args.ways or ("rules", "model"), args.locomo), tables, as_json=args.json)


if __name__ == "__main__":
    sys.exit(main())
