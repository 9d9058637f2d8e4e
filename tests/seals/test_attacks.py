"""Somebody who knows the tables and the digests changes several rows at once, so that they go with each other."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from contextlib import closing
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from psycopg.types.json import Jsonb

from muniment.faces.cli.app import run_command
from muniment.memory.client import Memory
from tests.engine import engine, note, scope, settings
from tests.erasing import kept
from tests.seals.tampering import Intruder
from tests.seals.test_tampering import live

SALT = bytes(32)
Attack = Callable[[Intruder], int]  # what it does, and the revision at which it has to be found
_LINE = """
    select to_jsonb(j) as line, s.content, coalesce((
      select sha256(string_agg(record_send(row('muniment reseal 1'::text, r.rev, r.content)), '' order by r.rev))
      from muniment.reseals r where r.space_id = %(space)s and r.sealed_by = %(rev)s), '') as resealed
    from muniment.journal j join muniment.seals s on s.space_id = j.space_id and s.rev = j.rev
    where j.space_id = %(space)s and j.rev = %(rev)s"""
_CHAIN = """
    select sha256(%(before)s::bytea || muniment.digest_line(jsonb_populate_record(null::muniment.journal, %(line)s),
      %(content)s) || %(resealed)s) as digest"""
_CONTENT = "select muniment.digest_held(%(space)s, %(id)s, %(rev)s, %(salt)s) as digest"


def find_victim(intruder: Intruder) -> dict[str, Any]:
    """A memory in the middle of the journal, whose line has its salt."""
    return intruder._all(
        "select m.* from muniment.memories m join muniment.seals s on s.space_id = m.space_id and s.rev = m.rev "
        "where m.space_id = %s and s.salt is not null order by m.rev"
    )[2]


def run(intruder: Intruder, query: str, **params: Any) -> psycopg.Cursor[dict[str, Any]]:
    """Execute for the space of the intruder."""
    return intruder.conn.execute(query, {"space": intruder.space} | params)


def find_digest(intruder: Intruder, query: str, **params: Any) -> bytes:
    row = run(intruder, query, **params).fetchone()
    assert row is not None
    return bytes(row["digest"])


def forge_text(intruder: Intruder) -> tuple[int, Any]:
    """Change a text; its revision and its memory."""
    row = find_victim(intruder)
    change = "update muniment.memories set text = 'Forged' where space_id = %(space)s and memory_id = %(id)s"
    run(intruder, change, id=row["memory_id"])
    return row["rev"], row["memory_id"]


def forge_content(intruder: Intruder) -> int:
    """Change a text, and the digest of it with the salt that is there."""
    rev, id_ = forge_text(intruder)
    salt = intruder._one("select salt from muniment.seals where space_id = %s and rev = %s", rev)["salt"]
    content = find_digest(intruder, _CONTENT, id=id_, rev=rev, salt=salt)
    change = "update muniment.seals set content = %(content)s where space_id = %(space)s and rev = %(rev)s"
    run(intruder, change, content=content, rev=rev)
    return rev


def forge_digest(intruder: Intruder) -> int:
    """The same with the digest of the line, so that only the next one is not over it."""
    rev = forge_content(intruder)
    seal_anew(intruder, rev, rev)
    return rev + 1


def seal_anew(intruder: Intruder, first: int, last: int) -> bytes:
    """Write the digests of these lines anew; the last one."""
    before: bytes = intruder._one("select digest from muniment.seals where space_id = %s and rev = %s", first - 1)[
        "digest"
    ]
    for rev in range(first, last + 1):
        line = run(intruder, _LINE, rev=rev).fetchone()
        assert line is not None
        before = find_digest(intruder, _CHAIN, **line | {"before": before, "line": Jsonb(line["line"])})
        change = "update muniment.seals set digest = %(digest)s where space_id = %(space)s and rev = %(rev)s"
        run(intruder, change, digest=before, rev=rev)
    return before


def reseal(sealed_by: Callable[[int, int], int]) -> Attack:
    """A text that is changed, and sealed anew as an erasure seals what it leaves, by the line that is chosen of the
    text's revision and the last one."""

    def attack(intruder: Intruder) -> int:
        rev, id_ = forge_text(intruder)
        run(intruder, "update muniment.seals set salt = null where space_id = %(space)s and rev = %(rev)s", rev=rev)
        run(
            intruder,
            "insert into muniment.reseals (space_id, sealed_by, rev, content, salt) "
            "values (%(space)s, %(by)s, %(rev)s, %(content)s, %(salt)s)",
            by=sealed_by(rev, intruder.end),
            rev=rev,
            content=find_digest(intruder, _CONTENT, id=id_, rev=rev, salt=SALT),
            salt=SALT,
        )
        return rev

    return attack


def add_before(table: str, rev: int) -> Attack:
    """A row of a revision that there is not."""

    def attack(intruder: Intruder) -> int:
        row = intruder._pick(table)
        assert row is not None
        other: dict[str, Any] = {"memory_id": uuid4(), "stable_key": None} if "text" in row else {}
        until = {"from_rev": rev, "to_rev": 1} if table == "memory_versions" else {"rev": rev}
        intruder._insert(table, row | other | until)
        return rev

    return attack


def change_details(details: Any) -> Attack:
    """Details that no writer makes, some of which cannot be parsed."""

    def attack(intruder: Intruder) -> int:
        rev = find_victim(intruder)["rev"]
        change = "update muniment.journal set meta = %(meta)s where space_id = %(space)s and rev = %(rev)s"
        run(intruder, change, meta=details, rev=rev)
        return int(rev)

    return attack


def swap_salts(*columns: str) -> Attack:
    def attack(intruder: Intruder) -> int:
        rows = intruder._all("select * from muniment.seals where space_id = %s and salt is not null order by rev")
        pair = rows[1], rows[5]
        for row, other in (pair, pair[::-1]):
            for column in columns:
                change = f"update muniment.seals set {column} = %(to)s where space_id = %(space)s and rev = %(rev)s"
                run(intruder, change, to=other[column], rev=row["rev"])
        return int(pair[0]["rev"])

    return attack


def soften_erasure(intruder: Intruder) -> int:
    """The line of an erasure says that it was none."""
    hard = "select rev from muniment.journal where space_id = %s and meta ? 'hard' order by rev limit 1"
    rev = intruder._one(hard)["rev"]
    change = "update muniment.journal set meta = meta - 'hard' where space_id = %(space)s and rev = %(rev)s"
    run(intruder, change, rev=rev)
    return int(rev)


def revive(intruder: Intruder) -> int:
    """An erased memory is there again, with a salt, and what its erasure sealed anew is gone."""
    gone = intruder._one(
        "select r.rev, j.memory_id from muniment.reseals r join muniment.journal j using (space_id, rev) "
        "where space_id = %s and j.new_ref is not null and not exists (select from muniment.memories m "
        "  where m.space_id = r.space_id and m.memory_id = j.memory_id) order by r.rev limit 1"
    )
    intruder._insert("memories", find_victim(intruder) | gone | {"stable_key": None})
    run(intruder, "delete from muniment.reseals where space_id = %(space)s and rev = %(rev)s", rev=gone["rev"])
    change = "update muniment.seals set salt = sha256('x') where space_id = %(space)s and rev = %(rev)s"
    run(intruder, change, rev=gone["rev"])
    return int(gone["rev"])


def append_copy(intruder: Intruder) -> int:
    """A line that was there is there again at the end, with its seal, and is the head."""
    line, rev = intruder._pick("journal"), intruder.end + 1
    assert line is not None
    seal = intruder._one("select * from muniment.seals where space_id = %s and rev = %s", line["rev"])
    intruder._insert("journal", line | {"rev": rev})
    intruder._insert("seals", seal | {"rev": rev})
    change = "update muniment.spaces set rev = %(rev)s, head = %(head)s where space_id = %(space)s"
    run(intruder, change, rev=rev, head=seal["digest"])
    return int(rev)


def give_away(intruder: Intruder) -> int:
    """A memory is another person's."""
    row = find_victim(intruder)
    copied = row | {"space_id": scope("ben").space, "stable_key": None}
    intruder._insert("memories", copied)
    run(
        intruder,
        "delete from muniment.memories where space_id = %(space)s and memory_id = %(id)s",
        id=row["memory_id"],
    )
    return int(row["rev"])


ATTACKS: dict[str, Attack] = {
    "text and its digest": forge_content,
    "text, its digest and that of the line": forge_digest,
    "sealed anew by a line beyond the end": reseal(lambda _, end: end + 1_000),
    "sealed anew by a line before the first": reseal(lambda _rev, _end: -5),
    "sealed anew by a line of no erasure": reseal(lambda _, end: end),
    "sealed anew by its own line": reseal(lambda rev, _: rev),
    "line 0": add_before("journal", 0),
    "the lowest line": add_before("journal", -(2**63)),
    "memory 0": add_before("memories", 0),
    "version -4": add_before("memory_versions", -4),
    "seal 0": add_before("seals", 0),
    "no details": change_details(Jsonb(None)),
    "a list for details": change_details(Jsonb(["forged"])),
    "a text for details": change_details(Jsonb("forged")),
    "details with a long number": change_details('{"n": ' + "9" * 5_000 + "}"),
    "details in details": change_details("[" * 3_000 + "]" * 3_000),
    "salts": swap_salts("salt"),
    "salts and contents": swap_salts("salt", "content"),
    "salts, contents and digests": swap_salts("salt", "content", "digest"),
    "an erasure's line": soften_erasure,
    "erased text": revive,
    "a line again": append_copy,
    "another person's": give_away,
}


@pytest.mark.timeout(300)
async def test_rows_that_go_with_each_other_are_found(database_url: str) -> None:
    """Must hold: a change by a superuser is found, with the right revision, with and without an older anchor."""
    async with engine(database_url) as memory:
        await kept(memory, "The piano is sold", scope("ben"))
        who, found = scope(), {}
        await live(memory, who)
        anchors = (await memory.admin.sign_anchors([who])).anchors
        with closing(Intruder(database_url, who.space, 1)) as intruder:
            for name, attack in ATTACKS.items():
                with intruder.conn.transaction():
                    intruder.conn.execute("set local session_replication_role = replica")
                    expected = attack(intruder)
                for known in ((), anchors):
                    first = (await memory.admin.verify(who, anchors=known)).first
                    if first is None or first.rev != expected:
                        found[name] = (expected, first)
                intruder.undo()
        assert found == {}
        assert not (await memory.admin.verify(scope("ben"))).is_intact  # who has what is not theirs


async def test_a_journal_that_is_written_anew_is_shown_by_an_anchor(database_url: str) -> None:
    """Must hold: also where everything from a line on is sealed again, or all is gone. Of two anchors of one revision
    each counts: one that was made after the change does not hide it."""
    async with engine(database_url) as memory:
        who = scope()
        await live(memory, who)
        before = (await memory.admin.sign_anchors([who])).anchors
        with closing(Intruder(database_url, who.space, 1)) as intruder:
            with intruder.conn.transaction():
                rev = forge_content(intruder)
                head = seal_anew(intruder, rev, intruder.end)
                run(intruder, "update muniment.spaces set head = %(head)s where space_id = %(space)s", head=head)
            after = (await memory.admin.sign_anchors([who])).anchors
            assert (await memory.admin.verify(who)).is_intact
            assert (await memory.admin.verify(who, anchors=after)).is_intact
            for known in (before, (*before, *after), (*after, *before)):
                first = (await memory.admin.verify(who, anchors=known)).first
                assert first is not None
                assert (first.rev, first.kind) == (intruder.end, "replaced")
            intruder.undo()
            with intruder.conn.transaction():
                for table in ("journal", "seals", "reseals", "memory_versions", "memories"):
                    run(intruder, f"delete from muniment.{table} where space_id = %(space)s")
                run(intruder, "update muniment.spaces set head = null, sealed_from = rev where space_id = %(space)s")
            first = (await memory.admin.verify(who, anchors=before)).first
            assert first is not None
            assert (first.rev, first.kind) == (1, "removed")


async def restore(memory: Memory, count: int) -> list[Any]:
    """A restored space: its journal was sealed at once."""
    await memory.ingest(scope("ben"), [note(f"Entry {n}") for n in range(count)])
    await memory.load(scope(), await memory.export(scope("ben")))
    assert (await memory.admin.verify(scope())).sealed_from == count
    return list((await memory.admin.sign_anchors([scope()])).anchors)


async def test_a_restored_journal_has_no_gap(database_url: str) -> None:
    """Must hold: a line that is gone with its seal and its memory is named, though a restored journal may have had
    none of that revision."""
    async with engine(database_url) as memory:
        anchors = await restore(memory, 12)
        with closing(Intruder(database_url, scope().space, 1)) as intruder:
            for first, last, known in ((5, 7, ()), (1, 1, ()), (1, 3, anchors), (9, 12, anchors)):
                with intruder.conn.transaction():
                    for table in ("journal", "seals", "memories"):
                        gone = (
                            f"delete from muniment.{table} where space_id = %(space)s and rev between %(a)s and %(z)s"
                        )
                        run(intruder, gone, a=first, z=last)
                found = (await memory.admin.verify(scope(), anchors=known)).first
                assert found is not None
                assert (found.rev, found.kind) == (first, "removed")
                intruder.undo()
            assert (await memory.admin.verify(scope(), anchors=anchors)).is_intact


def test_a_space_of_another_name_is_reported(
    database_url: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whoever writes another owner's name to a space hides it from its owner, but not from `verify --all`, which goes
    on with the others."""

    async def begin() -> None:
        async with engine(database_url) as memory:
            for owner in ("ben", "ana"):
                await kept(memory, "The cello is rented", scope(owner))

    asyncio.run(begin())
    monkeypatch.setenv("MUNIMENT_DATABASE_URL", database_url)
    monkeypatch.setenv("MUNIMENT_EMBEDDER", "hash-256")
    monkeypatch.setenv("MUNIMENT_HOME", str(settings(database_url).home))
    assert run_command(("verify", "--all")) == 0
    for name, count in (("cleo", 2), ("ana", 3)):
        with psycopg.connect(database_url) as admin:
            admin.execute("update muniment.spaces set owner_id = %s where space_id = %s", (name, scope("ben").space))
        capsys.readouterr()
        assert run_command(("verify", "--all", "--json")) == 1
        reports = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
        assert len(reports) == count
        assert [report["space"] for report in reports if report["findings"]] == [str(scope("ben").space)]
