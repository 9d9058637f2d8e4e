"""What a person at a terminal sees besides plain lines: hints, tables, spinners and bars.

Importing `rich` takes its time, so that `screen` does without it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from rich.cells import cell_len
from rich.console import Console
from rich.padding import Padding
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from muniment.faces.cli.output.screen import is_interactive, join_lines, print_line, replace_controls

_MIN_TEXT_WIDTH = 12  # characters of a line that a text can be read in


def print_hint(text: str) -> None:
    """Print a dim note; nothing where an output is no terminal."""
    if is_interactive():
        Console(highlight=False).print(Text(replace_controls(text), style="dim"))


def print_wrapped(text: str) -> None:
    """Print lines on standard output: where a person watches, broken at words; else as they are."""
    lines = list(map(replace_controls, text.splitlines())) or [""]
    if not sys.stdout.isatty():
        print_line("\n".join(lines))
        return
    console = Console(highlight=False)
    for line in lines:
        console.print(Text(line))


def print_table(columns: Sequence[str], rows: Sequence[Sequence[Any]], *, text_columns: int = 1) -> None:
    """A table where a person watches, the last `texts` columns wrapped, each below the rest where that leaves no room
    for them; piped, a line per row with tabs between the cells and no heading."""
    cells = [[join_lines("" if cell is None else str(cell)) for cell in row] for row in rows]
    if not sys.stdout.isatty():
        for row in cells:
            print_line("\t".join(row))
        return
    console = Console(highlight=False)
    widths = [max(map(cell_len, column)) for column in zip(columns, *cells, strict=True)]
    rest = len(columns) - text_columns
    if (
        sum(widths[:rest]) + sum(min(width, _MIN_TEXT_WIDTH) for width in widths[rest:]) + 2 * (len(columns) - 1)
        > console.width
    ):
        for row in cells:
            console.print(Text("  ".join(filter(None, row[:rest])), style="dim"))
            console.print(*(Padding(Text(cell), (0, 0, 0, 2)) for cell in row[rest:] if cell), sep="")
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    for left, name in zip(range(len(columns), 0, -1), columns, strict=True):
        table.add_column(name, no_wrap=left > text_columns, overflow="fold")
    for row in cells:
        table.add_row(*(Text(cell) for cell in row))
    console.print(table)


@contextmanager
def show_spinner(description: str, *, quiet: bool) -> Iterator[None]:
    """Show a spinner on standard error while the context is open; nothing when quiet or piped."""
    if quiet or not is_interactive():
        yield
        return
    with Console(stderr=True).status(description):
        yield


@contextmanager
def show_progress(description: str, total: int | None, *, quiet: bool) -> Iterator[Callable[[int], None]]:
    """Show a bar on standard error; the value is called with the number of new items. Nothing when piped."""
    if quiet or not is_interactive():
        yield lambda _: None
        return
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(description, total=total)
        yield lambda done: bar.advance(task, done)
