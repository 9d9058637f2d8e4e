"""A dossier as a PDF, whose text can be selected and searched, Chinese included.

The fonts are those that every reader of PDF brings, and none is embedded, unless one is given. A character that they
lack is in the text of the PDF and is not drawn; how many there are is counted."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Any
from xml.sax.saxutils import escape

from reportlab.lib.colors import HexColor
from reportlab.lib.pagesizes import A4
from reportlab.lib.styles import ParagraphStyle
from reportlab.lib.units import mm
from reportlab.pdfbase import pdfmetrics
from reportlab.pdfbase.cidfonts import UnicodeCIDFont
from reportlab.pdfbase.ttfonts import TTFError, TTFont
from reportlab.platypus import BaseDocTemplate, Flowable, Frame, HRFlowable, KeepTogether, PageTemplate, Paragraph

from muniment.faces.dossier import blocks
from muniment.faces.wording.texts import Texts
from muniment.memory.errors import BadInput

_INK, _SOFT, _LINE, _ACCENT = (HexColor(each) for each in ("#1d2327", "#5d6872", "#c9ced2", "#23527c"))
_LATIN, _BOLD, _CHINESE, _OWN = "Helvetica", "Helvetica-Bold", "STSong-Light", "muniment-own"
_NOT_LATIN = re.compile(r"[^\x00-\xff]+")  # what the fonts of Latin letters lack
_TYPOGRAPHIC = "–—‘’‚“”„†‡•…‰‹›€™"  # that they have besides
_CJK = re.compile(r"[\u2e80-\u9fff\uf900-\ufaff\uff00-\uffef]")
_MARGIN = 18 * mm
_SIZES = {"title": 22.0, "h1": 15.0, "h2": 11.5, "text": 10.0, "hint": 8.8, "entry": 10.4, "detail": 8.6, "quote": 9.2}
_MAX_WHOLE = 2_000  # characters of a statement that stands on one page with its details
_LABEL_WIDTH = 96.0  # points to the left of a detail
_LANGUAGES = {"zh": "zh-Hans"}


def write_pdf(content: Iterable[blocks.Block], texts: Texts, user: str, file: IO[bytes], font: Path | None) -> int:
    """Write the blocks as a PDF, and return how many characters its fonts cannot draw. It takes memory by its pages.

    `font` is a TrueType file that is embedded in place of the usual fonts. Raises BadInput for one that is none."""
    letters = _Letters(_register_own(font) if font else None)
    document = _Document(file, texts("dossier.title", user=user), letters, texts.language)
    document.build([flowable for block in content for flowable in _lay_out(block, letters, texts)])
    return letters.missing


class _Letters:
    """Marks up a text with the fonts that have its characters, and counts those that none has."""

    def __init__(self, own: str | None) -> None:
        self.own, self.missing = own, 0
        self.latin, self.bold = own or _LATIN, own or _BOLD
        if own is None:
            pdfmetrics.registerFont(UnicodeCIDFont(_CHINESE))

    def mark_up(self, text: str) -> str:
        """Return a text for a paragraph: its lines, and its runs by the font that has them."""
        if self.own is None:
            marked = _NOT_LATIN.sub(self._choose_font, escape(text))
        else:
            widths = pdfmetrics.getFont(self.own).face.charToGlyph
            self.missing += sum(ord(char) not in widths for char in text if char.isprintable())
            marked = escape(text)
        return marked.replace("\n", "<br/>")

    def _choose_font(self, match: re.Match[str]) -> str:
        run = match[0]
        if all(char in _TYPOGRAPHIC for char in run):
            return run
        self.missing += sum(not _is_drawn(char) for char in run)
        return f'<font name="{_CHINESE}">{run}</font>'


def _is_drawn(char: str) -> bool:
    """Whether the Chinese font of a reader has a character: those of GBK."""
    try:
        char.encode("gbk")
    except UnicodeEncodeError:
        return False
    return True


class _Document(BaseDocTemplate):  # type: ignore[misc]  # the library has no types
    """Pages with a footer, and an outline of the sections."""

    def __init__(self, file: IO[bytes], title: str, letters: _Letters, language: str) -> None:
        super().__init__(
            file,
            pagesize=A4,
            leftMargin=_MARGIN,
            rightMargin=_MARGIN,
            topMargin=_MARGIN,
            bottomMargin=_MARGIN,
            title=title,
            author="Muniment",
            lang=_LANGUAGES.get(language, language),
        )
        frame = Frame(_MARGIN, _MARGIN, A4[0] - 2 * _MARGIN, A4[1] - 2 * _MARGIN, 0, 0, 0, 0)
        self.addPageTemplates(PageTemplate("page", [frame], onPage=self._draw_footer))
        self._title, self._letters = title, letters

    def _draw_footer(self, canvas: Any, _: Any) -> None:
        style = ParagraphStyle("footer", fontName=self._letters.latin, fontSize=7.8, textColor=_SOFT)
        footer = Paragraph(f"{self._letters.mark_up(self._title)} · {canvas.getPageNumber()}", style)
        footer.wrapOn(canvas, A4[0] - 2 * _MARGIN, _MARGIN)
        footer.drawOn(canvas, _MARGIN, 9 * mm)

    def afterFlowable(self, flowable: Flowable) -> None:  # noqa: N802 - the name that the library calls
        """Note a heading in the outline."""
        anchor, level = getattr(flowable, "anchor", None), getattr(flowable, "level", 1)
        if anchor is not None:
            self.canv.bookmarkPage(anchor)
            self.canv.addOutlineEntry(flowable.getPlainText(), anchor, level - 1, closed=level > 1)


def _register_own(font: Path) -> str:
    try:
        pdfmetrics.registerFont(TTFont(_OWN, str(font)))
    except (OSError, TTFError) as error:
        raise BadInput(f"{font}: is no TrueType font that can be embedded ({error})") from error
    return _OWN


def _lay_out(block: blocks.Block, letters: _Letters, texts: Texts) -> Iterator[Flowable]:
    match block:
        case blocks.Contents():
            yield from _lay_contents(block, letters, texts)
        case blocks.Figures():
            yield from _lay_figures(block, letters)
        case blocks.Heading():
            yield from _lay_heading(block, letters)
        case blocks.Entry():
            yield from _lay_entry(block, letters)
        case blocks.Columns() | blocks.Line():
            yield from _lay_row(block, letters)
        case blocks.Title(text, below):
            yield _set(text, "title", letters, bold=True, after=4)
            yield _set(below, "hint", letters, color=_SOFT, after=14)
        case blocks.Paragraph(text, is_hint):
            yield _set(
                text, "hint" if is_hint else "text", letters, color=_SOFT if is_hint else _INK, after=6, follows=is_hint
            )


def _lay_contents(block: blocks.Contents, letters: _Letters, texts: Texts) -> Iterator[Flowable]:
    yield _set(texts("dossier.contents"), "h2", letters, bold=True, before=8, after=2)
    for text, anchor in block.sections:
        link = f'<a href="#{escape(anchor)}">{letters.mark_up(text)}</a>'
        yield _set(text, "text", letters, color=_ACCENT, markup=link)


def _lay_figures(block: blocks.Figures, letters: _Letters) -> Iterator[Flowable]:
    for number, what in block.rows:
        count = f'<font name="{letters.bold}" size="13">{letters.mark_up(number)}</font>'
        yield _set(what, "text", letters, markup=f"{count}  {letters.mark_up(what)}", after=3)


def _lay_heading(block: blocks.Heading, letters: _Letters) -> Iterator[Flowable]:
    is_section = block.level == 1
    if is_section:
        yield HRFlowable(width="100%", thickness=1.2, color=_INK, spaceBefore=20, spaceAfter=7)
    color, before = (_INK, 0) if is_section else (_ACCENT, 12)
    size = f"h{block.level}"
    heading = _set(block.text, size, letters, bold=True, color=color, before=before, after=3, follows=True)
    heading.anchor, heading.level = block.anchor, block.level
    yield heading


def _lay_entry(entry: blocks.Entry, letters: _Letters) -> Iterator[Flowable]:
    parts = [_set(entry.text, "entry", letters, after=3)]
    for text, who in entry.quotes:
        parts.append(_set(text, "quote", letters, indent=10))
        parts.append(_set(who, "hint", letters, color=_SOFT, indent=10, after=3))
    parts += [_set(value, "detail", letters, label=name) for name, value in entry.details]
    if len(entry.text) < _MAX_WHOLE:
        yield KeepTogether(parts)
    else:
        yield from parts
    yield HRFlowable(width="100%", thickness=0.4, color=_LINE, spaceBefore=6, spaceAfter=7)


def _lay_row(block: blocks.Columns | blocks.Line, letters: _Letters) -> Iterator[Flowable]:
    """Lay out a row of a table: the short cells in one line, and below them the long one."""
    if isinstance(block, blocks.Columns):
        yield _set(" · ".join(block.names), "detail", letters, bold=True, color=_SOFT, before=4, after=2)
        yield HRFlowable(width="100%", thickness=0.6, color=_INK, spaceBefore=0, spaceAfter=4)
        return
    *short, long = block.cells
    yield _set(" · ".join(short), "hint", letters, color=_SOFT, follows=True)
    yield _set(long, "detail", letters, after=5)


def _set(
    text: str,
    size: str,
    letters: _Letters,
    *,
    color: Any = _INK,
    bold: bool = False,
    before: float = 0,
    after: float = 0,
    indent: float = 0,
    follows: bool = False,
    markup: str | None = None,
    label: str | None = None,
) -> Paragraph:
    """Return a paragraph, perhaps with a label to its left. Chinese is broken between characters, everything else
    between words."""
    points = _SIZES[size]
    marked = letters.mark_up(text) if markup is None else markup
    if label is not None:
        indent = _LABEL_WIDTH
        marked = f"<bullet>{letters.mark_up(label)}</bullet>{marked}"
    style = ParagraphStyle(
        size,
        fontName=letters.bold if bold else letters.latin,
        fontSize=points,
        leading=points * 1.42,
        textColor=color,
        spaceBefore=before,
        spaceAfter=after,
        leftIndent=indent,
        bulletFontName=letters.latin,
        bulletFontSize=points,
        bulletColor=_SOFT,
        keepWithNext=follows,
        wordWrap="CJK" if _CJK.search(text) else None,
        splitLongWords=True,
    )
    return Paragraph(marked, style)
