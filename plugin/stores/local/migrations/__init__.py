"""Numbered SQL files that make and change the tables of a local file, each applied once."""

from __future__ import annotations

import re
import sqlite3
from dataclasses import dataclass
from hashlib import sha256
from importlib.resources import files

from muniment.memory.errors import BadConfig, EditedMigration

_NAME = re.compile(r"\d{4}_[a-z0-9_]+\.sql")
_HISTORY = """
create table if not exists migration (
    part text not null,
    name text not null,
    digest text not null,
    primary key (part, name)
) strict, without rowid"""


@dataclass(frozen=True, slots=True)
class SchemaPart:
    """Tables that one package brings: the name under which they are known, and the package with its SQL files."""

    name: str
    package: str


ITEMS = SchemaPart("items", __name__)


def apply_migrations(connection: sqlite3.Connection, parts: tuple[SchemaPart, ...]) -> None:
    """Apply what is pending of each part, all in one transaction. Raises BadConfig for a file of a newer program, and
    EditedMigration for one whose tables another version of a migration has made."""
    connection.execute("begin immediate")
    try:
        connection.execute(_HISTORY)
        for part in parts:
            _apply_part(connection, part)
        connection.execute("commit")
    except BaseException:
        if connection.in_transaction:
            connection.execute("rollback")
        raise


def _apply_part(connection: sqlite3.Connection, part: SchemaPart) -> None:
    steps = {
        file.name: file.read_text(encoding="utf-8")
        for file in files(part.package).iterdir()
        if _NAME.fullmatch(file.name)
    }
    done = dict(connection.execute("select name, digest from migration where part = ?", (part.name,)).fetchall())
    if unknown := sorted(set(done) - set(steps)):
        raise BadConfig(f"the local file is of a newer version of Muniment: it has the tables of {unknown[-1]}")
    for name, text in sorted(steps.items()):
        digest = sha256(text.encode()).hexdigest()
        if name not in done:
            _execute_script(connection, text)
            connection.execute("insert into migration values (?, ?, ?)", (part.name, name, digest))
        elif done[name] != digest:
            raise EditedMigration(f"the local file was made by another version of the migration {name}")


def _execute_script(connection: sqlite3.Connection, text: str) -> None:
    """Execute the statements of a script in the open transaction, which `executescript` would commit."""
    statement = ""
    for line in text.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            connection.execute(statement)
            statement = ""
