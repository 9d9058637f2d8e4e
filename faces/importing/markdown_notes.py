"""Notes in Markdown: MEMORY.md and files like CLAUDE.md, and folders of Obsidian with front matter, links and tags."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime
from itertools import chain, islice
from typing import Any

import yaml

from muniment.faces.importing import fields
from muniment.faces.importing.formats import ImportFiles
from muniment.faces.importing.markdown_blocks import list_blocks
from muniment.faces.importing.sources import read_lines
from muniment.memory.domain.layers.imports import ImportedMemory, ImportRecord, OmittedRecord
from muniment.memory.errors import BadInput

_ORIGIN = "markdown"
_MAX_LINE = 8 * 2**20  # characters of one line
_MAX_MATTER = 2**16  # characters of a front matter
_RULE = re.compile(r"---[ \t]*\r?\n?\Z")
_TIMES = ("updated", "modified", "date", "created", "created_at", "updated_at")
_TAG = re.compile(r"(?<![\w/&#])#([^\W\d][\w/-]{0,80})")
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
# `[2025-03-01] - words`: how an assistant is asked to list what it has saved.
_DATED = re.compile(r"\[?(\d{4}-\d{2}-\d{2})\]?\s*[-–—:]\s+(?=\S)")


class MarkdownFormat:
    """Notes in Markdown."""

    name = "markdown"
    title = "notes in Markdown, such as MEMORY.md and folders of Obsidian"

    def recognize_files(self, source: ImportFiles) -> bool:
        """Return whether there are notes, and no file in JSON."""
        return bool(source.texts) and not any(layout.kind != "other" for layout in source.layouts.values())

    def read(self, source: ImportFiles) -> Iterator[ImportRecord]:
        """Yield the blocks of each note as memories."""
        names = source.texts or list(source.files.names)
        for name in names:
            yield from _read_note(source, name)
        others = {each.rpartition(".")[2].lower() for each in source.files.names} - {"md", "markdown", "txt"}
        source.unread.note_names(f"files .{each}" for each in sorted(others) if len(names) < len(source.files.names))


def _read_note(source: ImportFiles, name: str) -> Iterator[ImportRecord]:
    lines = read_lines(source.files, name, _MAX_LINE)
    matter, body = _split_matter(lines, name)
    at = next((found for each in _TIMES if (found := _read_date(matter, each, name)) is not None), None)
    at = at or _read_day(name.rpartition("/")[2].partition(".")[0])  # a note of a day has it for its name
    shared = fields.make_tags(matter, source.unread, skip=(*_TIMES, "tags", "tag", "aliases", "alias", "title"))
    own_tags = tuple(_list_tags(matter))
    title = matter.get("title") if isinstance(matter.get("title"), str) else name.rpartition("/")[2].rpartition(".")[0]
    for number, block in enumerate(list_blocks(body), 1):
        place = f"{name}, block {number}"
        text = block.text
        if problem := fields.find_problem(text):
            yield OmittedRecord(place=place, reason=problem)
            continue
        dated = _DATED.match(text)
        when = _read_day(dated[1]) if dated else None
        text = text[dated.end() :] if dated and when else text
        yield ImportedMemory(
            place=place,
            origin=_ORIGIN,
            # Where it stands and of which day it is: a note that grows keeps the others.
            key=f"{name}#{block.headings}{f'/{when:%Y-%m-%d}' if when else ''}"[:280],
            text=text,
            at=when or at,
            tags=tuple(dict.fromkeys((*own_tags, *_TAG.findall(text), *shared))),
            context=" > ".join(each for each in (title, block.headings) if each) or None,
        )


def _split_matter(lines: Iterator[str], name: str) -> tuple[Mapping[str, Any], Iterator[str]]:
    """Return the front matter of a note, empty where it has none, and the lines of the rest. Raises BadInput."""
    taken, size, is_matter = list(islice(lines, 1)), 0, False
    if taken and _RULE.match(taken[0]):
        for line in lines:
            taken.append(line)
            size += len(line)
            if is_matter := bool(_RULE.match(line)):
                break
            if size > _MAX_MATTER:
                break
    matter = _parse_matter("".join(taken[1:-1]), name) if is_matter else None
    return ({}, chain(taken, lines)) if matter is None else (matter, lines)


def _parse_matter(text: str, name: str) -> Mapping[str, Any] | None:
    """Return the values of a front matter; None where it is a paragraph between two lines of dashes."""
    if "&" in text and "*" in text:
        raise BadInput(f"{name}: front matter: references between values are not read")
    try:
        matter = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        where = f", line {mark.line + 2}" if mark is not None else ""
        raise BadInput(f"{name}{where}: front matter: is no YAML") from error
    if matter is None:
        return {}
    return {str(key): value for key, value in matter.items()} if isinstance(matter, dict) else None


def _read_date(matter: Mapping[str, Any], field: str, name: str) -> datetime | None:
    value = matter.get(field)
    if isinstance(value, datetime):
        return value if value.tzinfo else value.replace(tzinfo=UTC)
    if isinstance(value, date):
        return datetime(value.year, value.month, value.day, tzinfo=UTC)
    try:
        return fields.read_time({field: value}, field, name) if isinstance(value, str) else None
    except BadInput:
        return None  # a date in the words of a person


def _read_day(words: str) -> datetime | None:
    """Return a day that is written as `2025-03-01`, None for other words."""
    if not _DAY.fullmatch(words):
        return None
    try:
        return datetime.fromisoformat(words).replace(tzinfo=UTC)
    except ValueError:
        return None


def _list_tags(matter: Mapping[str, Any]) -> Iterator[str]:
    """Yield the tags of a front matter: a list, or words with commas or blanks between them."""
    for field in ("tags", "tag"):
        value = matter.get(field)
        given = re.split(r"[,\s]+", value) if isinstance(value, str) else value if isinstance(value, list) else []
        yield from (each.lstrip("#") for each in given if isinstance(each, str) and each.lstrip("#"))
