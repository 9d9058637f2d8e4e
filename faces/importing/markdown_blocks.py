"""Blocks of a text in Markdown: what each says, and the headings above it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from muniment.memory.bootstrap import count_words, read_markdown

_LINK = re.compile(r"!?\[\[([^\[\]|#^]{1,300})(?:[#^][^\[\]|]{0,300})?(?:\|([^\[\]]{1,300}))?\]\]")
_FEW_WORDS = 2  # a block of no more says nothing without the heading above it
_TITLE = re.compile(
    r"(?:\*\*|__)(?P<words>[^*_\n]{1,200})(?:\*\*|__)\s*:?\s*\Z"
)  # a line in bold: a heading in all but its mark
_FILE = re.compile(r"[^.]\.(?!md\b|markdown\b)\w{1,5}\Z", re.IGNORECASE)  # the end of a name of what is no note
_PIECE_CHARS = 2**16  # from which a text is cut where a new block begins
# What begins a block whatever stands before it, but for what is open: code, a comment, or a page's own elements.
_BEGINS = re.compile(r"#{1,6}[ \t]|[-*+][ \t]+[^\s*+-]")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)")
_OPENS = re.compile(r" {0,3}<(?P<kind>!--|pre\b|script\b|style\b|textarea\b)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class MarkdownBlock:
    """A paragraph, an item of a list, a row of a table or a piece of code; `headings` from the outermost."""

    text: str
    headings: str


def list_blocks(lines: Iterable[str]) -> Iterator[MarkdownBlock]:
    """Yield the blocks of a text, given as its lines, in their order. Links between notes are their words.

    It is read in pieces, so that memory does not grow with the text."""
    headings: list[tuple[int, str]] = []
    for piece in _split_pieces(lines):
        for block in read_markdown(piece):
            words = _LINK.sub(_name_link, block.text)
            if block.kind == "heading":
                headings = [each for each in headings if each[0] < block.level] + [(block.level, words)]
                continue
            above = " > ".join(heading for _, heading in headings)
            lead = _LINK.sub(_name_link, block.lead) or (headings[-1][1] if headings else "")
            if lead and 0 < count_words(words) <= _FEW_WORDS:
                words = f"{lead.rstrip(':：')}: {words}"
            yield MarkdownBlock(words, above)


def _name_link(match: re.Match[str]) -> str:
    """Return the words of a link between notes; a picture or another file that is shown in one says nothing."""
    return "" if match[0].startswith("!") and _FILE.search(match[1]) else match[2] or match[1]


def _split_pieces(lines: Iterable[str]) -> Iterator[str]:
    """Yield a text in pieces that mean by themselves what they mean in it; a text that is not long is one piece."""
    piece: list[str] = []
    size, closing, was_blank = 0, "", True
    for given in lines:
        line = given
        if was_blank and not closing and (title := _TITLE.match(given)):
            line = f"###### {title['words'].rstrip(' :：')}\n"
        if size >= _PIECE_CHARS and not closing and _begins_block(line, after_blank=was_blank):
            yield "".join(piece)
            piece, size = [], 0
        piece.append(line)
        size += len(line)
        closing = _find_closing(line, closing)
        was_blank = not line.strip()
    if piece:
        yield "".join(piece)


def _begins_block(line: str, *, after_blank: bool) -> bool:
    # Three dashes at the beginning of a text would be taken for its front matter.
    return bool(_BEGINS.match(line)) or (after_blank and not line[:1].isspace() and not line.startswith("---"))


def _find_closing(line: str, closing: str) -> str:
    """Return what closes the code or the element that is open after a line, empty where none is."""
    if closing.startswith(("`", "~")):
        return "" if line.strip().startswith(closing) and not line.strip().strip(closing[0]) else closing
    if closing:
        return "" if closing in line.lower() else closing
    if (fence := _FENCE.match(line)) and not (fence[1][0] == "`" and "`" in fence[2]):
        return fence[1]
    if opened := _OPENS.match(line):
        kind = opened["kind"].lower()
        end = "-->" if kind == "!--" else f"</{kind}>"
        return "" if end in line[opened.end() :].lower() else end
    return ""
