"""`muniment forget --hard` and `muniment erase`: what is asked, what is told, and what of the threads is left."""

from __future__ import annotations

import os
import pty
import select
import subprocess
from time import monotonic, sleep

import psycopg
import pytest

from tests.faces.conftest import PROGRAM, Muniment, Outcome

SAID = "I am allergic to walnuts.\nWhat may I eat?\n"


def held(environment: dict[str, str]) -> str:
    """All that the database holds, as one text; the bytes of the checkpoints as they are."""
    with psycopg.connect(environment["MUNIMENT_DATABASE_URL"]) as admin:
        tables = admin.execute("""
            select n.nspname || '.' || c.relname from pg_class c join pg_namespace n on n.oid = c.relnamespace
            where c.relkind = 'r' and n.nspname in ('muniment', 'jobs', 'checkpoints')""").fetchall()
        found = [str(row) for (name,) in tables for row in admin.execute(f"select t.* from {name} t").fetchall()]
    return "\n".join(found)


def threads(environment: dict[str, str]) -> int:
    with psycopg.connect(environment["MUNIMENT_DATABASE_URL"]) as admin:
        row = admin.execute("select count(distinct thread_id) from checkpoints.checkpoints").fetchone()
    return int(row[0]) if row else 0


def typed(environment: dict[str, str], *arguments: str, said: str) -> Outcome:
    """Run the program in a terminal and type, once it asks."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [PROGRAM, *arguments], stdin=theirs, stdout=theirs, stderr=theirs, env=environment
    ) as running:
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
                os.write(ours, said.encode())
                answered = True
        code = running.wait(10)
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
    """The memory, its turns and the threads that said or recalled it are gone; the other thread and the other user stay."""
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


def test_a_user_begins_anew(talked: str, muniment: Muniment, environment: dict[str, str]) -> None:
    """Nothing of the user is left but the receipt, in text as in JSON; what is said next is the first revision."""
    done = muniment("erase", "--user", "ana", "--yes")
    assert done.code == 0
    assert "Erased. Receipt " in done.out
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


def test_killed_in_the_middle(talked: str, muniment: Muniment, environment: dict[str, str]) -> None:
    """Killed when the threads are gone and the memory is not, the same command goes on; until then the memory is whole."""
    command = ["forget", talked, "--hard", "--yes", "--user", "ana", "--json"]
    before = threads(environment)
    with psycopg.connect(environment["MUNIMENT_DATABASE_URL"]) as admin:
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
