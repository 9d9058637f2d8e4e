"""Reads Markdown as blocks: CommonMark with tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from markdown_it import MarkdownIt
from markdown_it.token import Token

from muniment.memory.domain.layers.resources import Block
from muniment.memory.rules.language.lazy_regex import lazy_compile
from muniment.memory.rules.resources.html_page import read_html
from muniment.memory.rules.resources.tables import name_cells

# What stands before a Markdown document between two lines of dashes: its metadata.
_FRONT_MATTER = lazy_compile(r"\A---[ \t]*\n(?P<lines>(?:(?!---)[^\n]*\n){1,200})---[ \t]*(?:\n|\Z)")


@dataclass(slots=True)
class _Place:
    """Where the reader is: the items that are open, outermost first, and the table with the cells of its row."""

    items: list[str] = field(default_factory=list)
    header: tuple[str, ...] = ()
    cells: list[str] = field(default_factory=list)
    is_in_head: bool = False
    level: int = 0  # of the heading that is open


def read_markdown(text: str) -> Iterator[Block]:
    """Yield the blocks of a Markdown text. What is written as HTML in it is read as HTML."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if matter := _FRONT_MATTER.match(text):
        for line in matter["lines"].splitlines():
            if line.strip():
                yield Block(kind="item", text=line.strip())
        text = text[matter.end() :]
    place = _Place()
    for token in MarkdownIt("commonmark").enable("table").parse(text):
        yield from _read_token(token, place)


def _read_token(token: Token, place: _Place) -> Iterator[Block]:
    kind = token.type
    if kind == "heading_open":
        place.level = int(token.tag[1:])
    elif kind == "heading_close":
        place.level = 0
    elif kind == "list_item_open":
        place.items.append("")
    elif kind == "list_item_close":
        place.items.pop()
    elif kind in ("fence", "code_block"):
        yield Block(kind="code", text=token.content.rstrip("\n"), lead=_find_lead(place.items))
    elif kind == "html_block":
        yield from read_html(token.content)
    elif kind == "inline":
        yield from _read_inline(_join_inline(token.children or ()), place)
    else:
        yield from _read_table(kind, place)


def _read_table(kind: str, place: _Place) -> Iterator[Block]:
    if kind == "thead_open":
        place.is_in_head = True
    elif kind in ("th_open", "td_open"):
        place.cells.append("")
    elif kind == "tr_close":
        cells, place.cells = place.cells, []
        if place.is_in_head:
            place.header, place.is_in_head = tuple(cells), False
        elif row := name_cells(place.header, cells):
            yield Block(kind="row", text=row)
    elif kind == "table_close":
        place.header = ()


def _read_inline(text: str, place: _Place) -> Iterator[Block]:
    if place.cells:
        place.cells[-1] = text
    elif place.level:
        yield Block(kind="heading", text=text, level=place.level)
    elif place.items:
        if not place.items[-1]:
            place.items[-1] = text
            yield Block(kind="item", text=text, lead=_find_lead(place.items[:-1]))
        else:
            yield Block(kind="text", text=text, lead=_find_lead(place.items))
    else:
        yield Block(kind="text", text=text)


def _find_lead(items: Sequence[str]) -> str:
    """The item that what comes next stands below."""
    return next((item for item in reversed(items) if item), "")


def _join_inline(children: Sequence[Token]) -> str:
    """The text of a line: words of links, code and images without their marks."""
    parts: list[str] = []
    for child in children:
        if child.type in ("text", "code_inline", "image"):
            parts.append(child.content)
        elif child.type in ("softbreak", "hardbreak"):
            parts.append(" ")
    return "".join(parts).strip()
