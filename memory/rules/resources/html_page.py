"""Reads HTML as blocks, however its tags are nested or left open."""

from __future__ import annotations

from collections.abc import Iterator
from html.parser import HTMLParser

from muniment.memory.domain.layers.resources import Block, BlockKind
from muniment.memory.errors import BadInput
from muniment.memory.rules.language.tokens import parse_vocabulary
from muniment.memory.rules.resources.tables import name_cells

_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_HIDDEN = parse_vocabulary("script style template noscript svg math iframe object select textarea")
_BREAKS = parse_vocabulary(
    "address article aside blockquote body caption center dd details dialog div dl dt fieldset figcaption figure "
    "footer form h1 h2 h3 h4 h5 h6 head header hgroup hr html li main menu nav ol p pre section summary table tbody "
    "td tfoot th thead title tr ul"
)
# What may be hidden by its attributes. Of others the end may be left out, so that all that follows would be hidden.
_HIDEABLE = parse_vocabulary(
    "div span section article aside nav header footer main blockquote a b i em strong ul ol table"
)
_MAX_DEPTH = 50  # lists in lists whose items are led by those around them


class _PageReader(HTMLParser):
    """Collects the blocks of a page. A tag that is not closed ends with the next one that breaks a line."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.blocks: list[Block] = []
        self._parts: list[str] = []
        self._hidden: list[str] = []
        self._level = 0
        self._items: list[str | None] = []  # the open items, outermost first; None before their own text
        self._lists: list[int] = []  # the open lists, by the number of items around each
        self._is_code = False
        self._header: tuple[str, ...] = ()
        self._row: list[str] | None = None
        self._is_header_row = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if self._hidden:
            if tag == self._hidden[-1]:
                self._hidden.append(tag)
            return
        if tag in _HIDDEN or (tag in _HIDEABLE and _is_hidden(attrs)):
            self._hidden.append(tag)
        elif tag == "br":
            self._parts.append("\n")
        elif tag in _BREAKS:
            self._end_block()
            self._open(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in _HIDDEN:
            self.handle_starttag(tag, attrs)
            self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        if self._hidden:
            if tag == self._hidden[-1]:
                self._hidden.pop()
        elif tag in _BREAKS:
            self._end_block()
            self._close(tag)

    def handle_data(self, data: str) -> None:
        if not self._hidden:
            self._parts.append(data)

    def finish(self) -> list[Block]:
        """Return the blocks, with what no tag has ended."""
        self.close()
        self._end_block()
        self._end_row()
        return self.blocks

    def _open(self, tag: str) -> None:
        if tag in _HEADINGS or tag == "title":
            self._level = _HEADINGS.get(tag, 1)
        elif tag in ("ul", "ol", "menu"):
            self._lists.append(len(self._items))
        elif tag == "li":
            self._end_items(self._lists[-1] if self._lists else 0)
            if len(self._items) < _MAX_DEPTH:
                self._items.append(None)
        elif tag == "pre":
            self._is_code = True
        elif tag == "table":
            self._header = ()
        elif tag == "tr":
            self._end_row()
            self._row, self._is_header_row = [], True
        elif tag in ("td", "th") and self._row is not None:
            self._row.append("")
            self._is_header_row = self._is_header_row and tag == "th"

    def _close(self, tag: str) -> None:
        if tag in _HEADINGS or tag == "title":
            self._level = 0
        elif tag == "li":
            self._end_items(self._lists[-1] if self._lists else 0)
        elif tag in ("ul", "ol", "menu") and self._lists:
            self._end_items(self._lists.pop())
        elif tag == "pre":
            self._is_code = False
        elif tag in ("tr", "table"):
            self._end_row()

    def _end_block(self) -> None:
        """Make a block of the text so far, or part of a cell."""
        text, self._parts = "".join(self._parts), []
        text = text.strip("\n").rstrip() if self._is_code else " ".join(text.split())
        if not text.strip():
            return
        if self._row:
            self._row[-1] = f"{self._row[-1]} {text}".strip()
        elif self._level:
            self.blocks.append(Block(kind="heading", text=text, level=self._level))
        elif self._items:
            self._add_to_item(text)
        else:
            self.blocks.append(Block(kind="code" if self._is_code else "text", text=text))

    def _add_to_item(self, text: str) -> None:
        is_first = self._items[-1] is None
        lead = next((item for item in reversed(self._items) if item), "")
        if is_first:
            self._items[-1] = text
        kind: BlockKind = "code" if self._is_code else "item" if is_first else "text"
        self.blocks.append(Block(kind=kind, text=text, lead=lead))

    def _end_items(self, number: int) -> None:
        """End the open items but for the outermost `number`."""
        del self._items[number:]

    def _end_row(self) -> None:
        row, self._row = self._row, None
        if not row:
            return
        if self._is_header_row and not self._header:
            self._header = tuple(row)
        elif text := name_cells(self._header, row):
            self.blocks.append(Block(kind="row", text=text))


def read_html(text: str) -> Iterator[Block]:
    """Yield the blocks of an HTML text, without scripts, styles and what is marked as hidden.

    Raises BadInput for a declaration that the parser does not read."""
    reader = _PageReader()
    try:
        reader.feed(text)
        blocks = reader.finish()
    except AssertionError as error:
        raise BadInput("has a declaration that cannot be read as HTML") from error
    yield from blocks


def _is_hidden(attributes: list[tuple[str, str | None]]) -> bool:
    return any(name == "hidden" or (name == "aria-hidden" and value == "true") for name, value in attributes)
