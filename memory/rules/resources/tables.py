"""Reads the rows of a table as texts that stand alone."""

from __future__ import annotations

from collections.abc import Sequence


def name_cells(header: Sequence[str], cells: Sequence[str]) -> str:
    """Return a row as text, each cell with the name of its column: "port: 8010; use: gateway". Empty cells are left
    out."""
    named = []
    for number, cell in enumerate(cells):
        value = " ".join(cell.split())
        name = " ".join(header[number].split()) if number < len(header) else ""
        if value:
            named.append(f"{name}: {value}" if name and name != value else value)
    return "; ".join(named)
