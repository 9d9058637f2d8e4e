"""Who sees which edges: those between two memories that the transaction sees, and no other one."""

from __future__ import annotations

from random import Random
from uuid import UUID

import psycopg
import pytest

from muniment.memory import bootstrap
from muniment.memory.domain.scope import Scope
from muniment.testing import FixedClock
from tests.citus import databases as citus
from tests.engine import NOON, engine, note, scope, settings

CATEGORIES = ("activity", "goals", "preferences", "tasks")
STATES = ("active", "active", "pending", "superseded", "soft_deleted", "rejected")
ATLAS = Scope(owner="atlas", owner_type="project")
OTHER = Scope(owner="ana", tenant="acme")
EDGES = 60
SEED = 20261128
Edge = tuple[UUID, UUID, UUID]


@pytest.fixture(params=["migrations", pytest.param("citus", marks=citus.plain)])
async def tied_url(database_url: str, request: pytest.FixtureRequest) -> str:
    """Spaces of two users, of a project that is shared with one of them, and of her namesake of another tenant, with
    memories of all categories and states and edges between random ones; with the policies of the migrations, or with
    those that Citus gets."""
    if request.param == "citus":
        citus.restate_policies(database_url)
    random = Random(SEED)
    async with engine(database_url) as memory:
        for who in (scope(), scope("ben"), ATLAS, OTHER):
            await memory.ingest(who, [note(f"Letter {n}", random.choice(CATEGORIES)) for n in range(16)])
    async with bootstrap.open_shares(settings(database_url), FixedClock(NOON)) as shares:
        await shares.grant_share(ATLAS, scope(), by="root")
    with psycopg.connect(database_url) as admin:
        for who in (scope(), scope("ben"), ATLAS, OTHER):
            rows = admin.execute(
                "select memory_id from muniment.memories where space_id = %s order by text", (who.space,)
            ).fetchall()
            ids = [id_ for (id_,) in rows]
            assert len(ids) == 16
            for id_ in ids:
                change = "update muniment.memories set state = %s where space_id = %s and memory_id = %s"
                admin.execute(change, (random.choice(STATES), who.space, id_))
            for pair in {tuple(sorted(random.sample(ids, 2))) for _ in range(EDGES)}:
                admin.execute(
                    "insert into muniment.relations (space_id, from_id, to_id, relation_type, strength, created_at) "
                    "values (%s, %s, %s, 'related_to', 0.5, now())",
                    (who.space, *pair),
                )
    return database_url


def list_edges(conn: psycopg.Connection) -> set[Edge]:
    return set(conn.execute("select space_id, from_id, to_id from muniment.relations").fetchall())


def list_memories(conn: psycopg.Connection) -> set[tuple[UUID, UUID]]:
    return set(conn.execute("select space_id, memory_id from muniment.memories").fetchall())


def ask_each(conn: psycopg.Connection, edges: set[Edge]) -> set[Edge]:
    """Return the edges of which the function says that both ends are seen."""
    asked = "select muniment.sees_edge(%s, %s, %s)"
    return {edge for edge in edges if conn.execute(asked, edge).fetchone() == (True,)}


def test_an_edge_is_seen_with_both_its_ends(tied_url: str) -> None:
    """Over random allowlists, in one space, in two, and in one that is shared: whatever the state of the memories."""
    random, told = Random(SEED), set()
    with psycopg.connect(tied_url) as conn:
        edges, own, other = list_edges(conn), scope().space, OTHER.space
        for n in range(60):
            allowed = random.choice((None, random.sample(CATEGORIES, random.randrange(len(CATEGORIES) + 1))))
            with conn.transaction(force_rollback=True):
                conn.execute("select set_config('role', 'muniment_app', true)")
                if n % 3 == 0:
                    entered = [own, scope("ben").space]
                    conn.execute("select muniment.enter_space(%s, %s)", (own, allowed))
                    conn.execute("select set_config('app.spaces', %s, true)", (f"{{{','.join(map(str, entered))}}}",))
                elif n % 3 == 1:
                    conn.execute("select muniment.enter_space(%s, %s)", (own, allowed))
                else:
                    given = (ATLAS.space, [own], ATLAS.tenant, allowed)
                    conn.execute("select muniment.enter_shared(%s, %s, %s, %s)", given)
                memories, seen = list_memories(conn), list_edges(conn)
                expected = {(space, a, b) for space, a, b in edges if {(space, a), (space, b)} <= memories}
                assert seen == expected
                assert ask_each(conn, edges) == expected
                assert other not in {space for space, *_ in seen}
                told.add((n % 3, len(seen)))
    assert len(told) > 12


def test_another_tenants_edges_stay_hidden(tied_url: str) -> None:
    """Also when they are asked for by their ids, between memories of two spaces, and before a space is entered."""
    with psycopg.connect(tied_url) as conn:
        edges = {edge for edge in list_edges(conn) if edge[0] == OTHER.space}
        assert len(edges) > EDGES // 2
        for allowed in (None, list(CATEGORIES)):
            with conn.transaction(force_rollback=True):
                conn.execute("select set_config('role', 'muniment_app', true)")
                assert (list_edges(conn), ask_each(conn, edges)) == (set(), set())
                conn.execute("select muniment.enter_space(%s, %s)", (scope().space, allowed))
                assert ask_each(conn, edges) == set()
                _, foreign, _ = next(iter(edges))
                mine = next(id_ for _, id_ in list_memories(conn))
                asked = "select from muniment.relations where space_id = %s or from_id = any(%s) or to_id = any(%s)"
                ids = [end for _, *ends in edges for end in ends]
                assert conn.execute(asked, (OTHER.space, ids, ids)).fetchall() == []
                assert ask_each(conn, {(scope().space, mine, foreign), (OTHER.space, mine, foreign)}) == set()
                assert ask_each(conn, {(scope().space, mine, mine), (OTHER.space, mine, mine)}) == {
                    (scope().space, mine, mine)
                }
