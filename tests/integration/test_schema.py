"""The rules that every table keeps, read from the catalogue."""

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from tests import schema

SPACELESS = {"embedders"}  # lookup data: no owner, and no user table refers to it
OF_ALL = {"setting_overrides", "setting_changes"}  # the installation's settings
OF_TENANTS = {
    "tenant_embedders",
    "tokens",
    "token_configs",
    "console_sessions",
}  # of a tenant: looked up before a space is known, or of all its spaces


@pytest.fixture
def catalogue(database_url: str) -> Iterator[psycopg.Cursor[tuple[object, ...]]]:
    with psycopg.connect(database_url) as conn:
        yield conn.cursor()


def test_every_key_and_index_leads_with_the_space(catalogue: psycopg.Cursor[tuple[object, ...]]) -> None:
    """Primary keys, unique constraints and indexes of user tables start with space_id."""
    rows = catalogue.execute("""
        select t.relname, i.relname, a.attname from pg_index x
        join pg_class t on t.oid = x.indrelid join pg_class i on i.oid = x.indexrelid
        join pg_namespace n on n.oid = t.relnamespace and n.nspname = 'muniment'
        join pg_attribute a on a.attrelid = t.oid and a.attnum = x.indkey[0]""").fetchall()
    wrong = [
        (index, first)
        for table, index, first in rows
        if table not in SPACELESS | OF_TENANTS | OF_ALL and first != "space_id"
    ]
    assert len(rows) >= 12
    assert wrong == []


def test_every_foreign_key_includes_the_space(catalogue: psycopg.Cursor[tuple[object, ...]]) -> None:
    """No reference can lead from one space into another."""
    rows = catalogue.execute("""
        select t.relname, c.conname, array(select a.attname::text from pg_attribute a
          where a.attrelid = c.conrelid and a.attnum = any(c.conkey)), c.confdeltype::text
        from pg_constraint c join pg_namespace n on n.oid = c.connamespace and n.nspname = 'muniment'
        join pg_class t on t.oid = c.conrelid
        where c.contype = 'f'""").fetchall()
    assert len(rows) >= 6
    of_spaces = [(name, columns) for table, name, columns, _ in rows if table not in OF_TENANTS]
    assert [name for name, columns in of_spaces if "space_id" not in columns] == []  # type: ignore[operator]
    assert [name for _, name, _, deletion in rows if deletion == "n"] == []


def test_row_security_is_forced_on_every_table(catalogue: psycopg.Cursor[tuple[object, ...]]) -> None:
    """Also for the owner of the table; and each such table has a policy."""
    rows = catalogue.execute("""
        select c.relname, c.relrowsecurity and c.relforcerowsecurity,
          exists (select from pg_policy p where p.polrelid = c.oid)
        from pg_class c join pg_namespace n on n.oid = c.relnamespace
        where n.nspname = 'muniment' and c.relkind in ('r', 'p')""").fetchall()
    assert len(rows) >= 8
    assert [name for name, forced, policed in rows if name not in SPACELESS and not (forced and policed)] == []


def test_no_trigger_rule_sequence_or_inheritance(catalogue: psycopg.Cursor[tuple[object, ...]]) -> None:
    """What a distributed database cannot do is not in the schema, and every constraint has a name of ours."""
    odd = catalogue.execute("""
        select 'trigger', tgname::text from pg_trigger t join pg_class c on c.oid = t.tgrelid
          join pg_namespace n on n.oid = c.relnamespace where n.nspname = 'muniment' and not tgisinternal
        union all select 'sequence', relname::text from pg_class c join pg_namespace n on n.oid = c.relnamespace
          where n.nspname = 'muniment' and relkind = 'S'
        union all select 'inheritance', c.relname::text from pg_inherits i join pg_class c on c.oid = i.inhrelid
          join pg_namespace n on n.oid = c.relnamespace where n.nspname = 'muniment'
        union all select 'exclusion', conname::text from pg_constraint c join pg_namespace n on n.oid = c.connamespace
          where n.nspname = 'muniment' and contype = 'x'
        union all select 'unnamed', conname::text from pg_constraint c join pg_namespace n on n.oid = c.connamespace
          where n.nspname = 'muniment' and contype in ('p', 'u', 'f', 'c') and conname ~ '_(pkey|key|fkey|check)[0-9]*$'
        """).fetchall()
    assert odd == []


def test_times_have_a_zone_and_no_vector_index_spans_spaces(catalogue: psycopg.Cursor[tuple[object, ...]]) -> None:
    """Timestamptz everywhere; a global HNSW would silently lose results."""
    naive = catalogue.execute("""
        select table_name, column_name from information_schema.columns
        where table_schema = 'muniment' and data_type = 'timestamp without time zone'""").fetchall()
    hnsw = catalogue.execute("""
        select indexname from pg_indexes where schemaname = 'muniment' and indexdef ilike '%hnsw%'
          and indexdef not ilike '%where%space_id%'""").fetchall()
    assert naive == []
    assert hnsw == []


def test_history_and_change_log_are_views_with_the_agreed_names(
    catalogue: psycopg.Cursor[tuple[object, ...]],
) -> None:
    """One journal under other names, with the reader's rights."""
    rows = catalogue.execute("""
        select c.relname::text, array_agg(a.attname::text order by a.attnum), max(array_to_string(c.reloptions, ','))
        from pg_class c join pg_namespace n on n.oid = c.relnamespace and n.nspname = 'muniment'
        join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 where c.relkind = 'v' group by 1
          order by 1""").fetchall()
    views: dict[Any, Any] = {name: columns for name, columns, _ in rows}
    assert {options for _, _, options in rows} == {"security_invoker=true"}
    assert {"change_log", "history", "operations"} <= {name for name in views if not name.startswith("memory_")}
    assert len(views) == 3 + 8 + 1  # and the tables of a former design, and the messages of tokens
    assert {"thread_id", "rev", "memory_id", "event", "meta", "ts"} <= set(views["change_log"])
    assert {"memory_id", "event", "old_ref", "new_ref", "actor", "meta", "ts"} <= set(views["history"])
    assert {"thread_id", "node", "op", "status", "memory_id", "category", "sim", "ts"} <= set(views["operations"])


def test_the_snapshot_is_what_the_migrations_come_to(database_url: str) -> None:
    """migrations/schema.sql is generated; when this fails, run `make schema` and read the difference."""
    assert schema.dump(database_url) == schema.SNAPSHOT.read_text(encoding="utf-8")


def test_every_object_says_what_it_is_for(catalogue: psycopg.Cursor[tuple[object, ...]]) -> None:
    """Schemas, tables, their columns, views, functions and policies have a comment, which psql shows; views take their
    columns'."""
    silent = catalogue.execute("""
        with ours as (select oid, nspname from pg_namespace where nspname in ('muniment', 'jobs'))
        select 'schema', nspname::text from ours where obj_description(oid, 'pg_namespace') is null
        union all select 'relation', c.relname from pg_class c join ours on ours.oid = c.relnamespace
          where c.relkind in ('r', 'v') and obj_description(c.oid, 'pg_class') is null
        union all select 'column', c.relname || '.' || a.attname from pg_class c join ours on ours.oid = c.relnamespace
          join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
          where c.relkind = 'r' and a.attname not in ('space_id', 'created_at')
          and col_description(c.oid, a.attnum) is null
        union all select 'function', p.proname from pg_proc p join ours on ours.oid = p.pronamespace
          where obj_description(p.oid, 'pg_proc') is null
        union all select 'policy', p.polname from pg_policy p join pg_class c on c.oid = p.polrelid
          join ours on ours.oid = c.relnamespace where obj_description(p.oid, 'pg_policy') is null""").fetchall()
    assert silent == []
