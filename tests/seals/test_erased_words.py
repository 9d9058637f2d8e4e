"""After an erasure no salt, digest or size gives a word away."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import replace
from itertools import product
from typing import Any

import psycopg
from psycopg.rows import tuple_row

from muniment.memory.domain.plan import Change
from muniment.memory.rules.seals.encoding import digest_content
from tests.engine import NOON, engine, note, scope
from tests.erasing import commit, kept
from tests.integration.test_erasure import lived
from tests.seals.raw import open_raw, read_contents

WHO = ("Ana", "Ben", "Cem", "Dua", "Eli", "Fay", "Gil", "Hal", "Ida", "Jon")
DID = ("loves", "hates", "owes", "sued", "left", "paid", "met", "robbed", "hired", "missed")
WHOM = ("Kim", "Lea", "Max", "Noa", "Ole", "Pia", "Quin", "Rex", "Sue", "Tom")
FACTS = [" ".join(words) for words in product(WHO, DID, WHOM)]


async def test_a_dictionary_finds_no_erased_word(database_url: str) -> None:
    """Must hold: a dictionary attack on 1,000 short facts finds none, by somebody who knows all but the words."""
    async with engine(database_url) as memory:
        who = scope()
        await memory.ingest(who, [note(text) for text in FACTS])
        with open_raw(database_url) as conn:
            known = read_contents(conn, who.space)  # all columns of each memory, as somebody may have copied them
            salts = _read(conn, "select salt from muniment.seals")
        assert len(known) == len(FACTS) == len(salts)
        found = await memory.list(who, limit=1000)
        gone = [
            Change(action="DELETE", before=one, after=replace(one, state="soft_deleted", purge_at=NOON))
            for one in found
        ]
        await commit(memory, who, *gone)
        with open_raw(database_url) as conn:
            known |= read_contents(conn, who.space)
        await memory.engine.store.erasure.purge_memories(who, [one.id for one in found], NOON, is_early=True)
        assert (await memory.admin.verify(who)).is_intact
        with open_raw(database_url) as conn:
            left = {value for query in _VALUES for value in _read(conn, query)}
            assert left.isdisjoint(salts)
            assert {len(value) for value in left} == {32}
            salts_left = [
                salt for table in ("seals", "reseals") for salt in _read(conn, f"select salt from muniment.{table}")
            ]
        # The attack: every fact against every digest, with no salt, with an empty one, and with some that are left.
        some = [b"", bytes(32), *salts_left[:: max(1, len(salts_left) // 20)]]
        hits = 0
        for cells in known.values():
            tries = {digest_content(salt, None, cells) for salt in some}
            hits += not tries.isdisjoint(left)
        for text in FACTS:
            words = (text, *text.split())
            tries = {hashlib.sha256(salt + word.encode()).digest() for salt in some for word in words}
            hits += not tries.isdisjoint(left)
        assert hits == 0


async def test_what_an_erasure_changes_has_no_former_salt(database_url: str) -> None:
    """A memory that lost what stood beside its text, a version that went, and details of a line: no salt of before."""
    async with engine(database_url) as memory:
        id_ = await lived(memory)
        with open_raw(database_url) as conn:
            before = dict(_pairs(conn, scope().space))
            contents = read_contents(conn, scope().space)
        await memory.admin.erase(scope(), id_)
        with open_raw(database_url) as conn:
            after = dict(_pairs(conn, scope().space))
            now = read_contents(conn, scope().space)
        changed = [rev for rev, cells in contents.items() if now.get(rev) != cells]
        assert len(changed) > 3
        assert all(before[rev] is not None and after[rev] is None for rev in changed)
        assert all(after[rev] == before[rev] for rev in before if rev not in changed and now.get(rev) is not None)
        await kept(memory, "The harp is tuned")
        assert (await memory.admin.verify(scope())).is_intact


_VALUES = (
    "select digest from muniment.seals", "select content from muniment.seals",
    "select salt from muniment.seals where salt is not null", "select content from muniment.reseals",
    "select salt from muniment.reseals where salt is not null", "select head from muniment.spaces",
)  # fmt: skip


def _read(conn: psycopg.Connection[Any], query: str) -> list[bytes]:
    return [value for (value,) in conn.cursor(row_factory=tuple_row).execute(query, binary=True) if value is not None]


def _pairs(conn: psycopg.Connection[Any], space: object) -> Iterable[tuple[int, bytes | None]]:
    rows = conn.execute("select rev, salt from muniment.seals where space_id = %s", (space,), binary=True)
    return ((int.from_bytes(rev), salt) for rev, salt in rows)
