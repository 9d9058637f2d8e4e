"""Single changes that a superuser makes behind the product's back, each with the revision at which it must be found."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any
from uuid import UUID, uuid4

import psycopg
from psycopg import sql
from psycopg.rows import dict_row
from psycopg.types.json import Jsonb

TABLES = ("spaces", "journal", "seals", "reseals", "memories", "memory_versions")
# Another value of each sealed column; `{}` is the column itself. Citus wants expressions that depend on nothing else.
LATER = (
    "(coalesce({}, timestamptz '2026-11-28 12:00+00') at time zone 'UTC' + interval '1 microsecond') at time zone 'UTC'"
)
EARLIER = "({} at time zone 'UTC' - interval '1 day') at time zone 'UTC'"
OTHER_ID = "uuid '6f1c0a52-0000-4000-8000-000000000000'"
COLUMNS = {
    "kind": "case when {} = 'semantic' then 'episodic' else 'semantic' end",
    "category": "{} || 'x'", "text": "{} || '.'", "fact": """coalesce({}, '{{}}') || '{{"tampered": 1.50}}'""",
    "stable_key": "coalesce({}, '') || '|x'", "importance": "{} %% 5 + 1", "confidence": "1 - {} / 2",
    "trust": "case when {} = 'user' then 'agent' else 'user' end", "pinned": "not {}",
    "state": "case when {} = 'active' then 'superseded' else 'active' end", "tags": "{} || 'x'",
    "agent_id": "coalesce({}, '') || 'x'", "run_id": "coalesce({}, '') || 'x'", "actor_id": "coalesce({}, '') || 'x'",
    "role": "coalesce({}, '') || 'x'", "session_id": "coalesce({}, '') || 'x'",
    "thread_id": "coalesce({}, '') || 'x'", "event_time": LATER,
    "created_at": EARLIER, "updated_at": LATER,
    "purge_at": LATER, "superseded_by": OTHER_ID,
    "context": "coalesce({}, '') || 'x'", "turns": f"{{}} || {OTHER_ID}", "aliases": "{} || 'x'",
    "project_id": "coalesce({}, '') || 'x'", "app_id": "coalesce({}, '') || 'x'",
    "source": "coalesce({}, '') || 'x'", "expires_at": LATER,
}  # fmt: skip
LINE_COLUMNS = {
    "memory_id": OTHER_ID,
    "action": "case when {} = 'ADD' then 'MERGE' else 'ADD' end", "old_ref": "coalesce({}, '') || 'x'",
    "new_ref": "coalesce({}, '') || 'x'", "thread_id": "coalesce({}, '') || 'x'", "node": "{} || 'x'",
    "actor": "coalesce({}, '') || 'x'", "band": "coalesce({}, '') || 'x'", "sim": "coalesce({}, 0) + 0.25",
    "meta": """{} || '{{"tampered": true}}'""", "ts": EARLIER, "category": "coalesce({}, '') || 'x'",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Tampering:
    """What was done, and the first revision at which it has to be found."""

    what: str
    rev: int
    needs_anchor: bool = False


class Intruder:
    """A superuser's connection to one space. It makes one change at a time, and takes it back."""

    def __init__(self, url: str, space: UUID, seed: int) -> None:
        self.random = Random(seed)
        self.space = space
        self.conn = psycopg.connect(url, autocommit=True, row_factory=dict_row)
        self.conn.execute("create schema if not exists shadow")
        for table in TABLES:
            self._run("drop table if exists shadow.{table}", table)
            self._run("create table shadow.{table} as select * from muniment.{table} where space_id = %s", table)
        self.end = self._one("select rev from muniment.spaces where space_id = %s")["rev"]

    def close(self) -> None:
        self.conn.close()

    def tamper(self) -> Tampering:
        """Make a change that the database takes. One that breaks a constraint of a table is none."""
        changes: tuple[Callable[[], Tampering | None], ...] = (
            self.change_memory, self.change_memory, self.change_version, self.change_version, self.change_line,
            self.change_line, self.move_row, self.delete_row, self.add_row, self.delete_line, self.swap_lines,
            self.swap_texts, self.add_line, self.change_seal, self.change_reseal, self.change_space, self.truncate,
        )  # fmt: skip
        while True:
            try:
                with self.conn.transaction():
                    # As somebody would who knows the schema: no trigger and no foreign key is in the way.
                    self.conn.execute("set local session_replication_role = replica")
                    done = self.random.choice(changes)()
            except (psycopg.errors.IntegrityError, psycopg.errors.DataError):
                continue
            if done is not None:
                return done

    def undo(self) -> None:
        """Put every row of the space back."""
        with self.conn.transaction():
            self.conn.execute("set local session_replication_role = replica")
            for table in TABLES:
                self._run("delete from muniment.{table} where space_id = %s", table)
                self._run("insert into muniment.{table} select * from shadow.{table} where space_id = %s", table)

    def change_memory(self) -> Tampering | None:
        return self._change("memories", "rev", COLUMNS)

    def change_version(self) -> Tampering | None:
        return self._change("memory_versions", "from_rev", COLUMNS | {"to_rev": "{} + 1"})

    def change_line(self) -> Tampering | None:
        return self._change("journal", "rev", LINE_COLUMNS)

    def change_seal(self) -> Tampering | None:
        other = "sha256({})"
        return self._change("seals", "rev", {"digest": other, "content": other, "salt": "sha256(coalesce({}, ''))"})

    def change_reseal(self) -> Tampering | None:
        row = self._pick("reseals")
        if row is None:
            return None
        newest = "select max(sealed_by) as n from muniment.reseals where space_id = %s and rev = %s"
        latest = self._one(newest, row["rev"])
        is_latest = latest["n"] == row["sealed_by"]
        how = self.random.choice(("content", "salt", "delete"))
        key = (row["sealed_by"], row["rev"])
        where = " where space_id = %s and sealed_by = %s and rev = %s"
        if how == "delete":
            self._run("delete from muniment.reseals" + where, None, *key)
        elif how == "salt":
            self._run("update muniment.reseals set salt = sha256(coalesce(salt, ''))" + where, None, *key)
        else:
            self._run("update muniment.reseals set content = sha256(content)" + where, None, *key)
        return Tampering(f"reseals {how}", row["rev"] if is_latest or how == "salt" else row["sealed_by"])

    def move_row(self) -> Tampering | None:
        """A row under another revision, or of another memory."""
        table, column = self.random.choice((("memories", "rev"), ("memory_versions", "from_rev")))
        row = self._pick(table)
        if row is None:
            return None
        where = sql.SQL(" where space_id = %s and memory_id = %s and {0} = %s").format(sql.Identifier(column))
        key = (row["memory_id"], row[column])
        if self.random.random() < 0.5:
            self._run(f"update muniment.{{table}} set memory_id = {OTHER_ID}" + where.as_string(), table, *key)
            return Tampering(f"{table} memory_id", row[column])
        other = self.random.randrange(1, self.end + 1)
        if other == row[column]:
            return None
        self._run(f"update muniment.{{table}} set {column} = {other}" + where.as_string(), table, *key)
        return Tampering(f"{table} {column}", min(other, row[column]))

    def delete_row(self) -> Tampering | None:
        table, column = self.random.choice((("memories", "rev"), ("memory_versions", "from_rev")))
        row = self._pick(table)
        if row is None:
            return None
        where = f" where space_id = %s and memory_id = %s and {column} = %s"
        self._run("delete from muniment.{table}" + where, table, row["memory_id"], row[column])
        return Tampering(f"{table} deleted", row[column])

    def add_row(self) -> Tampering | None:
        """A copy of a row, of a memory that nobody wrote."""
        table, column = self.random.choice((("memories", "rev"), ("memory_versions", "from_rev")))
        row = self._pick(table)
        if row is None:
            return None
        rev = self.random.randrange(-2, self.end + 3)
        until = {"to_rev": rev + 1} if table == "memory_versions" else {}
        self._insert(table, row | {"memory_id": uuid4(), column: rev, "stable_key": None} | until)
        return Tampering(f"{table} added", rev)

    def delete_line(self) -> Tampering | None:
        rev = self.random.randrange(1, self.end + 1)
        tables = self.random.choice((("journal",), ("seals",), ("journal", "seals")))
        for table in tables:
            self._run("delete from muniment.{table} where space_id = %s and rev = %s", table, rev)
        return Tampering(f"{tables} deleted", rev)

    def swap_lines(self) -> Tampering | None:
        low, high = sorted(self.random.sample(range(1, self.end + 1), 2))
        for table in self.random.choice((("journal",), ("journal", "seals"))):
            for was, now in ((low, -1), (high, low), (-1, high)):
                moved = "update muniment.{table} set rev = %s where space_id = %s and rev = %s"
                self._run(moved, table, now, was, first=True)
        return Tampering("lines swapped", low)

    def swap_texts(self) -> Tampering | None:
        a, b = self._pick("memories"), self._pick("memories")
        if a is None or b is None or a["text"] == b["text"]:
            return None
        for row, text in ((a, b["text"]), (b, a["text"])):
            where = "update muniment.memories set text = %s where space_id = %s and memory_id = %s"
            self._run(where, None, text, row["memory_id"], first=True)
        return Tampering("texts swapped", min(a["rev"], b["rev"]))

    def add_line(self) -> Tampering | None:
        row, rev = self._pick("journal"), self.random.choice((self.end + 1, self.end + 1, 0))
        if row is None:
            return None
        self._insert("journal", row | {"rev": rev})
        if rev and self.random.random() < 0.5:
            self._run("update muniment.spaces set rev = rev + 1 where space_id = %s", None)
        return Tampering("line added", rev)

    def change_space(self) -> Tampering | None:
        how = self.random.choice(("more", "less", "head", "sealed_from"))
        if how == "head":
            self._run("update muniment.spaces set head = sha256(head) where space_id = %s", None)
            return Tampering("head", self.end)
        if how == "sealed_from":
            self._run("update muniment.spaces set sealed_from = sealed_from + 1 where space_id = %s", None)
            return Tampering("sealed_from", 1)
        step = 1 if how == "more" else -1
        self._run(f"update muniment.spaces set rev = rev + {step} where space_id = %s", None)
        return Tampering(f"rev {how}", self.end + (1 if how == "more" else 0))

    def truncate(self) -> Tampering | None:
        """The tail cut off without a trace: the space is as it was at a revision, and so is its head."""
        rev = self.random.randrange(1, self.end)
        if self._one("select count(*) as n from muniment.reseals where space_id = %s and sealed_by > %s", rev)["n"]:
            return None  # what an erasure took cannot be put back
        self._run("delete from muniment.memories where space_id = %s and rev > %s", None, rev)
        held = "select * from muniment.memory_versions where space_id = %s and to_rev > %s and from_rev <= %s"
        for row in self._all(held, rev, rev):
            kept = {key: value for key, value in row.items() if key not in ("from_rev", "to_rev")}
            self._insert("memories", kept | {"rev": row["from_rev"], "access_count": 0})
        self._run("delete from muniment.memory_versions where space_id = %s and to_rev > %s", None, rev)
        for table in ("journal", "seals"):
            self._run("delete from muniment.{table} where space_id = %s and rev > %s", table, rev)
        last = self._one("select digest from muniment.seals where space_id = %s and rev = %s", rev)["digest"]
        self._run("update muniment.spaces set rev = %s, head = %s where space_id = %s", None, rev, last, last=True)
        return Tampering("truncated", rev + 1, needs_anchor=True)

    def _change(self, table: str, key: str, columns: dict[str, str]) -> Tampering | None:
        row = self._pick(table)
        if row is None:
            return None
        column = self.random.choice(list(columns))
        owner = " and memory_id = %s" if "memory_id" in row else ""
        done = self.conn.execute(
            f"update muniment.{table} set {column} = {columns[column].format(column)} "
            f"where space_id = %s and {key} = %s{owner}",
            (self.space, row[key], *([row["memory_id"]] if owner else [])),
        )
        return Tampering(f"{table}.{column}", row[key]) if done.rowcount else None

    def _pick(self, table: str) -> dict[str, Any] | None:
        rows = self._all(f"select * from muniment.{table} where space_id = %s order by {self._order(table)}")
        return self.random.choice(rows) if rows else None

    def _order(self, table: str) -> str:
        return {"memory_versions": "from_rev, memory_id", "reseals": "sealed_by, rev"}.get(table, "rev")

    def _insert(self, table: str, row: dict[str, Any]) -> None:
        names = list(row)
        listed = sql.SQL("insert into muniment.{} ({}) values ({})").format(
            sql.Identifier(table),
            sql.SQL(", ").join(map(sql.Identifier, names)),
            sql.SQL(", ").join(sql.Placeholder() * len(names)),
        )
        values = [Jsonb(value) if isinstance(value, dict) else value for value in row.values()]
        self.conn.execute(listed, values)

    def _run(self, query: str, table: str | None, *params: Any, first: bool = False, last: bool = False) -> None:
        """Execute for the space, whose id is the first parameter, with `first` the second, with `last` the last."""
        text = query.replace("{table}", table or "")
        count = text.count("%s")
        values = list(params)
        values.insert(len(values) if last else 1 if first else 0, self.space)
        self.conn.execute(text, values[:count] if count else None)

    def _one(self, query: str, *params: Any) -> dict[str, Any]:
        (row,) = self._all(query, *params)
        return row

    def _all(self, query: str, *params: Any) -> list[dict[str, Any]]:
        return self.conn.execute(query, (self.space, *params)).fetchall()
