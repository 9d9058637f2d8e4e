"""Anchors: signed, checked without a database, and what they show that the database alone does not."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import psycopg
import pytest

from muniment.faces.cli.app import run_command
from muniment.memory.domain.ids import Revision
from muniment.memory.errors import BadInput
from muniment.memory.flows.reading.verification import AnchorFiles
from muniment.memory.stores.token_key import KeyFile
from tests.engine import engine, scope, settings
from tests.erasing import kept
from tests.seals.tampering import Intruder


async def test_a_file_of_anchors_is_as_it_was_signed(tmp_path: Path, database_url: str) -> None:
    """One changed character, another key, and a part that is none are told apart."""
    async with engine(database_url) as memory:
        await kept(memory, "The cello is rented until May")
        file = await memory.admin.sign_anchors([scope(), scope("nobody")])
        files = AnchorFiles(installation_key=memory.engine.installation_key)
    text = files.format_file(file)
    assert (await files.check_file(text.encode())).is_signed
    assert await files.load_anchors(text.encode()) == file.anchors
    assert len(file.anchors) == 1
    assert "ana" not in text
    changed = text.replace('"rev": 1', '"rev": 2')
    assert not (await files.check_file(changed.encode())).is_signed
    with pytest.raises(BadInput, match="changed after it was signed"):
        await files.load_anchors(changed.encode())
    elsewhere = AnchorFiles(installation_key=KeyFile(tmp_path))
    assert (await elsewhere.check_file(text.encode())).is_expected is None
    assert not list(tmp_path.iterdir())  # to check makes no key
    other = await elsewhere.read_public_key()
    assert (tmp_path / "token.key").stat().st_mode & 0o077 == 0
    assert (await elsewhere.check_file(text.encode())).is_expected is False
    with pytest.raises(BadInput, match="is not this installation's"):
        await files.load_anchors(text.encode(), other)
    for key, value in (("at", "soon"), ("key", "ed25519:00"), ("signature", None), ("format", 1), ("anchors", {})):
        with pytest.raises(BadInput):
            await files.check_file(json.dumps(json.loads(text) | {key: value}).encode())


async def test_a_journal_that_was_cut_or_replaced_is_shown_by_an_anchor(database_url: str) -> None:
    """Must hold: a truncated tail with an older anchor is found, with the first revision that is gone."""
    async with engine(database_url) as memory:
        for n in range(8):
            await kept(memory, f"The {n}th letter")
        anchors = (await memory.admin.sign_anchors([scope()])).anchors
        intruder = Intruder(database_url, scope().space, 1)
        cut = None
        while cut is None:
            with intruder.conn.transaction():
                intruder.conn.execute("set local session_replication_role = replica")
                cut = intruder.truncate()
        assert (await memory.admin.verify(scope())).is_intact  # which is what anchors are for
        found = (await memory.admin.verify(scope(), anchors=anchors)).first
        assert found is not None
        assert (found.rev, found.kind) == (cut.rev, "removed")
        for n in range(8):
            await kept(memory, f"Another {n}th letter")
        replaced = (await memory.admin.verify(scope(), anchors=anchors)).first
        assert replaced is not None
        assert (replaced.rev, replaced.kind) == (8, "replaced")
        intruder.close()


async def test_an_erased_space_is_none_that_was_removed(database_url: str) -> None:
    async with engine(database_url) as memory:
        for name in ("ana", "ben"):
            await kept(memory, "The cello is rented", scope(name))
        anchors = (await memory.admin.sign_anchors([scope(), scope("ben")])).anchors
        memory.engine.clock.advance(60)  # type: ignore[attr-defined] # the clock of tests
        await memory.admin.erase_space(scope())
        (erased,) = await memory.admin.find_lost_spaces(anchors)
        assert erased.is_intact
        assert erased.erased_at is not None
        await kept(memory, "A new beginning")
        assert (await memory.admin.verify(scope(), anchors=anchors)).erased_at == erased.erased_at
        with psycopg.connect(database_url) as admin:
            admin.execute("set local session_replication_role = replica")  # on every node of a cluster
            for table in ("spaces", "journal", "memories", "seals"):
                admin.execute(f"delete from muniment.{table} where space_id = %s", (scope("ben").space,))
        (lost,) = await memory.admin.find_lost_spaces(anchors)
        assert not lost.is_intact
        assert not (await memory.admin.verify(scope("ben"), anchors=anchors)).is_intact


async def test_only_what_came_after_a_revision_is_looked_at(database_url: str) -> None:
    async with engine(database_url) as memory:
        for n in range(6):
            await kept(memory, f"The {n}th letter")
        with psycopg.connect(database_url) as admin:
            admin.execute("update muniment.memories set text = 'Forged' where rev = 2")
        assert (await memory.verify(scope())).first is not None
        assert (await memory.verify(scope(), since=Revision(3))).is_intact
        assert not (await memory.verify(scope(), since=Revision(1))).is_intact


async def test_a_revision_that_is_not_reached_is_no_finding(database_url: str) -> None:
    """Must hold: 0 false alarms. Beyond its end nothing of a journal can be verified; with an anchor of a longer one
    the end that is gone is found, wherever one begins to look."""
    async with engine(database_url) as memory:
        for n in range(4):
            await kept(memory, f"The {n}th letter")
        anchors = (await memory.admin.sign_anchors([scope()])).anchors
        assert (await memory.verify(scope(), since=Revision(4), anchors=anchors)).is_intact
        with pytest.raises(BadInput, match="has not reached revision 5; it ends at 4"):
            await memory.verify(scope(), since=Revision(5), anchors=anchors)
        intruder = Intruder(database_url, scope().space, 1)
        cut = None
        while cut is None:
            with intruder.conn.transaction():
                intruder.conn.execute("set local session_replication_role = replica")
                cut = intruder.truncate()
        intruder.close()
        found = (await memory.verify(scope(), since=Revision(4), anchors=anchors)).first
        assert found is not None
        assert (found.rev, found.kind) == (cut.rev, "removed")


def test_the_commands(
    database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`verify` and `anchor` say what was found, and so do their exit codes."""

    async def begin() -> None:
        async with engine(database_url) as memory:
            await kept(memory, "The cello is rented")
            await kept(memory, "The harp is tuned", scope("ben"))

    asyncio.run(begin())
    monkeypatch.setenv("MUNIMENT_DATABASE_URL", database_url)
    monkeypatch.setenv("MUNIMENT_EMBEDDER", "hash-256")
    monkeypatch.setenv("MUNIMENT_HOME", str(settings(database_url).home))
    file = str(tmp_path / "anchors.json")

    def run(*arguments: str) -> tuple[int, str]:
        code = run_command(arguments)
        return code, capsys.readouterr().out

    assert (run("anchor", "export", "--all", "--out", file))[0] == 0
    assert (run("anchor", "check", file))[0] == 0
    key = (run("anchor", "key"))[1].strip()
    assert (run("anchor", "check", file, "--key", key, "--json"))[0] == 0
    code, out = run("verify", "--all", "--anchor", file, "--json")
    assert code == 0
    assert [json.loads(line)["anchored"] for line in out.splitlines()] == [1, 1]
    with psycopg.connect(database_url) as admin:
        admin.execute("update muniment.memories set importance = 5 where text like '%harp%'")
    assert (run("verify", "--user", "ana"))[0] == 0
    code, out = run("verify", "--user", "ben")
    assert code == 1
    assert "the first revision that was changed: 1" in out
    assert (run("verify", "--user", "nobody"))[0] == 4
    assert (run("verify", "--user", "ana", "--all"))[0] == 2
    Path(file).write_text("{}")
    assert (run("anchor", "check", file))[0] == 2
