"""Entries of a curated file: where they stand in its text, and texts with one entry more, another or fewer.

What is not changed stays to the character: blank lines, line ends, and whether the last line has an end."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

SEPARATOR = "§"
BETWEEN = f"\n{SEPARATOR}\n"  # of two entries, as they are counted and shown
_LINE = re.compile(r"[^\r\n]*(?:\r\n?|\n)|[^\r\n]+")
_LINE_END = re.compile(r"\r\n?|\n")


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry: its text with line feeds alone, where that stands in the text of the file, and where the part of the
    file begins that it has between two separators."""

    text: str
    start: int
    end: int
    part_start: int


def is_separator(line: str) -> bool:
    """Whether a line stands between two entries."""
    return line.strip() == SEPARATOR


def has_separator(text: str) -> bool:
    """Whether a line of the text would end an entry."""
    return SEPARATOR in text and any(map(is_separator, _LINE_END.split(text)))


def unify_line_ends(text: str) -> str:
    """Return the text with line feeds alone."""
    return _LINE_END.sub("\n", text)


def count_chars(texts: Sequence[str]) -> int:
    """Return how many characters (code points) entries have with the lines between them; each line end is one."""
    return len(BETWEEN.join(texts))


def find_entries(text: str) -> tuple[Entry, ...]:
    """Return the entries of a file's text in their order. What is blank between two separators is none."""
    found = []
    for _, first, last in _find_parts(text):
        part = text[first:last]
        if core := part.strip():
            start = first + len(part) - len(part.lstrip())
            found.append(Entry(unify_line_ends(core), start, start + len(core), first))
    return tuple(found)


def _find_parts(text: str) -> list[tuple[int, int, int]]:
    """The parts between separators: where the separator before it begins, the part itself, and its end."""
    separators = [match.span() for match in _LINE.finditer(text) if is_separator(match.group())]
    starts = [(0, 0), *separators]
    ends = [start for start, _ in separators] + [len(text)]
    return [(before, first, last) for (before, first), last in zip(starts, ends, strict=True)]


def append_entry(text: str, content: str) -> str:
    """Return the text with an entry more at its end. The content has no separator and no blanks around it."""
    newline = _find_newline(text)
    lead = text if not text or text.endswith(("\n", "\r")) else text + newline
    lines = [match.group() for match in _LINE.finditer(text) if match.group().strip()]
    if lines and not is_separator(lines[-1]):
        lead += SEPARATOR + newline
    return _keep_last_end(text, lead + content.replace("\n", newline) + newline)


def replace_entry(text: str, entry: Entry, content: str) -> str:
    """Return the text with another content in the place of an entry."""
    return text[: entry.start] + content.replace("\n", _find_newline(text)) + text[entry.end :]


def remove_entries(text: str, entries: Sequence[Entry]) -> str:
    """Return the text without some of its entries. Of the others each keeps the separator before it, but the first."""
    removed = {entry.part_start for entry in entries}
    kept = [part for part in _find_parts(text) if part[1] not in removed]
    parts = [text[first if number == 0 else before : last] for number, (before, first, last) in enumerate(kept)]
    return _keep_last_end(text, "".join(parts))


def _find_newline(text: str) -> str:
    """The line end that most lines have."""
    ends = _LINE_END.findall(text)
    return max(("\n", "\r\n", "\r"), key=ends.count)


def _keep_last_end(former: str, text: str) -> str:
    """The text with an end of its last line where the former text has one; a new file gets one."""
    had_end = not former or former.endswith(("\n", "\r"))
    has_end = text.endswith(("\n", "\r"))
    if had_end and not has_end and text:
        return text + _find_newline(former)
    if has_end and not had_end:
        return text.removesuffix("\n").removesuffix("\r") if text.endswith("\n") else text.removesuffix("\r")
    return text
