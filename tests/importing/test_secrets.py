"""A secret in any text of any format: it is nowhere in the database, and no error quotes it."""

from __future__ import annotations

import copy
import json
import shutil
from collections.abc import Iterator
from dataclasses import astuple
from pathlib import Path
from typing import Any

import psycopg
import pytest

from muniment.faces.importing.registry import FORMATS
from muniment.memory.client import Memory
from muniment.memory.domain.layers.imports import ImportedMemory, ImportedMessage, ImportRecord, OmittedRecord
from muniment.memory.errors import BadInput
from tests.engine import engine, scope
from tests.importing.formats import EXPECTED, FIXTURES, SECRET, read_all

_MOST = 400  # variants of one fixture


def list_variants(content: Any) -> Iterator[Any]:
    """Yield a JSON value with the secret behind each of its texts, one at a time, and behind each name of a field."""
    waiting, spots = [content], list[tuple[Any, Any]]()
    while waiting:
        one = waiting.pop()
        keys = list(one) if isinstance(one, dict) else range(len(one)) if isinstance(one, list) else []
        spots += [(one, key) for key in keys]
        waiting += [one[key] for key in keys]
    for holder, key in spots:
        value = holder[key]
        if isinstance(value, str):
            holder[key] = f"{value} {SECRET}"
            yield content
            holder[key] = value
        if isinstance(holder, dict):
            before = dict(holder)
            holder[f"{key} {SECRET}"] = holder.pop(key)
            yield content
            holder.clear()
            holder.update(before)


def list_files(folder: Path) -> Iterator[tuple[Path, list[str]]]:
    """Yield the files of a fixture with the contents that they have with the secret in one place."""
    for file in sorted(folder.rglob("*")):
        if file.suffix in (".json", ".af"):
            whole = json.loads(file.read_text(encoding="utf-8").replace("{{SECRET}}", "x"))
            yield file, [json.dumps(one) for one in list_variants(whole)]
        elif file.suffix == ".jsonl":
            rows = [json.loads(line.replace("{{SECRET}}", "x")) for line in file.read_text().splitlines()]
            changed = [
                [*rows[:n], copy.deepcopy(one), *rows[n + 1 :]]
                for n in range(len(rows))
                for one in list_variants(rows[n])
            ]
            yield file, ["\n".join(map(json.dumps, each)) for each in changed]
        elif file.suffix == ".md":
            lines = file.read_text(encoding="utf-8").splitlines()
            yield file, ["\n".join([*lines[:n], f"{lines[n]} {SECRET}", *lines[n + 1 :]]) for n in range(len(lines))]


def read_variants(name: str, folder: Path) -> Iterator[ImportRecord]:
    """Yield the records in which the secret has come, of all variants of a fixture."""
    place = folder / "in"
    shutil.copytree(FIXTURES / name, place)
    for file, contents in list_files(place):
        before = file.read_bytes()
        for content in contents[:: max(1, len(contents) // _MOST)]:
            file.write_text(content, encoding="utf-8")
            try:
                records = read_all(place, name.partition("/")[0])
            except BadInput as error:
                assert SECRET not in str(error), content  # noqa: PT017 - some fields must be what they are
                continue
            yield from (one for one in records if SECRET in str(astuple(one)))
        file.write_bytes(before)


async def keep_all(memory: Memory, records: list[ImportRecord]) -> None:
    for one in records:
        if isinstance(one, ImportedMemory):
            await memory.imports.keep_memories(scope(), [one])
        elif isinstance(one, ImportedMessage):
            await memory.imports.learn_messages(scope(), [one])


@pytest.mark.timeout(180)
@pytest.mark.parametrize("layout", FORMATS)
async def test_no_secret_passes(database_url: str, tmp_path: Path, layout: str) -> None:
    """No secret passes: behind every text of every fixture of a format and behind every name of a field, one at a time.
    Afterwards no row of any table has it, and no reason."""
    records: list[ImportRecord] = []
    for name in (one for one in EXPECTED if one.startswith(f"{layout}/")):
        records += read_variants(name, tmp_path / name.replace("/", "-"))
    assert len([one for one in records if not isinstance(one, OmittedRecord)]) > 5
    assert not any(isinstance(one, OmittedRecord) and SECRET in one.reason for one in records)
    async with engine(database_url) as memory:
        await keep_all(memory, list({str(astuple(one)): one for one in records}.values()))
    with psycopg.connect(database_url) as admin:
        for (table,) in admin.execute("select tablename from pg_tables where schemaname = 'muniment'").fetchall():
            query = f"select t::text from muniment.{table} t where t::text like %s"
            assert admin.execute(query, [f"%{SECRET}%"]).fetchone() is None, table


def test_every_text_of_a_fixture_has_its_turn() -> None:
    """The variants have the secret once each, in every text and every name of a field."""
    found = [json.dumps(one) for one in list_variants({"a": "x", "b": [{"c": "y"}, "z"], "d": 1})]
    assert len(found) == 3 + 4
    assert all(each.count(SECRET) == 1 for each in found)
