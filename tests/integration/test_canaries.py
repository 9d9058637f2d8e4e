"""Every column that can hold words holds a canary, and what must not be there any more, or for others, is not."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from dataclasses import fields, replace
from datetime import timedelta
from importlib.resources import files as list_resources
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg import sql

from muniment.langchain import MunimentStore
from muniment.memory import bootstrap
from muniment.memory.client import Memory
from muniment.memory.domain.ids import Revision
from muniment.memory.domain.layers.projections import PROJECTION_STATUSES
from muniment.memory.domain.memory import STATES, Fact, StoredMemory
from muniment.memory.domain.plan import Change
from muniment.memory.domain.query import ListRequest, Query
from muniment.memory.domain.scope import Scope
from muniment.memory.models.hash_embedder import hash_vector
from muniment.memory.stores.postgres import search
from muniment.memory.stores.postgres.embedded import server
from muniment.memory.stores.postgres.schema.migrate import apply_migrations
from muniment.memory.stores.postgres.sql import load_blocks
from muniment.testing.fakes import FixedClock
from tests.canaries import SILENT, VERBATIM, Canary, find_hits, list_columns, plant
from tests.engine import NOON, engine, settings
from tests.erasing import TABLES, commit
from tests.integration.test_raw_files import files

SECRET = "sk-" + "cAnA4rY" * 4
ANA = Canary(said="quillonberry", named="zirconella", operator="operator zirconella")
BEN = Canary(said="marzipantree", named="palladione")
CONDITION = re.compile(r"(?:[a-z]+\.)?space_id = %\(space\)s")  # of the engine, on the space
ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
LATER = NOON + timedelta(minutes=30)


async def test_every_column_has_a_canary_or_a_reason(database_url: str) -> None:
    """A new column that can hold words is either planted, or named with the reason why it holds none."""
    clock = FixedClock(LATER)
    async with engine(database_url, clock=clock) as memory:
        await plant(memory, ANA, clock)
    planted = find_hits(database_url, ANA.said) | find_hits(database_url, ANA.named)
    silent = [column for columns in SILENT.values() for column in columns]
    columns = list_columns(database_url)
    assert len(columns) > 100
    assert [column for column in columns if column not in planted and column not in silent] == []
    assert [column for column in silent if column in planted or column not in columns or silent.count(column) > 1] == []


def spoil(value: Any) -> Any:
    """A JSON value with the secret in every text that has the canary."""
    if isinstance(value, str):
        return f"{value} {SECRET}" if ANA.said in value.casefold() else value
    if isinstance(value, dict):
        return {name: spoil(item) for name, item in value.items()}
    return [spoil(item) for item in value] if isinstance(value, list) else value


async def test_no_secret_is_in_any_column(database_url: str) -> None:
    """What is said beside it is; an export with the secret beside every word is read without it."""
    clock = FixedClock(LATER)
    async with engine(database_url, clock=clock) as memory:
        canary = replace(ANA, secret=SECRET)
        await plant(memory, canary, clock)
        assert find_hits(database_url, SECRET) <= {*VERBATIM}
        rows = [spoil(dict(row)) for row in await memory.export(canary.scope)]
        await memory.load(Scope(owner="copy"), rows)
        assert find_hits(database_url, SECRET) <= {*VERBATIM}
    assert find_hits(database_url, ANA.said) - find_hits(database_url, "[redacted:") == {*VERBATIM}


def read_space(url: str, scope: Scope) -> dict[str, list[str]]:
    """The rows of a space by their tables, without what is of this database alone."""
    with psycopg.connect(url) as admin:
        return {
            table: sorted(
                row
                for (row,) in admin.execute(
                    sql.SQL("select (to_jsonb(t) - %s::text[])::text from muniment.{} t where space_id = %s").format(
                        sql.Identifier(table)
                    ),
                    (["space_id", *HERE.get(table, ())], scope.space),
                )
            )
            for (table,) in admin.execute(TABLES).fetchall()
        }


NOT_EXPORTED = {
    "bisect_replies": "what was made again in this database, for some days",
    "consolidation_runs": "what was done in this database",
    "events": "what was done in this database",
    "extractions": "what was read here: a turn that is exported as consumed is not read again",
    "host_items": "ids by which hosts reach memories of this database",
    "items": "a program's own",
    "plugin_audit": "what was done in this database",
    "plugin_switches": "of sessions of hosts of this database",
    "plugin_turns": "what was done in this database",
    "pair_fingerprints": "what was compared in this database",
    "seals": "of the journal of this database: what is read in is sealed at once",
    "requests": "kept for a day, for who asks this space again",
}
# Of a space its names, its seal, and when this database maintains it; of a turn the words that a search has counted.
HERE = {"spaces": ("tenant_id", "owner_id", "tend_at", "sealed_from", "head"), "turns": ("words",)}
EMPTY = [
    "erasures",
    "postings",
    "proxy_days",
    "reseals",
    "shares",
    "spend",
    "spend_days",
    "swept",
]  # of a space like this one


async def test_an_export_is_the_space(database_url: str) -> None:
    """Read into a space of another tenant it gives the same rows in every table but those that say what was done."""
    clock, copy = FixedClock(LATER), Scope(owner="copy", tenant="other")
    async with engine(database_url, clock=clock) as memory:
        await plant(memory, ANA, clock)
        rows = list(await memory.export(ANA.scope))
        await memory.load(copy, rows)
        assert list(await memory.export(copy)) == rows
    one, other = read_space(database_url, ANA.scope), read_space(database_url, copy)
    assert {table for table in one if one[table] != other[table]} == {*NOT_EXPORTED}
    assert {table for table in NOT_EXPORTED if not one[table]} == set()
    assert [table for table in one if not one[table]] == EMPTY


async def test_two_tenants_by_row_level_security_alone(database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who has entered one space sees of the other no row of any table or view, and the engine without its own
    conditions on the space answers as with them."""
    clock = FixedClock(LATER)
    async with engine(database_url, clock=clock) as memory:
        for canary in (replace(ANA, operator="operator"), BEN):
            await plant(memory, canary, clock)
        for own, others in ((ANA, BEN), (BEN, ANA)):
            seen = look(database_url, own)
            assert {name for name, text in seen.items() if is_of(others, text)} == set()
            assert len([name for name, text in seen.items() if is_of(own, text)]) > 25
        told = await ask_all(memory, BEN)
        for path in list_resources("muniment.memory.stores.postgres.sql").iterdir():
            if path.name.endswith(".sql"):
                blocks = load_blocks(path.name.removesuffix(".sql"))
                for name, text in blocks.items():
                    monkeypatch.setitem(blocks, name, CONDITION.sub("true", text))
        search._build_statement.cache_clear()
        try:
            now = await ask_all(memory, BEN)
        finally:
            search._build_statement.cache_clear()
    assert {name for name in now if set(ID.findall(now[name])) != set(ID.findall(told[name]))} == set()
    assert {name for name, text in now.items() if is_of(ANA, text) or not is_of(BEN, text)} == set()


async def ask_all(memory: Memory, canary: Canary) -> dict[str, str]:
    """What each door that reads a space answers."""
    who = canary.scope
    held = (await memory.list(who, limit=1000))[-1].id
    query = Query(text=f"{ANA.said} {BEN.said}", threshold=0.0, top_k=50, budget_tokens=100_000)
    doors: dict[str, Callable[[], Awaitable[Any]]] = {
        "query": lambda: memory.query(who, "supervisor", query),
        "brief": lambda: memory.brief(who, "supervisor", query.text),
        "list": lambda: memory.list(who, states=STATES, limit=1000),
        "page": lambda: memory.list_page(who, ListRequest(states=STATES, everywhere=True, limit=1000)),
        "history": lambda: memory.history(who, limit=1000),
        "changes": lambda: memory.changes(who, limit=1000),
        "export": lambda: memory.export(who),
        "content": lambda: memory.export(who, content=True),
        "consents": lambda: memory.list_consents(who, decided=True),
        "sessions": lambda: memory.sessions.list(who),
        "session": lambda: memory.sessions.get(who, who.session or ""),
        "turns": lambda: memory.sessions.search(who, query.text, limit=1000),
        "projections": lambda: memory.projections.list(who, statuses=PROJECTION_STATUSES, limit=1000),
        "skills": lambda: memory.projections.list_skills(who, statuses=PROJECTION_STATUSES),
        "lineage": lambda: memory.projections.trace_lineage(who, held),
        "activity": lambda: memory.admin.read_activity(who, 3000, 100),
        "items": lambda: MunimentStore(memory, who).asearch(()),
    }
    return {name: str(await door()) for name, door in doors.items()}


def is_of(canary: Canary, text: str) -> bool:
    """Whether rows have something of a space."""
    return any(word in text.casefold() for word in (canary.said, canary.named, str(canary.scope.space)))


def look(url: str, canary: Canary) -> dict[str, str]:
    """All rows of all tables and views as the application sees them that has entered a space."""
    found = {}
    with psycopg.connect(url, autocommit=True) as conn:
        names = conn.execute(
            "select table_schema, table_name from information_schema.tables where table_schema in ('muniment', 'jobs')"
        ).fetchall()
        for name in names:
            with conn.transaction():
                conn.execute("select muniment.enter_space(%s, null)", (canary.scope.space,))
                conn.execute("set local role muniment_app")
                try:
                    rows = conn.execute(
                        sql.SQL("select to_jsonb(t)::text from {}.{} t").format(*map(sql.Identifier, name))
                    ).fetchall()
                except psycopg.errors.InsufficientPrivilege:
                    raise psycopg.Rollback from None
                found[".".join(name)] = "\n".join(row for (row,) in rows)
    return found


ERASED = Canary(
    said="plumvale",
    wished="quillonberry",
    told="The user wants to grow quillonberry jam",
    named="zirconella",
)


async def test_what_is_erased_is_in_no_column_and_no_file(home: Path) -> None:
    """A memory with all that says the same, in any column; then its user with every name; then the files, too."""
    url, clock = await server.ensure_server(home, fsync=False), FixedClock(LATER)
    await apply_migrations(url)
    async with engine(url, tuned=settings(url, MUNIMENT_HOME=str(home)), clock=clock) as memory:
        held = await plant(memory, ERASED, clock)
        await plant(memory, BEN, clock)
        before = find_hits(url, ERASED.wished)
        assert len(before) > 25
        await memory.admin.erase(ERASED.scope, held)
        assert find_hits(url, ERASED.wished) - {*VERBATIM} == set()
        assert len(find_hits(url, ERASED.said)) > 15
        await memory.admin.erase_space(ERASED.scope)
        for word in (ERASED.wished, ERASED.said, ERASED.named):
            assert find_hits(url, word) == set()
        await bootstrap.scrub_database(memory.engine.settings)
        for word in (ERASED.wished, ERASED.said, ERASED.named):
            assert files(home, word) == []
        assert files(home, BEN.said)


def alter(memory: StoredMemory) -> StoredMemory:
    """A memory with another value in every field but those that say which one it is."""
    fact = Fact(kind="note", predicate="said", object="other")
    changed = replace(
        memory,
        kind="episodic" if memory.kind == "semantic" else "insight",
        category="tasks",
        role="system",
        text=f"Other {memory.id}",
        updated_at=LATER + timedelta(days=1),
        fact=None if memory.fact else fact,
        stable_key=f"other|{memory.id}",
        importance=5,
        confidence=0.125,
        trust="agent",
        pinned=not memory.pinned,
        state="pending",
        tags=("other",),
        agent_id="other",
        run_id="other",
        actor_id="other",
        session_id="other",
        thread_id="other",
        event_time=NOON + timedelta(days=2),
        purge_at=NOON + timedelta(days=3),
        context="other",
        turns=(),
        aliases=("other",),
        project_id="other",
        app_id="other",
        reach="session",
        source="other",
        expires_at=NOON + timedelta(days=4),
    )
    same = {each.name for each in fields(memory) if getattr(memory, each.name) == getattr(changed, each.name)}
    assert same <= {"id", "created_at", "rev", "superseded_by", "last_accessed_at", "access_count", "turns"}
    return changed


async def test_each_column_is_read_as_of_a_revision(database_url: str) -> None:
    """After every field of every memory has changed, each is read as it was, with what was made of it; a table of
    versions has each column of the memories but those that are counted."""
    clock = FixedClock(LATER)
    async with engine(database_url, clock=clock) as memory:
        who = ANA.scope
        await plant(memory, ANA, clock)
        before = {one.id: one for one in await memory.list(who, states=STATES, limit=1000)}
        slots = await memory.projections.list(who, statuses=PROJECTION_STATUSES, limit=1000)
        rev = Revision((await memory.changes(who)).rev)
        for one in before.values():
            after = alter(one)
            await commit(memory, who, Change(action="UPDATE", before=one, after=after, vector=hash_vector(after.text)))
        for one in before.values():
            assert await memory.get(who, one.id, as_of=rev) == one
            assert (await memory.get(replace(who, session="other"), one.id)).text == f"Other {one.id}"
        then = await memory.list_page(who, ListRequest(states=STATES, everywhere=True, limit=1000), as_of=rev)
        assert {one.id: one for one in then.memories} == before
        assert await memory.projections.list(who, statuses=PROJECTION_STATUSES, limit=1000, as_of=rev) == slots
        asked = Query(text=ANA.said, threshold=0.0, as_of=rev)
        assert (await memory.query(who, "supervisor", asked)).hits
        assert not (await memory.query(who, "supervisor", replace(asked, as_of=None))).hits
    with psycopg.connect(database_url) as admin:
        columns: dict[str, list[str]] = dict(
            admin.execute(
                "select table_name, array_agg(column_name::text) from information_schema.columns"
                " where table_schema = 'muniment' and table_name in ('memories', 'memory_versions') group by 1"
            ).fetchall()
        )
    kept = {*columns["memory_versions"]}
    assert {*columns["memories"]} - kept == {"rev", "last_accessed_at", "access_count"}
    assert kept - {*columns["memories"]} == {"from_rev", "to_rev"}
