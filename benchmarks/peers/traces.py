"""What a memory leaves behind: the bytes that it takes, and the places where a word still stands."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import psycopg
from psycopg import sql

_TABLES = """
select n.nspname, c.relname, pg_total_relation_size(c.oid)
from pg_class c join pg_namespace n on n.oid = c.relnamespace
where c.relkind in ('r', 'm') and n.nspname !~ '^pg_' and n.nspname <> 'information_schema'
order by 1, 2
"""
_SQLITE = b"SQLite format 3\0"


async def measure_bytes(dsn: str | None, folder: Path) -> int:
    """Return the bytes of all tables of a database, with their indexes, and of the files of a folder."""
    size = sum(one.stat().st_size for one in _list_files(folder))
    if dsn is None:
        return size
    async with await psycopg.AsyncConnection.connect(dsn, autocommit=True) as conn:
        rows = await (await conn.execute(_TABLES)).fetchall()
    return size + sum(row[2] for row in rows)


async def find_places(dsn: str | None, folder: Path, word: str) -> list[str]:
    """Return the tables and files whose rows have a word, each with the number of those rows, in a fixed order.

    Rows of a table are read as text, those of an SQLite file, too; of other files, the bytes. What a database frees
    but has not written over is not looked at."""
    found = [place for file in _list_files(folder) for place in await asyncio.to_thread(_search_file, file, word)]
    if dsn is None:
        return found
    async with await psycopg.AsyncConnection.connect(dsn, autocommit=True) as conn:
        for schema, table, _ in await (await conn.execute(_TABLES)).fetchall():
            name = sql.Identifier(schema, table)
            counted = sql.SQL("select count(*) from {} as whole where strpos(lower(whole::text), %s) > 0").format(name)
            row = await (await conn.execute(counted, (word.lower(),))).fetchone()
            if row and row[0]:
                found.append(f"{schema}.{table}: {row[0]}")
    return found


def _list_files(folder: Path) -> list[Path]:
    return sorted(one for one in folder.rglob("*") if one.is_file() and one.name not in ("log.txt", "vectors.json"))


def _search_file(file: Path, word: str) -> Iterator[str]:
    content = file.read_bytes()
    if not content.startswith(_SQLITE):
        count = content.lower().count(word.lower().encode())
        return iter([f"{file.name}: {count}"] if count else [])
    return _search_sqlite(file, word)


def _search_sqlite(file: Path, word: str) -> Iterator[str]:
    with closing(sqlite3.connect(f"{file.as_uri()}?mode=ro", uri=True)) as conn:
        tables = [name for (name,) in conn.execute("select name from sqlite_master where type = 'table' order by name")]
        for table in tables:
            with suppress(sqlite3.OperationalError):  # a virtual table whose module is not here
                count = sum(
                    any(word.lower() in str(cell).lower() for cell in row)
                    for row in conn.execute(f'select * from "{table}"')
                )
                if count:
                    yield f"{file.name}, {table}: {count}"
