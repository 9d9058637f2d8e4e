"""How often the recall gate decides as people would: on 200 labelled turns, English, Chinese and mixed.

python -m benchmarks.plugin_gates [--words] [--mistakes] [--json]

Each turn comes with the messages before it, of which some say that memory was searched for them. The topic is told by
the configured embedder, or with `--words` by words alone. `known` is the half by which the rules were written,
`held_out` the one of which nothing but its number was looked at; `--mistakes` lists those of the known half. The 40
turns of `data/plugin_turns_fresh.json` (`--file`) were written by somebody who had not read the gate."""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from rich.table import Table

from benchmarks import harness
from muniment.memory import bootstrap
from muniment.memory.config import settings
from muniment.memory.config.schema import EmbedderProfile
from muniment.memory.domain.ids import Vector
from muniment.plugin.gates.decision import Decision
from muniment.plugin.gates.recall import RecallSignals, decide_recall
from muniment.plugin.gates.topic import TopicWindow, make_topic_message

TURNS = Path(__file__).parent / "data" / "plugin_turns.json"
WANTED = 0.9  # right, of each half
HALVES = ("known", "held_out", "fresh")
SCORE = 0.9  # of what an earlier search found: the turns tell of no weak finds
Labelled: TypeAlias = Mapping[str, Any]


async def measure(turns: Sequence[Labelled], *, by_words: bool, lists_mistakes: bool) -> dict[str, Any]:
    """Decide every turn, and count."""
    own = settings.load_settings()
    profile = None if by_words else own.find_profile(own.embedder)
    vectors = {} if by_words else await _embed(own, turns)
    decided = [(turn, decide_turn(turn, own, profile, vectors)) for turn in turns]
    report: dict[str, Any] = {"by": "words" if by_words else own.embedder, "wanted": WANTED}
    for half in list_halves(turns):
        some = [(turn, decision) for turn, decision in decided if turn["half"] == half]
        report[half] = _count(some)
    if lists_mistakes:
        report["mistakes"] = [
            {"id": turn["id"], "text": turn["text"], "expected": turn["expected"], "why": turn["why"]}
            | {"reason": decision.reason, "facts": dict(decision.facts)}
            for turn, decision in decided
            if turn["half"] == "known" and turn["expected"] != decision.allowed
        ]
    return report


def list_halves(turns: Sequence[Labelled]) -> list[str]:
    """Return the parts that labelled turns have, in the order of `HALVES`."""
    return [half for half in HALVES if any(turn["half"] == half for turn in turns)]


def decide_turn(
    turn: Labelled, own: settings.Settings, profile: EmbedderProfile | None, vectors: Mapping[str, Vector]
) -> Decision:
    """Decide a turn by what the plugin would know of the messages before it."""
    gates = own.plugin.gates
    history: Sequence[Labelled] = turn["history"]
    searched = [n for n, message in enumerate(history) if message.get("recalled")]
    since = history[searched[-1] :] if searched else ()
    window = TopicWindow()
    for message in since:
        made = make_topic_message(message["text"], vectors.get(message["text"]), profile)
        window = window.add(made, 2 * gates.window_turns)
    asked = make_topic_message(turn["text"], vectors.get(turn["text"]), profile)
    signals = RecallSignals(
        text=turn["text"],
        is_machine=turn["is_machine"],
        is_session_start=not searched,
        turns_in_window=sum(message["role"] == "user" for message in since[1:]),
        topic_similarity=window.measure(asked, profile),
        cache_age_seconds=float(turn["seconds_since_last"]) if searched else None,
        best_score=SCORE if searched else None,
    )
    return decide_recall(signals, gates)


async def _embed(own: settings.Settings, turns: Sequence[Labelled]) -> dict[str, Vector]:
    texts = {turn["text"] for turn in turns} | {message["text"] for turn in turns for message in turn["history"]}
    embedder = bootstrap.make_embedder(own)
    try:
        return {text: await embedder.embed_query(text) for text in texts}
    finally:
        await embedder.close()


def _count(decided: Sequence[tuple[Labelled, Decision]]) -> dict[str, Any]:
    right = [turn["expected"] == decision.allowed for turn, decision in decided]
    reasons: dict[str, Counter[str]] = {}
    for turn, decision in decided:
        reasons.setdefault(decision.reason, Counter())[f"{turn['expected']}".lower()] += 1
    languages = sorted({turn["language"] for turn, _ in decided})
    return {
        "turns": len(decided),
        "right": round(sum(right) / len(right), 3),
        "searched_in_vain": sum(not turn["expected"] and decision.allowed for turn, decision in decided),
        "missed": sum(turn["expected"] and not decision.allowed for turn, decision in decided),
        "by_language": {
            language: round(
                sum(each for (turn, _), each in zip(decided, right, strict=True) if turn["language"] == language)
                / sum(turn["language"] == language for turn, _ in decided),
                3,
            )
            for language in languages
        },
        "reasons": {reason: dict(counts) for reason, counts in sorted(reasons.items())},  # how often each was wanted
    }


def show(report: dict[str, Any]) -> Iterator[Table]:
    """The tables of a report."""
    halves = [half for half in HALVES if half in report]
    languages = report[halves[0]]["by_language"]
    header = ("half", "turns", "right", "in vain", "missed", *languages)
    rows = []
    for half in halves:
        found = report[half]
        numbers = (found[name] for name in ("turns", "right", "searched_in_vain", "missed"))
        rows.append((half, *numbers, *(found["by_language"].get(name) for name in languages)))
    yield harness.grid(f"The recall gate, topics by {report['by']}", header, rows)
    known = report[halves[0]]["reasons"]
    yield harness.grid(
        f"Reasons in the part {halves[0]}, by what was wanted",
        ("reason", "search", "none"),
        [(reason, counts.get("true", 0), counts.get("false", 0)) for reason, counts in known.items()],
    )
    if mistakes := report.get("mistakes"):
        yield harness.grid(
            "Mistakes",
            ("id", "text", "why", "reason"),
            [[each[k] for k in ("id", "text", "why", "reason")] for each in mistakes],
        )


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.plugin_gates", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("--file", type=Path, default=TURNS, help="of labelled turns; default: the file in data/")
    parser.add_argument("--words", action="store_true", help="tell topics by words alone")
    parser.add_argument("--mistakes", action="store_true", help="list those of the known half")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    args = parser.parse_args(argv)
    turns = json.loads(args.file.read_text("utf-8"))["turns"]
    report = measure(turns, by_words=args.words, lists_mistakes=args.mistakes)
    return harness.run(report, show, as_json=args.json)


if __name__ == "__main__":
    raise SystemExit(main())
