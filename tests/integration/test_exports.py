"""The formats of an export and the archive: what is written is as published, and comes back through each format."""

import copy
import hashlib
import io
import json
import zipfile
from collections.abc import AsyncIterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import jsonschema_rs
import psycopg
import pytest
from langgraph.store.memory import InMemoryStore
from markdown_it import MarkdownIt

from muniment.faces.transfer.archive import MANIFEST, check_archive, open_export, write_archive
from muniment.faces.transfer.formats import ExportFormat, load_schema, stream_format
from muniment.faces.transfer.markdown import escape_text
from muniment.memory.client import Memory
from muniment.memory.domain.layers.person import PERSON_TABLES
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import Candidate
from muniment.memory.errors import BadInput
from muniment.memory.stores.postgres.memory_columns import STORE_COLUMNS
from muniment.testing.fakes import FixedClock
from tests.canaries import Canary, plant
from tests.engine import NOON, engine, note, scope

ANA = Canary(said="quince", named="Ana")
SCHEMA = Path(__file__).parents[2] / "docs/reference/muniment-export-1.schema.json"
TEXTS = (
    "The user likes *all* of C_major and `code`",
    "1. first things first",
    "# no heading",
    "- no list",
    "a <!-- comment --> & <b>bold</b> [link](x) ~~gone~~ a|b \\ end",
    "two lines:\n  the second one",
    "用户住在上海，喜欢徒步。",
    "emoji 😀 and a tail...",
)
# The table of each type of line.
TABLES = {
    "memory": "memories", "version": "memory_versions", "journal": "journal", "relation": "relations",
    "thread": "thread_revision", "turn": "turns", "session": "sessions", "consent": "consent_requests",
    "observation": "observations",
}  # fmt: skip


async def no_threads() -> AsyncIterator[bytes]:
    for line in (b'{"thread": "t"}\n',):
        yield line


async def read_format(memory: Memory, who: Scope, layout: ExportFormat) -> str:
    return b"".join([piece async for piece in stream_format(memory, who, layout)]).decode()


def notes() -> list[Candidate]:
    return [
        replace(note(text, "preferences" if number % 2 else "activity"), tags=("x--y>",), event_time=NOON, importance=4)
        for number, text in enumerate(TEXTS)
    ]


def load_validator() -> Any:
    return jsonschema_rs.Draft202012Validator(json.loads(load_schema()), validate_formats=True)


def damage(row: dict[str, Any]) -> list[dict[str, Any]]:
    """The same line without each of its members, with each of another type, and with one that no line has."""
    bad = [{name: value for name, value in row.items() if name != gone} for gone in row]
    for name, value in row.items():
        bad.append({**copy.deepcopy(row), name: 7 if isinstance(value, dict) else {"a": [1]}})
    return [*bad, {**row, "surprise": 1}]


async def test_every_line_of_an_export_is_as_published(database_url: str) -> None:
    """Each line validates, of every type, and a damaged one is refused: the schema is published and versioned."""
    clock = FixedClock(NOON)
    async with engine(database_url, clock=clock) as memory:
        await plant(memory, ANA, clock)
        rows = [json.loads(line) for line in (await read_format(memory, ANA.scope, ExportFormat.jsonl)).splitlines()]
    validator = load_validator()
    assert rows[0]["format"] == "muniment/1"
    assert {row["type"] for row in rows} == {"space", *TABLES}
    assert [error.message for row in rows for error in validator.iter_errors(row)] == []
    for type_ in ("space", *TABLES):
        row = next(row for row in rows if row["type"] == type_)
        # An object is what some columns may have; such a value is no damage.
        free = {"fact", "metadata", "payload", "meta"}
        accepted = [bad for bad in damage(row) if validator.is_valid(bad)]
        assert all(any(bad.get(name) == {"a": [1]} for name in free) for bad in accepted), (type_, accepted)
    assert not validator.is_valid({**rows[0], "format": "muniment/2"})
    assert not validator.is_valid({"type": "unknown"})


def test_the_published_schema_has_every_column(database_url: str) -> None:
    """The schema in the package is that of the documentation, and names what the tables have."""
    assert SCHEMA.read_bytes() == load_schema()
    types = json.loads(load_schema())["$defs"]
    with psycopg.connect(database_url) as admin:
        for type_, table in TABLES.items():
            columns = {
                name
                for (name,) in admin.execute(
                    "select column_name from information_schema.columns where table_schema = 'muniment' "
                    "and table_name = %s",
                    [table],
                ).fetchall()
            }
            left_out = set(STORE_COLUMNS) if type_ in ("memory", "version") else {"space_id", "words"}
            assert set(types[type_]["properties"]) == columns - left_out | {"type"}, type_


async def test_jsonl_comes_back_whole(database_url: str) -> None:
    """A round trip through lines: the same rows, versions and history from the space that they restore."""
    clock, twin = FixedClock(NOON), scope("twin")
    async with engine(database_url, clock=clock) as memory:
        await plant(memory, ANA, clock)
        lines = await read_format(memory, ANA.scope, ExportFormat.jsonl)
        await memory.load(twin, [json.loads(line) for line in lines.splitlines()])
        assert await read_format(memory, twin, ExportFormat.jsonl) == lines


async def test_markdown_shows_what_the_memories_say(database_url: str) -> None:
    """A round trip through Markdown: a reader of CommonMark finds each category, each text and each field."""
    async with engine(database_url) as memory:
        await memory.ingest(scope(), notes())
        text = await read_format(memory, scope(), ExportFormat.markdown)
        stored = {each.text: each for each in await memory.list(scope())}
    assert text.startswith("---\nformat: ")
    items: dict[str, tuple[str, dict[str, Any]]] = {}
    category = None
    tokens = MarkdownIt().parse(text.split("---\n\n", 1)[1])
    for before, token in pairwise(tokens):
        if token.type != "inline":
            continue
        children = token.children or []
        said = "".join(
            "\n" if each.type == "hardbreak" else each.content for each in children if each.type != "html_inline"
        )
        if before.type == "heading_open":
            category = said
        else:
            (comment,) = [each.content for each in children if each.type == "html_inline"]
            items[said.strip()] = (category or "", json.loads(comment.removeprefix("<!-- ").removesuffix(" -->")))
    assert {text.replace("\n  ", "\n") for text in items} == {text.replace("\n  ", "\n") for text in TEXTS}
    for said, (heading, fields) in items.items():
        kept = next(each for text, each in stored.items() if text.replace("\n  ", "\n") == said.replace("\n  ", "\n"))
        assert (heading, fields["memory_id"], fields["importance"]) == (kept.category, str(kept.id), 4)
        assert fields["tags"] == ["x--y>"]


def test_a_text_of_markdown_is_no_markup() -> None:
    """What a memory says is shown as it is, whatever it looks like."""
    for text in (*TEXTS, "***", "+ plus", "10) ten", "===", "> quote", "&amp;", "![x](y)"):
        blocks = {each.type.partition("_")[0] for each in MarkdownIt().parse(f"- {escape_text(text)}\n")}
        assert blocks == {"bullet", "list", "paragraph", "inline"}, text
        html = MarkdownIt().renderInline(escape_text(text))
        plain = html.replace("<br />", "").replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", '"')
        assert plain.replace("&amp;", "&").split() == text.split()


async def test_mem0_has_what_get_all_returns(database_url: str) -> None:
    """The shape of mem0's `get_all`, whose rows come back as memories with their category, time and origin."""
    async with engine(database_url) as memory:
        await memory.ingest(scope(), notes())
        results = json.loads(await read_format(memory, scope(), ExportFormat.mem0))["results"]
        assert {each["memory"] for each in results} == set(TEXTS)
        for each in results:
            assert each["hash"] == hashlib.md5(each["memory"].encode()).hexdigest()
            assert each["user_id"] == "ana"
        rows = [
            {"text": each["memory"], **{k: v for k, v in each["metadata"].items() if k != "reach"}} for each in results
        ]
        report = await memory.load(scope("twin"), rows)
        assert report.added == len(TEXTS)
        first, second = await memory.list(scope()), await memory.list(scope("twin"))
        kept = [{(m.text, m.category, m.kind, m.event_time, m.tags) for m in each} for each in (first, second)]
        assert kept[0] == kept[1]


async def test_items_are_found_in_a_store_of_langgraph(database_url: str) -> None:
    """The items go into a real store of LangGraph, and its search finds them by their fields."""
    store = InMemoryStore()
    async with engine(database_url) as memory:
        await memory.ingest(scope(), notes())
        lines = (await read_format(memory, scope(), ExportFormat.langgraph_store)).splitlines()
    for line in lines:
        item = json.loads(line)
        await store.aput(tuple(item["namespace"]), item["key"], item["value"])
    found = await store.asearch(("memories", "ana"), filter={"category": "preferences"}, limit=100)
    assert {each.value["text"] for each in found} == set(TEXTS[1::2])
    (one,) = [each for each in lines if json.loads(each)["value"]["text"] == TEXTS[0]]
    assert (await store.aget(("memories", "ana"), json.loads(one)["key"])) is not None


async def test_an_archive_has_all_of_a_user_and_shows_every_change(database_url: str, tmp_path: Path) -> None:
    """All of a user in one archive with media types and a checksum list; a changed, removed or added file is named."""
    clock, path = FixedClock(NOON), tmp_path / "ana.zip"
    async with engine(database_url, clock=clock) as memory:
        await plant(memory, ANA, clock)
        with path.open("wb") as file:
            await write_archive(memory, ANA.scope, file, no_threads())
        with open_export(path) as (export, _):
            rows = [json.loads(line) for line in export]
        await memory.load(scope("twin"), rows)
        again = await read_format(memory, scope("twin"), ExportFormat.jsonl)
        assert [json.loads(line) for line in again.splitlines()] == rows
    files = {each["name"]: each for each in check_archive(path)}
    assert files["export.jsonl"]["media_type"] == "application/jsonl"
    assert files["export.jsonl"]["rows"] == len(rows)
    assert {"records/items.jsonl", "records/events.jsonl", "threads.jsonl", "memories.md"} <= set(files)
    assert all(name.split("/")[-1].split(".")[0] in PERSON_TABLES for name in files if name.startswith("records/"))
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    for name, content in members.items():
        if name != MANIFEST:
            for changed in ({**members, name: content[:-2] + b"x\n"}, {k: v for k, v in members.items() if k != name}):
                with pytest.raises(BadInput, match=name.replace(".", r"\.")):
                    check_archive(pack(tmp_path, changed))
    with pytest.raises(BadInput, match=r"extra\.txt: is not in its list"):
        check_archive(pack(tmp_path, {**members, "extra.txt": b"x"}))
    whole = path.read_bytes()
    for damaged in (b"", b"PK", whole[: len(whole) // 2], b"no archive at all"):
        bad = tmp_path / "bad.zip"
        bad.write_bytes(damaged)
        with pytest.raises(BadInput):
            check_archive(bad)
    for manifest in (
        b"",
        b"[]",
        b'{"format": "other", "files": []}',
        b'{"format": "muniment-archive/1", "files": [7]}',
    ):
        with pytest.raises(BadInput):
            check_archive(pack(tmp_path, {**members, MANIFEST: manifest}))


def pack(folder: Path, members: dict[str, bytes]) -> Path:
    path, buffer = folder / "changed.zip", io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    path.write_bytes(buffer.getvalue())
    return path
