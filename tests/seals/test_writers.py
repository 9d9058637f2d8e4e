"""Every statement of the product that adds lines to the journal has them sealed in the same transaction."""

from __future__ import annotations

import re
from importlib.resources import files

import psycopg

from muniment.memory.stores.postgres.sql import load_blocks

INSERTS = re.compile(r"insert\s+into\s+muniment\.journal\b", re.IGNORECASE)
# The statements that add lines. Each of the callers sends `seal` after it, which the tests of these writers see.
BLOCKS = {
    ("bulk", "memories"),
    ("bulk", "lines"),
    ("bulk", "lines_alone"),
    ("erasure", "last_lines"),
    ("erasure", "change_lines"),
}


def test_every_statement_that_adds_lines_is_known() -> None:
    """A statement that is added here has to be followed by one that seals."""
    found = {
        (file.name.removesuffix(".sql"), name)
        for file in files("muniment.memory.stores.postgres.sql").iterdir()
        if file.name.endswith(".sql")
        for name, text in load_blocks(file.name.removesuffix(".sql")).items()
        if INSERTS.search(text)
    }
    assert found == BLOCKS


def test_every_function_that_adds_lines_has_a_caller_that_seals(database_url: str) -> None:
    with psycopg.connect(database_url) as conn:
        sources: dict[str, str] = dict(
            conn.execute(
                "select proname, prosrc from pg_proc where pronamespace = 'muniment'::regnamespace and prokind = 'f'"
            ).fetchall()
        )
    adding = {name for name, source in sources.items() if INSERTS.search(source)}
    assert adding == {"write_changes"}
    calling = {name: source for name, source in sources.items() if "muniment.write_changes(" in source}
    assert set(calling) == {"apply_changes", "commit_memories"}
    assert all(source.index("seal_lines(") > source.index("write_changes(") for source in calling.values())
