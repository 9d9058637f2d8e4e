"""A peer of the benchmark without a library: it keeps what it is given in one SQLite file; told so, it misbehaves."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.peers.wire import Store, Vectors, serve


class Kept:
    """Statements in a table; a search returns those of the user, the likest to the question first."""

    def __init__(self, folder: Path, vectors: Vectors, leaves: bool) -> None:
        self.conn = sqlite3.connect(folder / "kept.db", isolation_level=None)
        self.conn.execute("create table kept (user text, key text, text text)")
        self.conn.execute("create table removed (text text)")
        self.vectors, self.leaves = vectors, leaves

    def load(self, user: str, items: Sequence[Mapping[str, str]]) -> int:
        """Keep many."""
        return len([self.add(user, item["key"], item["text"]) for item in items])

    def add(self, user: str, key: str, text: str) -> str:
        """Keep one; words tell it to crash, to hang, or to write what is no answer."""
        if text == "crash":
            os._exit(7)
        if text == "hang":
            time.sleep(60)
        if text == "babble":
            os.write(1, b"no object\n")
        self.vectors.embed([text], query=False)
        return str(self.conn.execute("insert into kept values (?, ?, ?)", (user, key, text)).lastrowid)

    def search(self, user: str, text: str, k: int) -> list[dict[str, str]]:
        """Return the statements of the user, those with most of the question's words first."""
        self.vectors.embed([text], query=True)
        print("a library that prints")  # noqa: T201 - it must not break a line of the protocol
        rows = self.conn.execute("select rowid, key, text from kept where user = ?", (user,)).fetchall()
        asked = set(text.lower().split())
        rows.sort(key=lambda row: -len(asked & set(row[2].lower().split())))
        return [{"id": str(row[0]), "key": row[1], "text": row[2]} for row in rows[:k]]

    def change(self, user: str, ref: str, text: str) -> None:
        """Keep other words."""
        self.conn.execute("update kept set text = ? where rowid = ?", (text, ref))

    def history(self, user: str, ref: str) -> list[str]:
        """Raise: it has none."""
        raise NotImplementedError

    def delete(self, user: str, ref: str) -> None:
        """Remove one; the words stay in another table where it leaves them."""
        if self.leaves:
            self.conn.execute("insert into removed select text from kept where rowid = ?", (ref,))
        self.conn.execute("delete from kept where rowid = ?", (ref,))

    def erase(self, user: str, ref: str) -> None:
        """Remove one, and what was left."""
        self.delete(user, ref)
        self.conn.execute("delete from removed")


def make_store(given: Mapping[str, Any], vectors: Vectors) -> Store:
    """Open it in a folder."""
    return Kept(Path(given["folder"]), vectors, leaves=bool(given.get("leaves")))


if __name__ == "__main__":
    serve(make_store)
