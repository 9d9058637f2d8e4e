"""What a document is made of, whatever it is written as."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Title:
    """The title of the document, with a line below it."""

    text: str
    below: str


@dataclass(frozen=True, slots=True)
class Heading:
    """The heading of a section of the first or second level; `anchor` is its name in links."""

    text: str
    anchor: str
    level: int = 1


@dataclass(frozen=True, slots=True)
class Paragraph:
    """A paragraph of plain text; a hint is set smaller."""

    text: str
    is_hint: bool = False


@dataclass(frozen=True, slots=True)
class Contents:
    """The list of sections, each with its anchor."""

    sections: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Figures:
    """Numbers, each with what it counts."""

    rows: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Entry:
    """One thing that is known: what it says, its quotations, each with who said it, and its labelled details."""

    text: str
    details: tuple[tuple[str, str], ...] = ()
    quotes: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Columns:
    """The head of a table, whose `Line` blocks follow it."""

    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Line:
    """A row of a table: the last cell has the long text."""

    cells: tuple[str, ...]


Block: TypeAlias = Title | Heading | Paragraph | Contents | Figures | Entry | Columns | Line
