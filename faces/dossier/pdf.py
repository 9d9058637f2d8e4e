"""A dossier as a PDF, whose text can be selected and searched, Chinese included.

The fonts are those that every reader of PDF brings, and none is embedded, unless one is given. A letter that they lack
is in the text of the PDF and is not drawn; which ones there are is told."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Set as AbstractSet
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
from muniment.faces.dossier.letters import CHINESE, OWN, LetterFaults, Letters
from muniment.faces.wording.texts import Texts
from muniment.memory.errors import BadInput

_INK, _SOFT, _LINE, _ACCENT = (HexColor(each) for each in ("#1d2327", "#5d6872", "#c9ced2", "#23527c"))
_CJK = re.compile(r"[\u2e80-\u9fff\uf900-\ufaff\uff00-\uffef]")
_MARGIN = 18 * mm
_SIZES = {"title": 22.0, "h1": 15.0, "h2": 11.5, "text": 10.0, "hint": 8.8, "entry": 10.4, "detail": 8.6, "quote": 9.2}
_MAX_WHOLE = 2_000  # characters of a statement that stands on one page with its details
_TITLE_PARAGRAPHS = 2  # of the title and the line below it
_LABEL_WIDTH = 96.0  # points to the left of a detail
_WIDE_LABEL = 122.0  # to the left of what a row of a table says
_LANGUAGES = {"zh": "zh-Hans"}


def write_pdf(
    content: Iterable[blocks.Block], texts: Texts, user: str, file: IO[bytes], font: Path | None
) -> LetterFaults:
    """Write the blocks as a PDF, and return the letters that are not seen as they should be; the PDF says so, too. It
    takes memory by its pages.

    `font` is a TrueType file that is embedded and goes before the usual fonts. Raises BadInput for one that is none."""
    pdfmetrics.registerFont(UnicodeCIDFont(CHINESE))
    letters = Letters(_register_own(font) if font else None)
    document = _Document(file, texts("dossier.title", user=user), letters, texts.language)
    flowables = [flowable for block in content for flowable in _lay_out(block, letters, texts)]
    flowables[_TITLE_PARAGRAPHS:_TITLE_PARAGRAPHS] = _lay_faults(letters, texts)
    document.build(flowables)
    return letters.faults


def _lay_faults(letters: Letters, texts: Texts) -> list[Flowable]:
    """Return what a reader has to know of letters that they do not see as they should be."""
    faults = letters.faults
    if not faults.missing and not faults.unjoined:
        return []
    scripts = ", ".join(faults.list_scripts())
    count = faults.missing.total() + faults.unjoined.total()
    said = texts.format_count("dossier.not_drawn", count, scripts=scripts)
    return [_set(said, "text", letters, color=_ACCENT, after=10)]


class _Document(BaseDocTemplate):  # type: ignore[misc]  # the library has no types
    """Pages with a footer, and an outline of the sections."""

    def __init__(self, file: IO[bytes], title: str, letters: Letters, language: str) -> None:
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


def _register_own(font: Path) -> AbstractSet[int]:
    """Register a font, and return the code points that it has."""
    try:
        own = TTFont(OWN, str(font))
    except (OSError, TTFError) as error:
        raise BadInput(f"{font}: is no TrueType font that can be embedded ({error})") from error
    pdfmetrics.registerFont(own)
    return frozenset(own.face.charToGlyph)


def _lay_out(block: blocks.Block, letters: Letters, texts: Texts) -> Iterator[Flowable]:
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


def _lay_contents(block: blocks.Contents, letters: Letters, texts: Texts) -> Iterator[Flowable]:
    yield _set(texts("dossier.contents"), "h2", letters, bold=True, before=8, after=2)
    for text, anchor in block.sections:
        link = f'<a href="#{escape(anchor)}">{letters.mark_up(text)}</a>'
        yield _set(text, "text", letters, color=_ACCENT, markup=link)


def _lay_figures(block: blocks.Figures, letters: Letters) -> Iterator[Flowable]:
    for number, what in block.rows:
        count = f'<font name="{letters.bold}" size="13">{letters.mark_up(number)}</font>'
        yield _set(what, "text", letters, markup=f"{count}  {letters.mark_up(what)}", after=3)


def _lay_heading(block: blocks.Heading, letters: Letters) -> Iterator[Flowable]:
    is_section = block.level == 1
    if is_section:
        yield HRFlowable(width="100%", thickness=1.2, color=_INK, spaceBefore=20, spaceAfter=7)
    color, before = (_INK, 0) if is_section else (_ACCENT, 12)
    size = f"h{block.level}"
    heading = _set(block.text, size, letters, bold=True, color=color, before=before, after=3, follows=True)
    heading.anchor, heading.level = block.anchor, block.level
    yield heading


def _lay_entry(entry: blocks.Entry, letters: Letters) -> Iterator[Flowable]:
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


def _lay_row(block: blocks.Columns | blocks.Line, letters: Letters) -> Iterator[Flowable]:
    """Lay out a row of a table: its only short cell beside the long one; several in one line above it."""
    if isinstance(block, blocks.Columns):
        yield _set(" · ".join(block.names), "detail", letters, bold=True, color=_SOFT, before=4, after=2)
        yield HRFlowable(width="100%", thickness=0.6, color=_INK, spaceBefore=0, spaceAfter=4)
        return
    *short, long = block.cells
    if len(short) == 1:  # beside each other
        yield _set(long, "detail", letters, after=3, label=short[0], label_width=_WIDE_LABEL)
        return
    yield _set(" · ".join(short), "hint", letters, color=_SOFT, follows=True)
    yield _set(long, "detail", letters, after=5)


def _set(
    text: str,
    size: str,
    letters: Letters,
    *,
    color: Any = _INK,
    bold: bool = False,
    before: float = 0,
    after: float = 0,
    indent: float = 0,
    follows: bool = False,
    markup: str | None = None,
    label: str | None = None,
    label_width: float = _LABEL_WIDTH,
) -> Paragraph:
    """Return a paragraph, perhaps with a label to its left. Chinese is broken between characters, everything else
    between words."""
    points = _SIZES[size]
    marked = letters.mark_up(text) if markup is None else markup
    if label is not None:
        indent = label_width
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
