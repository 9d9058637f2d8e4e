"""`muniment forget --hard` and `muniment erase`: what is asked, what is told, and what of the threads is left."""

from __future__ import annotations

import asyncio
import json
import os
import pty
import select
import signal
import subprocess
from pathlib import Path
from time import monotonic, sleep

import psycopg
import pytest

from muniment.memory.stores.postgres.embedded import server
from muniment.memory.stores.postgres.schema import scrub
from muniment.memory.stores.postgres.schema.migrate import apply_migrations
from tests.faces.conftest import PROGRAM, Muniment, Outcome

SAID = "I am allergic to walnuts.\nWhat may I eat?\n"


def held(environment: dict[str, str], which: str = "OWNER") -> str:
    """All that a database holds, as one text; the bytes of the checkpoints as they are."""
    with psycopg.connect(environment[f"MUNIMENT_{which}_URL"]) as admin:
        tables = admin.execute("""
            select n.nspname || '.' || c.relname from pg_class c join pg_namespace n on n.oid = c.relnamespace
            where c.relkind = 'r' and n.nspname in ('muniment', 'jobs', 'checkpoints')""").fetchall()
        found = [str(row) for (name,) in tables for row in admin.execute(f"select t.* from {name} t").fetchall()]
    return "\n".join(found)


def threads(environment: dict[str, str]) -> int:
    with psycopg.connect(environment["MUNIMENT_OWNER_URL"]) as admin:
        row = admin.execute("select count(distinct thread_id) from checkpoints.checkpoints").fetchone()
    return int(row[0]) if row else 0


def typed(environment: dict[str, str], *arguments: str, said: str) -> Outcome:
    """Run the program in a terminal and type, once it asks; of nothing to type, press Ctrl-C."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [PROGRAM, *arguments], stdin=theirs, stdout=theirs, stderr=theirs, env=environment
    ) as running:
        try:
            os.close(theirs)
            shown, answered, end = b"", False, monotonic() + 40
            while monotonic() < end:
                if not select.select([ours], [], [], 0.1)[0]:
                    continue
                try:
                    more = os.read(ours, 65536)
                except OSError:
                    break
                if not more:
                    break
                shown += more
                if not answered and shown.rstrip().endswith((b"[y/N]:", b"go on:")):
                    sleep(0.5)  # what it has written before it reads is no sign that it reads
                    os.write(ours, said.encode()) if said else running.send_signal(signal.SIGINT)
                    answered = True
            code = running.wait(10)
        finally:
            running.kill()
    os.close(ours)
    return Outcome(code, shown.decode(), "")


@pytest.fixture
def talked(muniment: Muniment) -> str:
    """Ana and Ben have talked; the id of what Ana said."""
    assert muniment("chat", "--user", "ana", "--thread", "C", said="Good morning to you.\n").code == 0
    for user, thread in (("ana", "A"), ("ben", "A")):
        assert muniment("chat", "--user", user, "--thread", thread, said=SAID).code == 0
    assert muniment("chat", "--user", "ana", "--thread", "B", said="Do you know what I am allergic to?\n").code == 0
    (row,) = muniment("list", "--user", "ana", "--json").json["memories"]
    return str(row["id"])


def test_hard_forgetting(talked: str, muniment: Muniment, environment: dict[str, str]) -> None:
    """The memory, its turns and the threads that said or recalled it are gone; the other thread and the other user
    stay."""
    assert (threads(environment), held(environment).count("walnut") > 8) == (4, True)
    done = muniment("forget", talked[:8], "--hard", "--yes", "--user", "ana", "--json")
    assert done.code == 0
    receipt = done.json
    assert receipt["what"] == "memory"
    assert receipt["counts"]["memories"] == 1
    assert receipt["counts"]["turns"] >= 1
    assert receipt["counts"]["checkpoints"] > 0
    assert threads(environment) == 2
    ben = muniment("list", "--user", "ben", "--json").json["memories"]
    assert ["walnut" in one["text"] for one in ben] == [True]
    scrubbed = muniment("erase", "--user", "ben", "--yes", "--scrub")
    assert (scrubbed.code, " tables rewritten; " in scrubbed.out) == (0, True)
    assert "walnut" not in held(environment)
    assert threads(environment) == 1
    assert muniment("show", talked, "--user", "ana").code == 4
    assert "DELETE" in muniment("history", talked, "--user", "ana").out
    again = muniment("forget", talked, "--hard", "--yes", "--user", "ana", "--json")
    assert (again.code, again.json["error"]["type"]) == (4, "NotFound")


def test_checkpoints_in_two_places(muniment: Muniment, environment: dict[str, str], empty_database_url: str) -> None:
    """Threads that were left in the memory's database, and those in one of their own, are erased from both; both are
    scrubbed."""
    assert muniment("chat", "--user", "ana", "--thread", "A", said=SAID).code == 0
    environment["MUNIMENT_CHECKPOINTS_URL"] = empty_database_url
    for user in ("ana", "ben"):
        assert muniment("chat", "--user", user, "--thread", "B", said=SAID).code == 0
    before = [tables_of(url) for url in (environment["MUNIMENT_OWNER_URL"], empty_database_url)]
    (row,) = muniment("list", "--user", "ana", "--json").json["memories"]
    done = muniment("forget", row["id"], "--hard", "--yes", "--scrub", "--user", "ana", "--json")
    assert (done.code, done.json["scrubbed"]["held"], done.json["scrubbed"]["tables"] > 25) == (0, 0, True)
    assert "checkpoints" in done.json["counts"]
    after = [tables_of(url) for url in (environment["MUNIMENT_OWNER_URL"], empty_database_url)]
    assert not any(set(one.items()) & set(other.items()) for one, other in zip(before, after, strict=True))
    assert threads(environment) == 0
    assert muniment("erase", "--user", "ben", "--yes").code == 0
    assert "walnut" not in held(environment) + held(environment, "CHECKPOINTS")


def tables_of(url: str) -> dict[str, int]:
    """The tables of the checkpoints by the numbers of their files."""
    with psycopg.connect(url) as admin:
        return dict(
            admin.execute("""select relname, relfilenode from pg_class
            where relkind = 'r' and relnamespace = 'checkpoints'::regnamespace""").fetchall()
        )


def test_a_scrub_can_be_done_at_any_time(
    talked: str, muniment: Muniment, environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """When the one of an erasure fails its receipt is told all the same, and `scrub` does what is left, as often as
    wanted."""
    monkeypatch.setattr(scrub, "_WAIT_SECONDS", 0.01)
    assert muniment("scrub").code == 2
    with psycopg.connect(environment["MUNIMENT_OWNER_URL"]) as other:
        other.execute("set transaction isolation level repeatable read")
        other.execute("select count(*) from pg_catalog.pg_class")
        done = muniment("forget", talked, "--hard", "--scrub", "--yes", "--user", "ana", "--json")
        assert (done.code, done.json["error"]["type"], done.json["error"]["transactions"]) == (7, "Busy", 1)
        assert done.json["error"]["receipt"]["counts"]["memories"] == 1
        told = muniment("erase", "--user", "ben", "--scrub", "--yes")
        assert (told.code, "Erased. Receipt " in told.out, "scrub again" in told.err) == (7, True, True)
    assert muniment("scrub", "--yes", "--json").json["held"] == 0
    again = muniment("scrub", "--yes")
    assert (again.code, " tables rewritten; " in again.out) == (0, True)


def test_a_user_begins_anew(talked: str, muniment: Muniment, environment: dict[str, str]) -> None:
    """Nothing of the user is left but the receipt, in text as in JSON; what is said next is the first revision."""
    token = muniment("token", "create", "--user", "ana", "--json").json
    done = muniment("erase", "--user", "ana", "--yes")
    assert done.code == 0
    assert "Erased. Receipt " in done.out
    assert ("tokens" in done.out, muniment("token", "list", "--json").json, token["owner"]) == (True, [], "ana")
    assert "walnut" not in done.out
    assert threads(environment) == 1
    assert "ana" not in held(environment)
    assert muniment("erase", "--user", "ana", "--yes").out == "There is nothing of this user.\n"
    muniment("remember", "I keep bees", "--user", "ana")
    assert [one["rev"] for one in muniment("history", "--user", "ana", "--json").json["history"]] == [1]
    assert talked not in held(environment)


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["erase", "--user", "ana"], "say --yes"),
        (["erase", "--user", "ana", "--json"], "say --yes"),
        (["forget", "4f2a", "--hard"], "say --yes"),
        (["forget", "4f2a", "--yes"], "go with --hard only"),
        (["forget", "4f2a", "--scrub"], "go with --hard only"),
        (["erase", "--yes"], "--user"),
    ],
)
def test_nothing_goes_without_a_yes(muniment: Muniment, arguments: list[str], problem: str) -> None:
    """A program has to say --yes, and nobody is erased by default."""
    done = muniment(*arguments)
    assert done.code == 2
    assert problem in done.out + done.err


def test_a_person_is_asked(talked: str, environment: dict[str, str]) -> None:
    """What will go is shown; any other answer than yes, or than the user's name, changes nothing."""
    before = held(environment)
    no = typed(environment, "forget", talked, "--hard", "--user", "ana", said="n\n")
    assert (no.code, "gone for good: " in no.out, "Nothing was changed." in no.out) == (0, True, True)
    no = typed(environment, "erase", "--user", "ana", said="yes\n")
    assert (no.code, "All of it will be gone" in no.out, "Nothing was changed." in no.out) == (0, True, True)
    assert held(environment) == before


def test_one_ctrl_c_ends_the_question(environment: dict[str, str]) -> None:
    """Though it is asked inside an event loop, which would wait for the answer first."""
    assert typed(environment, "erase", "--user", "ana", said="").code == 130


def test_killed_in_the_middle(talked: str, muniment: Muniment, environment: dict[str, str]) -> None:
    """Killed when the threads are gone and the memory is not, the same command goes on; until then the memory is
    whole."""
    command = ["forget", talked, "--hard", "--yes", "--user", "ana", "--json"]
    before = threads(environment)
    with psycopg.connect(environment["MUNIMENT_OWNER_URL"]) as admin:
        admin.execute("select from muniment.spaces for no key update")  # a writer that takes its time
        with subprocess.Popen([PROGRAM, *command], env=environment, stdout=subprocess.DEVNULL) as running:
            end = monotonic() + 40
            while threads(environment) == before and monotonic() < end:
                sleep(0.05)
            running.kill()
    assert threads(environment) < before
    assert muniment("show", talked, "--user", "ana").code == 0
    done = muniment(*command)
    assert (done.code, done.json["counts"]["memories"]) == (0, 1)
    assert muniment("show", talked, "--user", "ana").code == 4


def recycles(admin: psycopg.Connection[tuple[str]]) -> bool:
    row = admin.execute("show wal_recycle").fetchone()
    return row == ("on",)


@pytest.mark.timeout(60)
async def test_a_scrub_that_is_killed_leaves_nothing_for_ever(home: Path, environment: dict[str, str]) -> None:
    """Killed while the server keeps no segment of its log, it leaves that so; whoever comes next puts it back, but not
    what somebody else has set, nor what another scrub still wants."""
    url = await server.ensure_server(home, fsync=False)
    del environment["MUNIMENT_DATABASE_URL"], environment["MUNIMENT_OWNER_URL"]
    environment["MUNIMENT_HOME"] = str(home)
    await apply_migrations(url)
    with psycopg.connect(url, autocommit=True) as admin:
        for _ in range(5):
            with subprocess.Popen([PROGRAM, "scrub", "--yes"], env=environment, stdout=subprocess.DEVNULL) as running:
                while running.poll() is None and recycles(admin):
                    sleep(0.002)
                running.kill()
            if not recycles(admin):
                break
        assert not recycles(admin)
        with psycopg.connect(url, application_name="muniment scrub", autocommit=True) as other:
            await apply_migrations(url)
            assert not recycles(other)
        while (
            admin.execute("select from pg_stat_activity where application_name = 'muniment scrub'").fetchone()
            is not None
        ):
            sleep(0.05)
        assert not recycles(admin)
        await apply_migrations(url)
        end = monotonic() + 10
        while not recycles(admin) and monotonic() < end:
            sleep(0.05)
        assert recycles(admin)
        admin.execute("alter system set wal_recycle = off")
        admin.execute("select pg_reload_conf()")
        done = await asyncio.to_thread(
            subprocess.run, [PROGRAM, "scrub", "--yes", "--json"], env=environment, check=True, capture_output=True
        )
        assert json.loads(done.stdout)["log"] is True
        await apply_migrations(url)
        sleep(0.1)
        assert not recycles(admin)
