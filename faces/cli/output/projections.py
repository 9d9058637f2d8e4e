"""Projections as a person reads them in a terminal: slot by slot, with what each memory says."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from muniment.faces.cli.output import screen, terminal
from muniment.memory import codec
from muniment.memory.domain.layers.projections import Lineage, Projection

_COLUMNS = ["id", "type", "status", "slot", "what it says"]


def print_projections(projections: Sequence[Projection], *, as_json: bool, hint: str) -> None:
    """Print a table of projections, or the hint where there is none."""
    if as_json:
        screen.print_json([codec.encode_record(each) for each in projections])
    elif projections:
        terminal.print_table(_COLUMNS, [_make_cells(each) for each in projections])
    else:
        terminal.print_hint(hint)


def print_slot(projections: Sequence[Projection]) -> None:
    """Print all that is said in one slot, the active row in full."""
    first, *others = projections
    screen.print_fields(codec.encode_record(first))
    for each in others:
        screen.print_line(f"{each.status:<10}  {screen.shorten_id(each.memory)}  {screen.join_lines(each.title)}")


def encode_lineage(lineage: Lineage) -> dict[str, Any]:
    """The lineage of a memory as JSON: turns, observations and projections."""
    return {
        "turns": [
            {
                "id": str(turn.id),
                "session": turn.session,
                "role": turn.role,
                "at": turn.at.isoformat(),
                "text": turn.text,
            }
            for turn in lineage.turns
        ],
        "observations": [codec.encode_record(each) for each in lineage.observations],
        "projections": [codec.encode_record(each) for each in lineage.projections],
    }


def print_lineage(lineage: Lineage) -> None:
    """Print what a memory comes from, and what it is part of, one line each."""
    for turn in lineage.turns:
        screen.print_line(f"turn         {screen.shorten_id(turn.id)}  {turn.role}: {screen.join_lines(turn.text)}")
    for seen in lineage.observations:
        found = f"{seen.type}, by {seen.found_by}, {seen.outcome}"
        screen.print_line(f"observation  {screen.shorten_id(seen.id)}  {screen.join_lines(seen.statement)}  ({found})")
    memory = lineage.memory
    screen.print_line(
        f"memory       {screen.shorten_id(memory.id)}  {screen.join_lines(memory.text)}  ({memory.state})"
    )
    for each in lineage.projections:
        slot = f"{each.type} {each.key}"
        screen.print_line(f"projection   {screen.shorten_id(each.id)}  {screen.join_lines(slot)}  ({each.status})")


def _make_cells(projection: Projection) -> list[str]:
    return [
        screen.shorten_id(projection.id),
        projection.type,
        "published" if projection.type == "skill_proposal" and projection.status == "active" else projection.status,
        screen.join_lines(projection.key),
        screen.join_lines(projection.title),
    ]
