"""Finds lines that a machine wrote or reads: JSON, YAML, tables, logs, code and commands."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from muniment.memory.rules.language.lazy_regex import lazy_compile

_OBJECT = lazy_compile(r"\{\s{0,20}[\"'][^\"'\n]{1,60}[\"']\s{0,20}:|\[\s{0,20}\{")
_LOG = lazy_compile(
    r"^.*\[(?:INFO|DEBUG|WARN(?:ING)?|ERROR|TRACE)\].*$"
    r"|^[ \t]*\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d"
    r"(?::\d\d[^\s]{0,14}[ \t]+\S|[^\n]{0,12}\b(?:INFO|DEBUG|WARN(?:ING)?|ERROR|TRACE|FATAL)\b).*$",
    re.MULTILINE,
)
_COMMAND = lazy_compile(
    r"^[ \t]*(?:(?:\$|❯|➜)[ \t]+[a-z./]|[\w.-]{1,32}@[\w.-]{1,32}[:~][^$#\n]{0,40}[$#][ \t]|PS [A-Z]:\\"
    r"|[A-Z]:\\[^>\n]{0,60}>|Traceback \(most recent call|(?:SELECT|INSERT INTO|UPDATE|DELETE FROM|CREATE TABLE)[ ]\S)",
    re.MULTILINE,
)
_CODE = lazy_compile(
    r"[ \t]*(?:import[ ][\w.]+|from[ ][\w.]+[ ]import[ ].*|(?:async[ ])?(?:def|class|fn|func|function)[ ]\w+[ ]?[({:].*"
    r"|#include.*|(?:const|let|var)[ ]\w+[ ]?=.*|[\w.\[\]\"']+[ ]?[+-]?=[ ]?[^\s=].*|//.*|/\*.*|[}\])]+[;,]?"
    r"|(?:if|for|while|elif|switch)[ ]?\(.*|return[ ].*|(?:SELECT|INSERT|UPDATE|DELETE|CREATE)[ ].*)[ \t]*"
)
_LINE = lazy_compile(r"[^\n]+")
_KEY = lazy_compile(r"^(?P<indent>[ \t]*)(?:-[ ])?[a-z_][\w.-]{0,40}:(?P<value>[ ].*)?$", re.MULTILINE)
_CELLS = lazy_compile(r"^[^\s,;|\t]+(?:[,;|\t][^\s,;|\t]+){2,}$", re.MULTILINE)
_ROW = lazy_compile(r"^[ \t]*\|.*\|[ \t]*$|^[^\n\t]+\t.*$", re.MULTILINE)
_SEPARATOR = lazy_compile(r"[,;|\t]")
_NEEDED = (
    "\n",
    ":",
    "{",
    "[",
    "$",
    "(",
    "|",
    "\t",
    ">",
    "#",
    "❯",
    "➜",
    "=",
    "INSERT",
    "SELECT",
    "CREATE",
    "UPDATE",
    "DELETE",
)
_LEAST = 2  # lines of a listing


def find_listing_spans(text: str) -> Iterator[tuple[int, int]]:
    """The spans of machine-made lines. Between two of a kind, the text is theirs."""
    if not any(mark in text for mark in _NEEDED):
        return
    if opening := _OBJECT.search(text):
        closing = max(text.rfind("}"), text.rfind("]"))
        is_closed = closing > opening.end() and not _OBJECT.search(text, closing)
        yield opening.start(), closing + 1 if is_closed else len(text)
    yield from _span_all([match.span() for match in _LOG.finditer(text)], 1)
    yield from _span_all([line.span() for line in _LINE.finditer(text) if _is_code(line.group())], _LEAST)
    if command := _COMMAND.search(text):
        last = max(match.end() for match in _COMMAND.finditer(text))
        yield command.start(), _find_paragraph_end(text, last)
    yield from _span_all([row.span() for row in _ROW.finditer(text)], _LEAST)
    yield from _find_keys(text)
    yield from _find_tables(text)


def _is_code(line: str) -> bool:
    bare = line.rstrip()
    return (bare.endswith((";", "{")) and any(mark in bare for mark in "=(){}")) or _CODE.fullmatch(bare) is not None


def _span_all(spans: list[tuple[int, int]], least: int) -> Iterator[tuple[int, int]]:
    if len(spans) >= least:
        yield spans[0][0], spans[-1][1]


def _find_paragraph_end(text: str, at: int) -> int:
    end = text.find("\n\n", at)
    return len(text) if end < 0 else end


def _find_keys(text: str) -> Iterator[tuple[int, int]]:
    """Keys below a key: a person's list has one level."""
    found = list(_KEY.finditer(text))
    if any(
        not upper["value"] and len(lower["indent"]) > len(upper["indent"]) and lower.start() == upper.end() + 1
        for upper, lower in pairwise(found)
    ):
        yield found[0].start(), _find_paragraph_end(text, found[-1].end())


def _find_tables(text: str) -> Iterator[tuple[int, int]]:
    """Rows below a row of single words without a space after its commas."""
    done = 0
    for header in _CELLS.finditer(text):
        if header.start() < done:
            continue
        width = len(_SEPARATOR.findall(header.group()))
        line_end = text.find("\n", header.end() + 1)
        row = text[header.end() + 1 : len(text) if line_end < 0 else line_end]
        if len(_SEPARATOR.findall(row)) >= width:
            done = _find_paragraph_end(text, header.end())
            yield header.start(), done
