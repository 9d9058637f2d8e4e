"""The golden files: of each its name and what makes its text."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache, partial
from itertools import pairwise
from typing import Any

from tests.golden import inputs, pairs, subjects, surfaces

_ROW = 8  # texts that are taken for the messages of a day or two
_EVERY_ROW, _EVERY_NEIGHBOUR = 6, 6  # of the rows and the neighbours one in so many is looked at
_SHORT = 160


@cache
def records(sort: str) -> list[inputs.Record]:
    """The frozen inputs of a sort."""
    return _all()[sort]


@cache
def _all() -> dict[str, list[inputs.Record]]:
    return inputs.load()


def _texts() -> list[str]:
    return [one["text"] for one in records("text")]


def _lines(found: Iterable[tuple[object, Mapping[str, Any]]]) -> str:
    """A line for each input of which something is said, with its place among those of its sort."""
    rows = ({"#": place, **said} for place, said in found if said)
    return "".join(json.dumps(row, ensure_ascii=False, separators=(",", ":")) + "\n" for row in rows)


def _of_texts(read: Callable[[str], subjects.Plain], every: int) -> str:
    return _lines((place, read(text)) for place, text in enumerate(_texts()) if place % every == 0)


def _pairs() -> str:
    return _lines((place, pairs.merging(one["a"], one["b"])) for place, one in enumerate(records("pair")))


def _neighbours() -> str:
    return _lines(_compared())


def _compared() -> Iterator[tuple[int, subjects.Plain]]:
    for place, (a, b) in enumerate(pairwise(_texts())):
        if place % _EVERY_NEIGHBOUR == 0 and max(len(a), len(b)) <= _SHORT:
            yield place, subjects.neighbours(a, b)


def _episodes() -> str:
    texts = _texts()
    rows = range(0, len(texts), _ROW * _EVERY_ROW)
    return _lines((place, subjects.episodes(texts[place : place + _ROW])) for place in rows)


server = surfaces.server
# What needs nothing but the inputs.
PURE: Mapping[str, Callable[[], str]] = {
    **{f"{read.__name__}.jsonl": partial(_of_texts, read, every) for read, every in subjects.TEXTS.items()},
    "merging.jsonl": _pairs,
    "neighbours.jsonl": _neighbours,
    "episodes.jsonl": _episodes,
    "commands.txt": surfaces.commands,
    "settings.txt": surfaces.settings,
    "names.txt": surfaces.names,
    "tools.json": surfaces.tool_schemas,
    "graphs.json": surfaces.graphs,
}
# What needs the address of a migrated database of its own.
STORED: Mapping[str, Callable[[str], str]] = {
    "schema.sql": surfaces.database,
    "search.jsonl": lambda url: surfaces.found(url, records("memory"), records("question")),
    "conversation.jsonl": lambda url: surfaces.learnt(url, records("turn"), model=False),
    "conversation_with_a_model.jsonl": lambda url: surfaces.learnt(url, records("turn"), model=True),
}
