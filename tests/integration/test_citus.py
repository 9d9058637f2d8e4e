"""The script for Citus knows every table, distributes what is referred to before what refers to it, and changes no
outcome."""

import re
from collections.abc import Iterator
from dataclasses import replace
from importlib.resources import files
from typing import Any
from uuid import UUID

import psycopg
import pytest

from muniment.memory.domain.ids import MemoryId, Revision
from muniment.memory.domain.layers.observation import NewObservation
from muniment.memory.domain.memory import Fact, StoredMemory
from muniment.memory.domain.plan import Change, ExtractionRecord, Relation, WritePlan
from muniment.memory.domain.search import NeighbourProbe
from muniment.memory.domain.turn import Turn
from muniment.memory.errors import BadInput, Conflict
from muniment.memory.models.hash_embedder import hash_vector
from muniment.memory.stores.postgres.sql import load_blocks
from tests.citus import databases as citus
from tests.citus.databases import plain
from tests.conftest import Clones
from tests.engine import NOON, engine, note, said, scope

FOLDER = files("muniment.migrations") / "citus"
SCRIPT = citus.SCRIPT
FUNCTIONS = (FOLDER / "functions.sql").read_text(encoding="utf-8")
COPIED = {"embedders", "tenant_embedders"}
# Looked up on the coordinator.
OF_NO_SPACE = {"tokens", "token_configs", "setting_overrides", "setting_changes", "console_sessions"}
TABLES = (
    "spaces", "memories", "memory_versions", "journal", "turns", "extractions", "relations", "sessions", "observations",
    "projections",
)  # fmt: skip


@pytest.fixture
def other_url(clones: Clones, template: str) -> Iterator[str]:
    """A second database, with the functions and the policies that Citus gets."""
    for url in clones.make(template):
        with psycopg.connect(url) as conn:
            conn.execute(FUNCTIONS.encode())
        citus.restate_policies(url)
        yield url


def distributed() -> list[str]:
    """The tables in the order in which they are distributed."""
    listed = re.search(r"unnest\(array\[(.*?)\]\)", SCRIPT, re.DOTALL)
    assert listed is not None
    return ["spaces", *re.findall(r"'(\w+)'", listed[1])]


def test_every_table_has_its_place(database_url: str) -> None:
    """A table that a migration adds and the script forgets would stay on the coordinator, out of reach of its
    neighbours."""
    with psycopg.connect(database_url) as conn:
        tables = conn.execute("""
            select relname from pg_class c join pg_namespace n on n.oid = c.relnamespace
            where n.nspname = 'muniment' and relkind = 'r'""").fetchall()
    assert sorted(distributed()) == sorted({name for (name,) in tables} - COPIED - OF_NO_SPACE)
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
    assert [pair for pair in edges if OF_NO_SPACE.intersection(pair) not in (set(), set(pair))] == []
    assert [
        pair for pair in edges if not OF_NO_SPACE.intersection(pair) and order.index(pair[1]) >= order.index(pair[0])
    ] == []


def test_functions_exist(database_url: str) -> None:
    """Each function that the script names is one of the schema, and all of the schema are named or run where they are
    called."""
    with psycopg.connect(database_url) as conn:
        known = {
            name
            for (name,) in conn.execute(
                "select proname from pg_proc p join pg_namespace n on n.oid = p.pronamespace where n.nspname = "
                "'muniment'"
            )
        }
    names = set(re.findall(r"'(\w+)'", " ".join(re.findall(r"proname (?:in \(.*?\)|= '\w+')", SCRIPT, re.DOTALL))))
    # A table function runs on the coordinator, its statements where the space is; what is measured, and tokens, are
    # there.
    assert known - names == {
        "near", "analyze_memories", "find_token", "erase_tokens", "is_valid_token", "find_configured_token",
        "find_token_of_job", "drop_former_embedders", "hold_token", "open_console_session", "use_console_session",
        "end_console_session", "describe_readers", "list_openings",
        # Of seals on one Postgres: those of a cluster are made line by line.
        "chain_digest", "chain_lines", "seal_addition",
    }  # fmt: skip
    assert names <= known


def test_functions_of_rows_come_after_their_tables(database_url: str) -> None:
    """Citus refuses a function that takes or returns rows of a table that is not distributed yet."""
    with psycopg.connect(database_url) as conn:
        bound = conn.execute("""
            select distinct p.proname, c.relname from pg_proc p
            cross join unnest(
              array[p.prorettype] || p.proargtypes::oid[] || coalesce(p.proallargtypes, '{}')) named (type)
            join pg_type t on t.oid = named.type left join pg_type item on item.oid = t.typelem
            join pg_class c on c.oid in (t.typrelid, item.typrelid)
            where p.pronamespace = 'muniment'::regnamespace""").fetchall()
    placed = [(name, table) for name, table in bound if f"'{name}'" in SCRIPT]
    assert ("rank_projections", "projections") in placed
    assert [pair for pair in placed if SCRIPT.index(f"'{pair[0]}'") < SCRIPT.index(f"'{pair[1]}'")] == []


@plain
def test_the_functions_are_such_as_citus_plans(database_url: str, other_url: str) -> None:
    """It plans with the values of parameters alone. And the variable that a statement is assigned to is a parameter of
    it, of whose type a node knows nothing when it is of rows: there the statement selects into it."""
    found = []
    for url in (database_url, other_url):
        with psycopg.connect(url) as conn:
            rows = conn.execute("""
                select p.proname, p.prosrc, array_to_string(p.proconfig, ' ') ~ 'plan_cache_mode'
                from pg_proc p where p.pronamespace = 'muniment'::regnamespace""").fetchall()
        generic = {name for name, _, is_generic in rows if is_generic}
        assigned = {
            (name, variable)
            for name, source, _ in rows
            for variable in re.findall(r"^ *(\w+) muniment\.", source, re.MULTILINE)
            if re.search(
                rf"^ *{variable} := [^;]*(?:from|join) muniment\.(?:{'|'.join(distributed())})\b", source, re.MULTILINE
            )
        }
        found.append((generic, assigned))
    assert found[0][0] >= {"commit_memories", "keep_observations"}
    assert found[0][1] == {("project_changes", "beside")}
    assert found[1] == (set(), set())


def test_every_role_can_reach_the_nodes(database_url: str) -> None:
    """Whoever may use a table has to log in to the nodes, with the settings of the connections; a role that a migration
    adds and the script forgets could not."""
    with psycopg.connect(database_url) as conn:
        granted = conn.execute(
            """
            select distinct a.grantee::regrole::text from pg_class c, aclexplode(c.relacl) a
            where c.relnamespace = 'muniment'::regnamespace and a.grantee not in (c.relowner, 0)
              and c.relname <> all(%s)""",
            [sorted(OF_NO_SPACE)],
        ).fetchall()
    roles = {role for (role,) in granted}
    assert roles >= {"muniment_app", "muniment_keeper", "muniment_eraser"}
    assert set(re.findall(r"^alter role (\w+) login;", SCRIPT, re.MULTILINE)) == roles
    configured = re.search(r"where rolname in \((.*?)\)", SCRIPT)
    assert configured is not None
    assert set(re.findall(r"'(\w+)'", configured[1])) == roles


def test_each_table_is_narrowed_to_the_space_by_itself() -> None:
    """Of a subquery with the space of another table Citus may not see where it belongs: it asks every node, or gives
    up."""
    texts = [
        (file.name, name, text)
        for file in files("muniment.memory.stores.postgres.sql").iterdir()
        if file.name.endswith(".sql")
        for name, text in load_blocks(file.name.removesuffix(".sql")).items()
        if "%(space)s" in text
    ]
    assert len(texts) > 100
    assert [(file, name) for file, name, text in texts if re.search(r"space_id = \w+\.space_id", text)] == []


def test_what_sees_all_categories_runs_where_the_space_is(database_url: str) -> None:
    """The setting of a function stays where the function runs, and the coordinator has no rows: a statement calls it
    with a column of the space."""
    with psycopg.connect(database_url) as conn:
        wide = conn.execute("""
            select p.proname from pg_proc p where p.pronamespace = 'muniment'::regnamespace
              and array_to_string(p.proconfig, ' ') ~ 'app.categories'""").fetchall()
    assert {"revision_before", "time_after", "read_cursor", "has_ended"} <= {name for (name,) in wide}
    called = [
        (name, arguments)
        for file in files("muniment.memory.stores.postgres.sql").iterdir()
        if file.name.endswith(".sql")
        for text in load_blocks(file.name.removesuffix(".sql")).values()
        for (name,) in wide
        for arguments in re.findall(rf"muniment\.{name}\(((?:[^()]|\([^()]*\))*)\)", text)
    ]
    assert len(called) >= 8
    assert [one for one in called if not re.search(r"\b[a-z]\.\w", one[1])] == []


def test_the_queue_takes_what_depends_on_a_space() -> None:
    """A job that is inserted from a select on a space: Citus keeps the answer of a node as rows, which have a column,
    and takes the number from the sequence in the name of the application."""
    inserted = [
        text for text in load_blocks("jobs").values() if re.search(r"insert into jobs\.queue[^;]*muniment\.", text)
    ]
    assert inserted
    assert not [text for text in inserted if re.search(r"select\s+from", text)]
    assert "grant usage on sequence jobs.queue_id_seq to muniment_app" in SCRIPT


def _drinks(what: str) -> Fact:
    return Fact(kind="preference", predicate="drinks", object=what, single=True)


def _observe(turn: Turn, memory: MemoryId) -> NewObservation:
    return NewObservation(
        type="user_fact", stable_key="tea", statement="Tea", category="goals", turns=(turn.id,), memory=memory
    )


def gardens() -> list[StoredMemory]:
    """Three memories of one attribute, which say something else in one slot of the profile."""
    return [
        StoredMemory(
            id=MemoryId(UUID(int=n)),
            kind="semantic",
            category="goals",
            text=f"Tea of garden {n}",
            created_at=NOON,
            updated_at=NOON,
            stable_key=f"user.tea.{n}",
            fact=_drinks(f"tea {n}"),
            importance=3,
            confidence=0.5,
            trust="user",
        )
        for n in (1, 2, 3)
    ]


def list_rows(url: str) -> list[str]:
    """All that is in the tables, once the turns have been numbered anew."""
    told: list[str] = []
    with psycopg.connect(url) as conn:
        conn.execute("update muniment.turns set position = null")
        conn.execute("select muniment.number_turns(%s, %s)", (scope().space, NOON))
        conn.execute("update muniment.turns set said_at = null")  # the moment at which the database got them
        conn.execute("update muniment.spaces set head = null")  # a digest over salts
        for table in TABLES:
            told += sorted(map(str, conn.execute(f"select * from muniment.{table}").fetchall()))
    return told


async def lived(url: str) -> list[Any]:
    """All that is in the tables after plans of every kind, and what was answered and refused meanwhile."""
    told: list[Any] = []
    async with engine(url) as memory:
        store = memory.engine.store
        made = gardens()
        turn = replace(said("I drink tea", key="1"), actor="Ana")
        plan = WritePlan(scope=scope(), expected_rev=Revision(0), node="worker", at=NOON, turns=(turn,))
        first = replace(
            plan,
            changes=tuple(Change(action="ADD", after=one, vector=hash_vector(one.text)) for one in made),
            relations=(Relation(a=made[0].id, b=made[1].id, strength=0.5),),
            extracted=ExtractionRecord(turn=turn.id, source="rules", found=3),
            observations=(_observe(turn, made[0].id),),
        )
        heard = [replace(said(text, key=text), session="B") for text in ("Good morning", "Good night")]
        await memory.conversation.record(scope(), [turn, *heard])
        await memory.conversation.record(scope(), [heard[0], said("Good noon", key="noon")])
        told.append((await store.writes.commit(first)).rev)
        kept = [await memory.get(scope(), one.id) for one in made]
        with psycopg.connect(url) as conn:
            conn.execute("update muniment.memories set next_embedding = embedding, next_model = 'next'")
        told.append(await memory.projections.list(scope()))
        edited = replace(kept[0], text="Coffee of garden 1", pinned=True, fact=_drinks("coffee"))
        gone = replace(kept[1], state="soft_deleted", stable_key="user.tea.1")
        second = replace(
            plan,
            expected_rev=Revision(3),
            turns=(),
            changes=(
                Change(action="DELETE", before=kept[1], after=gone),
                Change(action="UPDATE", before=kept[0], after=edited, vector=hash_vector(edited.text)),
            ),
            relations=(Relation(a=made[0].id, b=made[1].id, strength=0.25),),
        )
        told.append((await store.writes.commit(second)).rev)
        told.append((await store.writes.commit(replace(first, expected_rev=Revision(5)))).replayed)
        with pytest.raises(Conflict):
            await store.writes.commit(second)
        back = replace(gone, state="active")
        with pytest.raises(BadInput):
            await store.writes.commit(
                replace(
                    plan,
                    expected_rev=Revision(5),
                    turns=(),
                    changes=(Change(action="RESTORE", before=gone, after=back),),
                )
            )
        probe = NeighbourProbe(
            kind="semantic", vector=hash_vector("tea"), stable_key="user.tea.1", attribute="user.tea"
        )
        told += [
            await store.reads.find_neighbours(scope(), (), 0),
            await store.reads.find_neighbours(scope(), [probe, probe], 5),
        ]
    return told + list_rows(url)


@plain
async def test_the_functions_do_the_same(database_url: str, other_url: str) -> None:
    """What Citus gets instead of a function comes to the same rows, answers and refusals."""
    told = await lived(database_url)
    assert len(told) > 15
    assert await lived(other_url) == told


@plain
def test_the_policies_are_such_as_citus_takes(database_url: str, other_url: str) -> None:
    """None restricts others and none has a subquery; and whoever runs the script again changes nothing."""
    before, made = citus.list_policies(database_url), citus.list_policies(other_url)
    restricting = [one for one in before if "RESTRICTIVE" in one]
    assert restricting
    assert not [one for one in made if "RESTRICTIVE" in one or "SELECT" in f"{one[6]}{one[7]}"]
    citus.restate_policies(other_url)
    assert citus.list_policies(other_url) == made
    roles = {(one[1], str(one[4])) for one in before}
    for _, table, _, _, role, *_ in restricting:  # who is restricted is whom the others are for
        assert not [other for place, other in roles if place == table and other != str(role) and "public" in other]
        assert (table, str(role)) in roles
        assert len(role) == 1


@plain
async def test_the_policies_let_the_same_pass(database_url: str, other_url: str) -> None:
    """Of spaces and of categories, what was entered is seen, and nothing where nothing was."""
    seen = []
    for url in (database_url, other_url):
        async with engine(url) as memory:
            for owner in ("ana", "ben"):
                await memory.ingest(scope(owner), [note("Green tea"), note("A garden", category="goals")])
        spaces = [scope(owner).space for owner in ("ana", "ben", "cem")]
        with psycopg.connect(url, autocommit=True) as conn:
            conn.execute("set role muniment_app")
            for entered in ([], spaces[:1], spaces[1:]):
                for allowed in ("", "*", "{}", "{goals}"):
                    conn.execute("select set_config('app.spaces', %s, false)", (f"{{{','.join(map(str, entered))}}}",))
                    conn.execute("select set_config('app.categories', %s, false)", (allowed,))
                    rows = [
                        sorted(conn.execute(f"select space_id, count(*) from muniment.{table} group by 1").fetchall())
                        for table in ("spaces", "memories", "journal", "turns")
                    ]
                    assert {space for some in rows for space, _ in some} <= set(entered)
                    seen.append(rows)
            conn.execute("reset app.spaces")
            assert conn.execute("select from muniment.memories").fetchall() == []
    assert seen[: len(seen) // 2] == seen[len(seen) // 2 :]
    assert len({str(rows) for rows in seen}) > 5


@plain
async def test_a_plan_is_made_before_a_space_is_entered(other_url: str) -> None:
    """A node's planner does not take it that nothing will be seen: it would read all of a space for one memory of
    it."""
    async with engine(other_url) as memory:
        await memory.ingest(scope(), [note(f"Green tea with number {n}") for n in range(500)])
    with psycopg.connect(other_url, autocommit=True) as conn:
        conn.execute("analyze muniment.memories")
        conn.execute("set role muniment_app")
        conn.execute("set enable_seqscan = off")
        one = f"select m from muniment.memories m where space_id = '{scope().space}' and memory_id = other.id offset 0"
        shown = conn.execute(
            f"explain (format json) select from (values (gen_random_uuid())) other (id), lateral ({one}) one"
        ).fetchone()
        assert shown is not None
        assert "memories_pk" in str(shown[0])
        every = conn.execute(
            f"explain (format json) select from muniment.memories where space_id = '{scope().space}'"
        ).fetchone()
        assert every is not None
        assert every[0][0]["Plan"]["Plan Rows"] > 400
