"""Blocks of a text in Markdown: what each says, and the headings above it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from muniment.memory.bootstrap import read_markdown

_LINK = re.compile(r"!?\[\[([^\[\]|#^]{1,300})(?:[#^][^\[\]|]{0,300})?(?:\|([^\[\]]{1,300}))?\]\]")
_FEW_WORDS = 3  # a block of no more says nothing without the heading above it


@dataclass(frozen=True, slots=True)
class MarkdownBlock:
    """A paragraph, an item of a list, a row of a table or a piece of code; `headings` from the outermost."""

    text: str
    headings: str


def list_blocks(text: str) -> Iterator[MarkdownBlock]:
    """Yield the blocks of a text in their order. Links between notes are their words."""
    headings: list[tuple[int, str]] = []
    for block in read_markdown(text):
        words = _LINK.sub(lambda match: match[2] or match[1], block.text)
        if block.kind == "heading":
            headings = [each for each in headings if each[0] < block.level] + [(block.level, words)]
            continue
        above = " > ".join(heading for _, heading in headings)
        lead = _LINK.sub(lambda match: match[2] or match[1], block.lead) or (headings[-1][1] if headings else "")
        if lead and len(words.split()) <= _FEW_WORDS:
            words = f"{lead.rstrip(':：')}: {words}"
        yield MarkdownBlock(words, above)
