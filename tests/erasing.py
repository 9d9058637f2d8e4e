"""What tests of removal share: a memory with everything about it, and what the tables hold."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import uuid4

import psycopg

from muniment.memory.client import Memory
from muniment.memory.domain.consent import Proposal
from muniment.memory.domain.ids import MemoryId, Revision
from muniment.memory.domain.memory import STATES
from muniment.memory.domain.plan import Change, Relation, WritePlan
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.usage import OpsEvent
from tests.engine import NOON, note, scope

LATER = NOON + timedelta(days=31)
TABLES = """
    select c.relname from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where n.nspname = 'muniment' and c.relkind = 'r' and exists (
      select from pg_attribute a where a.attrelid = c.oid and a.attname = 'space_id') order by 1"""


def rows(url: str, who: Scope) -> dict[str, int]:
    """How many rows each table has of a space."""
    with psycopg.connect(url) as admin:
        tables = [name for (name,) in admin.execute(TABLES).fetchall()]
        return {
            name: count
            for name in tables
            for (count,) in admin.execute(f"select count(*) from muniment.{name} where space_id = %s", (who.space,))
        }


def everything(url: str, but: tuple[str, ...] = ("turns",)) -> str:
    """All rows of all tables but these as one text."""
    with psycopg.connect(url) as admin:
        tables = [name for (name,) in admin.execute(TABLES).fetchall() if name not in but]
        tables = [f"muniment.{name}" for name in tables] + ["jobs.queue"]
        return "\n".join(str(admin.execute(f"select to_jsonb(t) from {name} t").fetchall()) for name in tables)


async def kept(memory: Memory, text: str, who: Scope | None = None, category: str = "activity") -> MemoryId:
    """The id of a new memory."""
    who = who or scope()
    before = {one.id for one in await memory.list(who, states=STATES, limit=1000)}
    await memory.ingest(who, [note(text, category)])
    (made,) = {one.id for one in await memory.list(who, states=STATES, limit=1000)} - before
    return made


async def commit(memory: Memory, who: Scope, *changes: Change, **more: Any) -> Revision:
    rev, _ = await memory.engine.store.reads.find_neighbours(who, (), 0)
    plan = WritePlan(scope=who, expected_rev=rev, node="worker", at=memory.now(), changes=changes)
    return (await memory.engine.store.writes.commit(replace(plan, **more))).rev


async def forgotten(memory: Memory, who: Scope | None = None) -> MemoryId:
    """A memory with everything that there can be about one, forgotten."""
    who, text = who or scope(), "The cello is rented until May"
    id_ = await kept(memory, text, who)
    other = await kept(memory, "Vera teaches there", who)
    found = await memory.get(who, id_)
    corrected = replace(found, text=f"{text}, or June")
    change = Change(action="UPDATE", before=found, after=corrected, meta={"why": "same", "said": text})
    ask = Proposal(field="city", value="Cellotown", memory=id_, turns=(), expires_at=LATER)
    await commit(memory, who, change, relations=(Relation(a=id_, b=other, strength=0.9),), proposals=(ask,))
    await memory.conversation.track(who, OpsEvent(node="face", op="search", status="ok", ts=NOON, memory_id=id_))
    await memory.conversation.flush(who)
    with psycopg.connect(memory.engine.settings.database_url.get_secret_value()) as admin:  # type: ignore[union-attr]
        admin.execute(
            "insert into muniment.pair_fingerprints values (%s, %s, %s, 90, 'same', 'rules', %s, %s)",
            (who.space, *sorted((id_, other)), uuid4(), NOON),
        )
    await memory.forget(who, id_)
    return id_


def all_rows(url: str) -> dict[str, list[str]]:
    """Every row of every table by its space, as a text."""
    found: dict[str, list[str]] = {}
    with psycopg.connect(url) as admin:
        tables = [f"muniment.{name}" for (name,) in admin.execute(TABLES).fetchall()] + ["jobs.queue"]
        for name in tables:
            space = "space_id::text" if name.startswith("muniment") else "split_part(dedup_key, ':', 1)"
            for key, row in admin.execute(f"select {space}, to_jsonb(t)::text from {name} t").fetchall():
                found.setdefault(key, []).append(f"{name} {row}")
    return {key: sorted(some) for key, some in found.items()}
