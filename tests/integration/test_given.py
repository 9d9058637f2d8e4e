"""What no door takes: numbers that are none or too large, and values that JSON or the database cannot hold."""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from typing import Any, get_type_hints

import pytest

from muniment.memory.admin import Admin
from muniment.memory.client import Conversation, Memory
from muniment.memory.configuration import Configuration
from muniment.memory.domain.layers.session import SessionRequest
from muniment.memory.domain.query import Filters, ListRequest, Query
from muniment.memory.domain.scope import Scope
from muniment.memory.doors import Replays
from muniment.memory.errors import BadInput, NotFound
from muniment.memory.jobs import Jobs
from muniment.memory.projections import Projections
from muniment.memory.sessions import Sessions
from muniment.memory.transfer.imports import Imports
from muniment.memory.transfer.personal_data import PersonalData
from tests.engine import engine, note, said, scope

_TAKES_NUMBER = re.compile(r"\b(int|float|Revision)\b")
DOORS = (Memory, Conversation, Sessions, Projections, Configuration, Admin, Jobs, Replays, Imports, PersonalData)
NUMBERS = (math.nan, math.inf, -math.inf, 2**63, -(2**63) - 1, 2**200)
OBJECTS: list[tuple[Any, str]] = [
    ({"a": math.nan}, r"a: is not finite"),
    ({"a": {"b": [1, -math.inf]}}, r"a\.b\[1\]: is not finite"),
    ({"a": [2**70]}, r"a\[0\]: is a whole number beyond 64 bits"),
    ({"a": "x\0y"}, r"a: has a NUL"),
    ({"a\0": 1}, r"\(a name\): has a NUL"),
    ({"a": ["\ud800"]}, r"a\[0\]: has half a character"),
    ({"a": {"b": object()}}, r"a\.b: is no JSON value"),
    ({"a": {1: 2}}, r"a\.\(a name\): is no JSON value"),
    ([("a", 1)], ": is no object"),
]


def list_numbers(door: type[Any]) -> Iterator[tuple[str, str]]:
    """Each public method of a door with the parameters that take a number."""
    for name, method in inspect.getmembers(door, inspect.isfunction):
        if not name.startswith("_"):
            for parameter, kind in get_type_hints(inspect.unwrap(method)).items():
                words = str(kind)
                if parameter != "return" and _TAKES_NUMBER.search(words) and "Callable" not in words:
                    yield name, parameter


def list_number_fields(record: type[Any]) -> list[str]:
    """The fields of a record that take a number."""
    return [name for name, kind in get_type_hints(record).items() if _TAKES_NUMBER.search(str(kind))]


def change(record: Any, name: str, value: object) -> Any:
    """A record with another value, of any type."""
    return replace(record, **{name: value})


@pytest.fixture
async def memory(database_url: str) -> AsyncIterator[Memory]:
    async with engine(database_url) as opened:
        await opened.ingest(scope(), [note("Green tea in the morning")])
        await opened.conversation.record(scope(), [said("I like green tea")])
        yield opened


async def call(door: object, name: str, **given: Any) -> None:
    """Call a method with these arguments, and None for all others that it wants."""
    method = getattr(door, name)
    wanted = {each.name: None for each in inspect.signature(method).parameters.values() if each.default is each.empty}
    result = method(**wanted | given)
    if inspect.isasyncgen(result):
        await anext(result)
    elif inspect.isawaitable(result):
        await result


async def test_each_number_of_each_door(memory: Memory) -> None:
    """Before anything is done, also where the rest of the call makes no sense."""
    doors = (memory, memory.conversation, *(door(memory.engine) for door in DOORS[2:]))
    for door in doors:
        for name, parameter in list_numbers(type(door)):
            for number in NUMBERS:
                with pytest.raises(BadInput, match=rf"^{parameter}: is (not finite|a whole number beyond 64 bits)"):
                    await call(door, name, **{parameter: number})


def test_the_doors_with_numbers_are_found() -> None:
    """The walk sees what it is for."""
    found = {f"{door.__name__}.{name}({parameter})" for door in DOORS for name, parameter in list_numbers(door)}
    assert {"Memory.list(offset)", "Sessions.keep(days)", "Admin.read_activity(changes)", "Conversation.mark_seen(rev)",
            "Configuration.change_settings(expected_rev)", "Projections.list(as_of)"} <= found  # fmt: skip


async def test_each_number_of_a_record(memory: Memory) -> None:
    """The path to it is named."""
    asked, listing = Query(text="tea"), ListRequest()
    for name in list_number_fields(Query):
        with pytest.raises(BadInput, match=rf"^query\.{name}: is not finite"):
            await memory.query(scope(), "supervisor", change(asked, name, math.nan))
    for name in list_number_fields(Filters):
        filters = change(Filters(), name, math.inf)
        with pytest.raises(BadInput, match=rf"^query\.filters\.{name}: is not finite"):
            await memory.query(scope(), "supervisor", replace(asked, filters=filters))
    for name in list_number_fields(ListRequest):
        with pytest.raises(BadInput, match=rf"^listing\.{name}: is not finite"):
            await memory.list_page(scope(), change(listing, name, math.nan))


async def test_objects(memory: Memory) -> None:
    """Metadata of a session and payloads of turns: the path is named, and nothing is kept of them."""
    before = await memory.sessions.get(scope(), "A")
    for given, told in OBJECTS:
        with pytest.raises(BadInput, match=f"^metadata.?{told}"):
            await memory.sessions.describe(scope(), "A", given)
        with pytest.raises(BadInput, match=f"^payload.?{told}"):
            await memory.conversation.record(scope(), [replace(said("I like milk"), payload=given)])
    assert await memory.sessions.get(scope(), "A") == before


async def test_an_object_without_an_end(memory: Memory) -> None:
    """What is nested deeper than a program can follow is refused, too."""
    deep: dict[str, Any] = {}
    for _ in range(100_000):
        deep = {"a": deep}
    with pytest.raises(BadInput, match="metadata: is nested too deeply"):
        await memory.sessions.describe(scope(), "A", deep)


async def test_names_with_what_cannot_be_stored(memory: Memory) -> None:
    """Of a scope, of a session, of a filter: the field is named."""
    for unfit, problem in (("a\0", "has a NUL"), ("\ud800", "has half a character")):
        names: dict[str, Any] = {"owner": "ana"}
        for name in ("owner", "tenant", "session", "project", "app", "actor", "thread", "run", "agent"):
            with pytest.raises(BadInput, match=f"{name}: has"):
                Scope(**names | {name: unfit})
        with pytest.raises(BadInput, match=f"^session: {problem}"):
            await memory.sessions.end(scope(), unfit)
        with pytest.raises(BadInput, match=f"^session: {problem}"):
            await memory.sessions.search(scope(), "tea", session=unfit)
        with pytest.raises(BadInput, match=rf"^query\.filters\.topic: {problem}"):
            await memory.query(scope(), "supervisor", Query(text="tea", filters=Filters(topic=unfit)))
        with pytest.raises(BadInput, match=rf"^turns\[0\]\.session: {problem}"):
            await memory.conversation.record(scope(), [replace(said("I like milk"), session=unfit)])
        with pytest.raises(BadInput, match=f"^by: {problem}"):
            await memory.configuration.change_settings({"recall.top_k": 3}, by=unfit)


async def test_candidates(memory: Memory) -> None:
    """One by one and as a stream; of a stream the one is named, and what came before it is kept."""
    for field, number in (("importance", 2**70), ("confidence", math.nan)):
        bad = change(note("Milk is white"), field, number)
        with pytest.raises(BadInput, match=rf"^candidates\[0\]\.{field}: is"):
            await memory.keep_candidates(scope(), [bad])
        with pytest.raises(BadInput, match=rf"^candidates\[1\]\.{field}: is"):
            await memory.ingest(scope(), iter([note(f"Snow is white and has no {field}"), bad]))
    texts = {each.text for each in await memory.list(scope())}
    assert "Milk is white" not in texts


async def test_ranges(memory: Memory) -> None:
    """Below and above what a page has; a number with a point is no number of rows."""
    for number in (-1, 1.5, 2**40, True):
        given: Any = number
        for wrong in (
            memory.projections.list(scope(), offset=given),
            memory.projections.list_skills(scope(), offset=given),
            memory.sessions.list(scope(), SessionRequest(offset=given)),
            memory.list(scope(), offset=given),
            memory.admin.read_activity(scope(), 1, changes=given),
            memory.configuration.read_history(limit=given),
        ):
            with pytest.raises(BadInput, match=r"^(offset|changes|limit): is"):
                await wrong
    with pytest.raises(NotFound):
        await memory.sessions.get(scope(), "unknown", since=2**31 - 1)
