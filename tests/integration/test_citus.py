"""The script for Citus knows every table, and distributes what is referred to before what refers to it."""

import re
from importlib.resources import files

import psycopg

SCRIPT = (files("muniment.migrations") / "citus" / "distribute.sql").read_text(encoding="utf-8")
COPIED = {"embedders"}


def distributed() -> list[str]:
    """The tables in the order in which they are distributed."""
    listed = re.search(r"unnest\(array\[(.*?)\]\)", SCRIPT, re.DOTALL)
    assert listed is not None
    return ["spaces", *re.findall(r"'(\w+)'", listed[1])]


def test_every_table_has_its_place(database_url: str) -> None:
    """A table that a migration adds and the script forgets would stay on the coordinator, out of reach of its neighbours."""
    with psycopg.connect(database_url) as conn:
        tables = conn.execute("""
            select relname from pg_class c join pg_namespace n on n.oid = c.relnamespace
            where n.nspname = 'muniment' and relkind = 'r'""").fetchall()
    assert sorted(distributed()) == sorted({name for (name,) in tables} - COPIED)
    assert set(re.findall(r"create_reference_table\('muniment\.(\w+)'\)", SCRIPT)) == COPIED


def test_what_is_referred_to_comes_first(database_url: str) -> None:
    """Citus refuses a foreign key to a table that is not distributed yet."""
    order = distributed()
    with psycopg.connect(database_url) as conn:
        edges = conn.execute("""
            select c.relname, r.relname from pg_constraint k join pg_class c on c.oid = k.conrelid
            join pg_class r on r.oid = k.confrelid join pg_namespace n on n.oid = c.relnamespace
            where n.nspname = 'muniment' and k.contype = 'f'""").fetchall()
    assert len(edges) >= 12
    assert [pair for pair in edges if order.index(pair[1]) >= order.index(pair[0])] == []


def test_functions_exist(database_url: str) -> None:
    """Each function that the script names is one of the schema, and all of the schema are named or run where they are called."""
    with psycopg.connect(database_url) as conn:
        known = {
            name
            for (name,) in conn.execute(
                "select proname from pg_proc p join pg_namespace n on n.oid = p.pronamespace where n.nspname = 'muniment'"
            )
        }
    names = set(re.findall(r"'(\w+)'", " ".join(re.findall(r"proname (?:in \(.*?\)|= '\w+')", SCRIPT, re.DOTALL))))
    assert known - names == {"near"}  # a table function: it runs on the coordinator, its statements where the space is
    assert names <= known
