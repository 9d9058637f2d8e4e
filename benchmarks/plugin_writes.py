"""How often the plugin keeps what people lay down, and only that: labelled turns, English and Chinese.

python -m benchmarks.plugin_writes [--file FILE] [--mistakes] [--json]

Half of the turns of `data/plugin_write_fresh.json` are standing instructions, decisions and preferences in everyday
wording (`keep`); the others are questions, work for once, chat, reports of what was, and quotes (`not`). They were
written by somebody who had not read the rules, each as the first turn of a session."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeAlias

from rich.table import Table

from benchmarks import harness
from muniment.memory.config import settings
from muniment.memory.domain.turn import Turn
from muniment.memory.rules.extraction.turn_reader import TurnReader
from muniment.memory.rules.redaction.redact import Redactor
from muniment.plugin.gates.write import WriteSignals, decide_write
from muniment.plugin.reading.finds import read_finds

TURNS = Path(__file__).parent / "data" / "plugin_write_fresh.json"
_AT = datetime(2026, 11, 12, 12, tzinfo=UTC)
Labelled: TypeAlias = Mapping[str, str]


async def measure(turns: Sequence[Labelled], *, lists_mistakes: bool) -> dict[str, Any]:
    """Read every turn, and count which of them leave something behind."""
    own = settings.load_settings()
    reader = TurnReader(redactor=Redactor(own.redact), limits=own.limits, per_turn=own.write.per_turn)
    kept = [(turn, list_kept(turn["text"], reader, own)) for turn in turns]
    report: dict[str, Any] = {"turns": len(turns), "all": _count(kept)}
    for language in sorted({turn["language"] for turn in turns}):
        report[language] = _count([(turn, items) for turn, items in kept if turn["language"] == language])
    if lists_mistakes:
        report["mistakes"] = [
            {"label": turn["label"], "text": turn["text"], "kept": items}
            for turn, items in kept
            if bool(items) != (turn["label"] == "keep")
        ]
    return report


def list_kept(text: str, reader: TurnReader, own: settings.Settings) -> list[str]:
    """What a turn leaves behind in an empty store."""
    turn = Turn.make(session="one", key="1", role="user", text=text, at=_AT)
    return [
        find.content
        for find in read_finds(turn, (), reader, own).finds
        if decide_write(
            find.candidate,
            WriteSignals(said=find.said, is_requested=find.is_requested, is_standing=find.is_standing),
            own.plugin.gates,
        ).allowed
    ]


def _count(kept: Sequence[tuple[Labelled, Sequence[str]]]) -> dict[str, Any]:
    right = sum(bool(items) and turn["label"] == "keep" for turn, items in kept)
    written, wanted = sum(bool(items) for _, items in kept), sum(turn["label"] == "keep" for turn, _ in kept)
    return {
        "kept": right,
        "kept in vain": written - right,
        "missed": wanted - right,
        "precision": round(right / max(written, 1), 3),
        "recall": round(right / max(wanted, 1), 3),
    }


def show(report: dict[str, Any]) -> Iterator[Table]:
    """The tables of a report."""
    parts = {name: found for name, found in report.items() if isinstance(found, dict)}
    rows = [(name, *found.values()) for name, found in parts.items()]
    yield harness.grid("What a turn leaves behind", ("turns", *parts["all"]), rows)
    if mistakes := report.get("mistakes"):
        found = [(each["label"], each["text"], "; ".join(each["kept"])) for each in mistakes]
        yield harness.grid("Mistakes", ("label", "text", "kept"), found)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.plugin_writes", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("--file", type=Path, default=TURNS, help="of labelled turns; default: the file in data/")
    parser.add_argument("--mistakes", action="store_true", help="list the turns that were judged wrongly")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    args = parser.parse_args(argv)
    turns = json.loads(args.file.read_text("utf-8"))["turns"]
    return harness.run(measure(turns, lists_mistakes=args.mistakes), show, as_json=args.json)


if __name__ == "__main__":
    raise SystemExit(main())
