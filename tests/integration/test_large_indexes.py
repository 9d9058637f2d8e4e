"""A large space: its indexes are built again when a build was cut off, dropped or left undone."""

from dataclasses import replace

import psycopg
import pytest

from muniment.memory.domain.jobs import Job
from muniment.memory.domain.maintenance import IndexingResult
from muniment.memory.errors import Conflict, NotFound
from muniment.memory.stores.postgres.schema import large_spaces
from muniment.memory.stores.postgres.store import PostgresStore
from tests.engine import engine, scope, settings
from tests.integration.test_large import (
    ANA,
    BEN,
    CEM,
    CENTRES,
    COUNT,
    MODEL,
    WORDS,
    changing,
    filled,
    made,
    opened,
    own,
    reader,
    search,
)

__all__ = ["changing", "filled", "own"]


async def test_an_interrupted_build_is_done_again(changing: PostgresStore, own: str) -> None:
    """An index that is not valid, or of another model, is replaced; one that is there is kept."""
    with psycopg.connect(own, autocommit=True) as admin:
        name = large_spaces.build_index_name(ANA.space, MODEL)
        admin.execute(f"update pg_index set indisvalid = false where indexrelid = 'muniment.{name}'::regclass")
        stale = large_spaces.build_index_name(ANA.space, "former")
        admin.execute(f"create index {stale} on muniment.memories (memory_id)")
        assert (await changing.maintenance.index_space(ANA, 100)).made == ("vectors", "words")
        assert (await changing.maintenance.index_space(ANA, 100)).made == ()
        left = admin.execute(
            "select relname, indisvalid from pg_index join pg_class c on c.oid = indexrelid "
            "where relname like 'memories_near_%'"
        ).fetchall()
    assert sorted(left) == sorted((large_spaces.build_index_name(who.space, MODEL), True) for who in (ANA, BEN))


async def test_dropped_indexes_are_not_missed(changing: PostgresStore, own: str) -> None:
    """A process that still believes in them gets the right answer, and then knows; lists go with them."""
    other = opened(own)
    assert await other.maintenance.index_space(ANA, COUNT + 1) == IndexingResult(
        memories=COUNT, indexed=False, made=("dropped",)
    )
    assert await other.maintenance.unindex_space(ANA) == IndexingResult(memories=COUNT, indexed=False)
    await other.close()
    asked = search(WORDS[0], CENTRES[1])
    seen = (await changing.reads.read_snapshot(reader(ANA), asked)).hits
    assert (len(seen), changing._indexes.indexed_spaces) == (24, {BEN.space})
    assert seen == (await changing.reads.read_snapshot(reader(ANA), asked)).hits
    with psycopg.connect(own) as admin:
        assert admin.execute("select distinct space_id from muniment.postings").fetchall() == [(BEN.space,)]


async def test_many_are_made_one_after_the_other(changing: PostgresStore) -> None:
    """However often a connection has held the lock: a build waits for whoever holds a snapshot, and never for its own
    lock."""
    for _ in range(4):
        assert (await changing.maintenance.index_space(ANA, 100)).indexed
        assert (await changing.maintenance.unindex_space(ANA)).made == ("dropped",)


async def test_a_vector_in_the_other_column_is_found(changing: PostgresStore, own: str) -> None:
    """While a switch of the embedder is being tidied a search reads every memory, and no index is made."""
    one, vector = made("ana", COUNT)[40]
    with psycopg.connect(own) as admin:
        admin.execute(
            "update muniment.memories set embedding_model = 'former', embedding = '[1,0]', next_embedding = embedding,"
            " next_model = %s where memory_id = %s",
            (MODEL, one.id),
        )
    seen = await changing.reads.read_snapshot(reader(ANA), search("", vector))
    assert one.id in {found.memory.id for found in seen.hits}
    assert ANA.space not in changing._indexes.indexed_spaces
    with pytest.raises(Conflict):
        await changing.maintenance.index_space(ANA, 100)


async def test_one_at_a_time(changing: PostgresStore, own: str) -> None:
    """Who comes while another builds is told so; a space that nobody has is not found."""
    with psycopg.connect(own, autocommit=True) as admin:
        admin.execute("select pg_advisory_lock(hashtext('muniment index'))")
        with pytest.raises(Conflict):
            await changing.maintenance.index_space(ANA, 100)
        admin.execute("select pg_advisory_unlock(hashtext('muniment index'))")
    with pytest.raises(NotFound):
        await changing.maintenance.index_space(scope("nobody"), 100)


async def test_the_worker_finds_what_has_grown(own: str) -> None:
    """It enqueues the spaces that want indexes, once, and the job makes them; what has shrunk loses them."""
    tuned = settings(own)
    tuned = tuned.model_copy(update={"recall": tuned.recall.model_copy(update={"index_from": 50})})
    async with engine(own, tuned=tuned) as memory:
        await memory.jobs.enqueue_overgrown()
        assert await memory.jobs.count_jobs() == {"index": {"due": 1, "later": 0, "running": 0}}
        await memory.jobs.perform_job(Job(name="index", scope=CEM))
        assert not (await memory.admin.index(CEM)).made
        assert set(await memory.admin.index_all()) == {
            replace(who, thread=None, session=None) for who in (ANA, BEN, CEM)
        }
        assert (await memory.admin.index(CEM, drop=True)).made == ("dropped",)
