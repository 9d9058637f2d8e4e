"""`plugin replay`: what policies make of recorded sessions, side by side."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from muniment.faces.cli import session
from muniment.faces.cli.options import AsJson
from muniment.faces.cli.output import screen, terminal
from muniment.memory import bootstrap
from muniment.memory.config.settings import Settings, load_settings
from muniment.memory.errors import BadInput
from muniment.plugin.book import stats_view
from muniment.plugin.replay.comparison import PolicyOutcome, compare_policies
from muniment.plugin.replay.recording import RecordedTurn, parse_recording

_MOST_SHOWN = 20  # turns that differ


def replay_sessions(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The recording: JSON lines, a message in each.")],
    policy: Annotated[
        list[str], typer.Option("--policy", metavar="NAME", help="A policy of plugin.policies, or default; repeat it.")
    ],
    vectors: Annotated[
        bool,
        typer.Option("--vectors/--words", help="By meaning, too, or by words alone; as plugin.vectors by default."),
    ] = True,
    as_json: AsJson = False,
) -> None:
    """Run recorded sessions through the plugin under each policy, and show what each would have put before the model,
    written and refused. Nothing is kept, and no model is asked.

    A line is a message: {"session": …, "role": "user", "text": …, "at": "2026-11-12T09:00:00Z"}, where there is one
    with "user" and "project", and of a tool with "name" and "is_error".

    For example:

      muniment plugin replay sessions.jsonl --policy default --policy eager
    """
    settings = load_settings()
    if len(set(policy)) != len(policy):
        raise BadInput("--policy: one is given twice")
    turns = _read_turns(file)
    outcomes = session.run_async(_compare(settings, turns, policy, vectors=vectors and settings.plugin.vectors))
    if as_json:
        screen.print_json(encode_outcomes(outcomes))
        return
    rows = [stats_view.list_policy_rows(each.stats)[0][1:] for each in outcomes]
    table = [[each.policy, *row] for each, row in zip(outcomes, rows, strict=True)]
    terminal.print_table(list(stats_view.COLUMNS), table)
    for outcome in outcomes:
        if outcome.stats.refusals:
            screen.print_line("")
            refused = stats_view.list_refusal_rows(outcome.stats.refusals)
            terminal.print_table([f"not written by {outcome.policy}, why", "times"], refused)
    differing = [turn for turn in _list_turns(outcomes) if turn["differs"]]
    for turn in differing[:_MOST_SHOWN]:
        screen.print_line("")
        screen.print_line(f"turn {turn['turn']}, session {screen.join_lines(turn['session'])}")
        for name, made in turn["policies"].items():
            shown = "; ".join(map(screen.join_lines, made["items"])) or "nothing"
            terminal.print_wrapped(f"  {name} ({made['reason']}): {shown}")
    if len(differing) > _MOST_SHOWN:
        screen.print_line(f"{len(differing) - _MOST_SHOWN:,} more turns differ: --json has all")


def encode_outcomes(outcomes: Sequence[PolicyOutcome]) -> dict[str, Any]:
    """Return what policies made of a recording as JSON values: what was counted, and turn by turn."""
    counted = {outcome.policy: stats_view.encode_stats(outcome.stats) for outcome in outcomes}
    return {"policies": counted, "turns": _list_turns(outcomes)}


def _list_turns(outcomes: Sequence[PolicyOutcome]) -> list[dict[str, Any]]:
    turns: dict[int, dict[str, Any]] = {}
    for outcome in outcomes:
        for replayed in outcome.turns:
            report = replayed.report
            shown = turns.setdefault(
                replayed.number, {"turn": replayed.number, "session": report.owner.session or "", "policies": {}}
            )
            shown["policies"][outcome.policy] = {
                "recall": report.recall,
                "reason": report.recall_reason,
                "items": list(replayed.contents),
                "tokens": report.tokens,
                "written": report.written,
                "refusals": dict(report.refusals),
            }
    for shown in turns.values():
        shown["differs"] = len({frozenset(made["items"]) for made in shown["policies"].values()}) > 1
    return [turns[number] for number in sorted(turns)]


async def _compare(
    settings: Settings, turns: Sequence[RecordedTurn], policies: Sequence[str], *, vectors: bool
) -> Sequence[PolicyOutcome]:
    if not vectors:
        return await compare_policies(settings, turns, policies)
    embedder = bootstrap.make_embedder(settings)
    try:
        return await compare_policies(settings, turns, policies, embedder=embedder)
    finally:
        await embedder.close()


def _read_turns(file: Path) -> Sequence[RecordedTurn]:
    try:
        text = file.read_text(encoding="utf-8")
    except OSError as error:
        raise BadInput(f"{file.name}: cannot be read ({error.strerror})") from None
    except UnicodeDecodeError:
        raise BadInput(f"{file.name}: is not UTF-8") from None
    return parse_recording(text.split("\n"))
