"""`muniment consolidate`: what a person sees of a run, and how they take it back."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from threading import Event
from typing import Any

import psycopg
import pytest

from muniment.testing.batch_server import ScriptedBatches
from muniment.testing.openai_server import ScriptedOpenAI, structured
from tests.faces.conftest import PROGRAM, Muniment

ROWS = (
    "The user waters the tomatoes on the balcony",
    "The user reads a book about bees",
    "The user waters the tomatoes on the balcony.",
)


DOUBTFUL = ("The user paints the old boat in the harbour", "The old boat in the harbour gets its paint by the user")


@pytest.fixture
def twins(muniment: Muniment, tmp_path: Path) -> Callable[..., None]:
    """Fills a user's memory with the rows, by the way that merges nothing."""

    def fill(user: str, *more: str) -> None:
        source = tmp_path / f"{user}.json"
        turns = [{"speaker": "ana", "dia_id": f"D1:{n}", "text": text} for n, text in enumerate((*ROWS, *more))]
        talk = {
            "session_1_date_time": "1:00 pm on 4 May, 2026",
            "session_1": turns,
            "speaker_a": "ana",
            "speaker_b": "b",
        }
        source.write_text(json.dumps([{"sample_id": user, "conversation": talk, "qa": []}]))
        assert muniment("import", str(source), "--format", "locomo", "--user", user).code == 0

    return fill


def plain(shown: str) -> str:
    """What a terminal shows, without its colours."""
    return re.sub(r"\x1b\[[0-9;]*m", "", shown)


def listed(muniment: Muniment, user: str = "ana") -> list[str]:
    return sorted(one["text"] for one in muniment("list", "--user", user, "--json").json["memories"])


def test_shown_done_and_taken_back(muniment: Muniment, twins: Callable[..., None], tmp_path: Path) -> None:
    """A dry run writes nothing; a run is told in words; after its undo the content is the same to the byte."""
    twins("ana")
    before, after = tmp_path / "before", tmp_path / "after"
    assert muniment("export", "--user", "ana", "--content", str(before)).code == 0
    dry = muniment("consolidate", "--user", "ana", "--dry-run")
    assert dry.code == 0
    assert "same\tduplicate\trules\t1.00" in dry.out
    assert dry.out.endswith("Nothing was changed (--dry-run).\n")
    assert muniment("consolidate", "--user", "ana", "--runs").out == "The memory of 'ana' was never consolidated.\n"

    done = muniment("consolidate", "--user", "ana")
    assert done.code == 0
    assert done.out.startswith(
        "1 pair found, 1 checked: 1 merged, 0 superseded, 0 different. By class: 1 duplicate. "
        "Duplicates by the rules: 1 before, 0 after.\n"
    )
    assert len(listed(muniment)) == 2
    assert "superseded by" in muniment("history", "--user", "ana").out
    run = muniment("consolidate", "--user", "ana", "--runs", "--json").json["runs"][0]
    assert (run["status"], run["same"]) == ("done", 1)

    undone = muniment("consolidate", "--user", "ana", "--undo", run["run"][:6])
    assert undone.out == "2 memories are what they were before the run.\n"
    assert muniment("export", "--user", "ana", "--content", str(after)).code == 0
    assert after.read_bytes() == before.read_bytes()
    twice = muniment("consolidate", "--user", "ana", "--undo", run["run"][:6])
    assert (twice.code, "is undone already" in twice.err) == (2, True)
    unknown = muniment("consolidate", "--user", "ana", "--undo", "0000")
    assert unknown.code == 4
    assert unknown.err.endswith("begins with 0000; `muniment consolidate --user ana --runs` shows the runs\n")
    assert muniment("consolidate", "--user", "ana", "--undo", "x").code == 2


def test_what_is_left_is_said(muniment: Muniment, twins: Callable[..., None]) -> None:
    """A run that stops at its limit says how much it has not looked at, and how to go on; the next one has nothing
    left."""
    twins("ana", "The user feeds the neighbour's cat", "The user feeds the neighbour's cat.")
    assert "1 pair is left for another day" in muniment("consolidate", "--user", "ana", "--limit", "1").out
    assert "left for" not in muniment("consolidate", "--user", "ana").out


def test_all_of_it_fits_a_terminal(
    muniment: Muniment, twins: Callable[..., None], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """In 80 columns a record loses none of its numbers, and the two texts of a pair have the same room: no word is
    broken."""
    config = tmp_path / "prices.yaml"
    config.write_text("spend: {prices: {tiny-1: {input: 2.0, output: 4.0}}}")
    twins("ana", *DOUBTFUL)
    verdict = structured({"pairs": [{"pair": 1, "verdict": "same"}]})
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    with ScriptedOpenAI(verdict) as model:
        asking = {"MUNIMENT_MODEL": "tiny-1", "OPENAI_API_KEY": "k", "OPENAI_BASE_URL": model.base_url,
                  "MUNIMENT_CONFIG": str(config), "COLUMNS": "80"}  # fmt: skip
        shown = plain(muniment("consolidate", "--user", "ana", "--dry-run", **asking).out)
        assert {"tomatoes", "balcony", "harbour"} <= set(shown.split())
        assert muniment("consolidate", "--user", "ana", **asking).code == 0
    (row,) = muniment("consolidate", "--user", "ana", "--runs", "--json").json["runs"]
    told = plain(muniment("consolidate", "--user", "ana", "--runs", COLUMNS="80").out)
    assert max(map(len, told.splitlines())) <= 80
    words = " ".join(told.split())
    tokens = f"{row['input_tokens']} + {row['output_tokens']} tokens, {row['money']:.4f} USD."
    for part in (
        row["run"][:8],
        "2 pairs found, 2 checked: 2 merged",
        "1 before, 0 after",
        "1 request to tiny-1",
        tokens,
    ):
        assert part in words


def test_everybody_of_a_tenant(muniment: Muniment, twins: Callable[..., None]) -> None:
    """Each space that had something has a line, and the last line has the sum; another tenant is not touched. Whose
    memory has not changed since is looked at only when asked."""
    for user in ("ana", "ben"):
        twins(user)
    told = muniment("consolidate", "--tenant", "default").out.splitlines()
    assert [line.split(":")[0] for line in told[:2]] == ["ana", "ben"]
    assert told[2] == "2 spaces, 2 pairs checked, 2 merged, 0 superseded."
    nobody = muniment("consolidate", "--tenant", "other")
    assert (nobody.code, nobody.out) == (4, "")
    assert "nothing of a tenant 'other'" in nobody.err
    (total,) = muniment("consolidate", "--all", "--json").lines
    assert (total["spaces"], total["unchanged"], total["checked"]) == (2, 2, 0)
    *rows, total = muniment("consolidate", "--all", "--unchanged", "--json").lines
    assert [one["checked"] for one in rows] == [0, 0]
    assert total["unchanged"] == 0
    assert muniment("remember", "I live in Porto", "--user", "ben").code == 0
    told = muniment("consolidate", "--all").out.splitlines()
    assert told[-1].endswith("; 1 unchanged since the last run.")


def test_who_is_not_there_is_told(muniment: Muniment) -> None:
    """A name that nobody has is not found; of somebody who is there, though without a memory, there is nothing to
    compare."""
    refused = muniment("consolidate", "--user", "nobody", "--json")
    assert (refused.code, refused.json["error"]["type"]) == (4, "NotFound")
    assert refused.json["error"]["message"].startswith("there is nothing of 'nobody' yet")
    assert muniment("consolidate", "--user", "nobody", "--dry-run").code == 4
    assert muniment("consolidate", "--all").out.startswith("0 spaces")
    assert muniment("chat", "--user", "ana", said="What is the capital of France?").code == 0
    quiet = muniment("consolidate", "--user", "ana")
    assert (quiet.code, quiet.out) == (0, "No pair of memories is to be looked at.\n")


def test_what_waits_is_told_once_and_holds_up_nobody(
    muniment: Muniment, twins: Callable[..., None], tmp_path: Path, database_url: str
) -> None:
    """What a person and a program see of a run whose answers take a day, of one beside it, and of everybody's
    meanwhile."""
    config = tmp_path / "batch.yaml"
    config.write_text("consolidation: {batch: true}")
    for user in ("ana", "ben", "cat"):
        twins(user, *DOUBTFUL)
    with ScriptedBatches(lambda _: "?", polls=9) as model:
        asking = {"MUNIMENT_MODEL": "tiny-1", "OPENAI_API_KEY": "k", "OPENAI_BASE_URL": model.base_url,
                  "MUNIMENT_CONFIG": str(config)}  # fmt: skip
        said = muniment("consolidate", "--user", "ana", **asking)
        assert said.code == 0
        assert said.out.count("batch endpoint") == 1
        assert "1 pair is with the batch endpoint of tiny-1" in said.out
        assert "--undo" not in said.out
        (row,) = muniment("consolidate", "--user", "ana", "--runs", "--json").json["runs"]
        assert (row["status"], row["asked"], row["batch"]) == ("waiting", 1, "batch_1")
        beside = muniment("consolidate", "--user", "ana", **asking)
        assert (beside.code, f"the consolidation {row['run'][:8]} of 'ana' waits" in beside.err) == (7, True)
        assert "minutes" not in beside.err
        with psycopg.connect(database_url) as admin:
            admin.execute("""insert into muniment.consolidation_runs (space_id, run_id, status, started_at,
              leased_until, from_rev)
                             select space_id, gen_random_uuid(), 'running', now(), now() + '1 hour', 0
                               from muniment.spaces
                             where owner_id = 'ben'""")
        busy = muniment("consolidate", "--user", "ben", **asking)
        assert (busy.code, "is given up after 3 minutes" in busy.err) == (7, True)
        assert "UTC, and looks for pairs: try again when it is over" in busy.err
        everybody = muniment("consolidate", "--all", **asking).out.splitlines()
        assert everybody[0] == "ana: its last run waits for a batch endpoint."
        assert everybody[1] == "ben: another run is at work there."
        assert everybody[2].endswith("1 pair is with the batch endpoint.")
        assert everybody[3] == (
            "3 spaces, 1 pair checked, 1 merged, 0 superseded; 2 waiting for a batch endpoint; 1 under way elsewhere."
        )
        *rows, total = muniment("consolidate", "--all", "--json", **asking).lines
        assert [one["skipped"] for one in rows] == ["waiting", "busy", "waiting"]
        assert (total["waiting"], total["busy"], total["asked"]) == (2, 1, 0)
        assert muniment("work", "--drain", **asking).code == 0  # whose turn in the round comes later today is known now
        with psycopg.connect(database_url) as admin:
            admin.execute("update jobs.queue set scheduled_at = now() where status = 'todo'")
        worked = muniment("work", "--drain", "--json", **asking).lines
        looks = [one for one in worked[:-1] if one["job"] == "collect"]
        assert [(one["failed"], one["again"] is not None) for one in looks] == [(None, True)] * 2
        waiting = sorted(one["job"] for one in worked[:-1] if one["again"] and not one["failed"])
        assert waiting == ["collect", "collect", "tend"]  # the last of who has another run at work
        assert worked[-1]["not_ready"] == 3


@pytest.mark.parametrize(
    "options",
    [
        ("--user", "a", "--all"),
        ("--undo", "abcd", "--runs"),
        ("--undo", "abcd", "--all"),
        ("--limit", "0"),
        ("--unchanged",),
    ],
)
def test_what_makes_no_sense_is_refused(muniment: Muniment, options: tuple[str, ...]) -> None:
    """Options that contradict each other are bad input, and nothing is done."""
    assert muniment("consolidate", *options).code == 2


def test_what_the_model_never_answers_is_told_and_left_alone(
    muniment: Muniment, twins: Callable[..., None], database_url: str
) -> None:
    """Three days it is without an answer, the last time for a while; a model that fails everybody is no success."""
    twins("ana", *DOUBTFUL)
    twins("ben", *DOUBTFUL)
    with ScriptedOpenAI("?") as model:
        asking = {"MUNIMENT_MODEL": "m", "OPENAI_API_KEY": "k", "OPENAI_BASE_URL": model.base_url}
        for _ in range(2):
            assert "1 without an answer." in muniment("consolidate", "--user", "ana", **asking).out
            with psycopg.connect(database_url) as admin:
                admin.execute("update muniment.pair_fingerprints set checked_at = checked_at - interval '1 day'")
        third = muniment("consolidate", "--user", "ana", **asking).out
        assert "1 without an answer (1 too often: left alone for a while)." in third
        row = muniment("consolidate", "--user", "ana", "--runs", "--json").json["runs"][0]
        assert (row["unanswered"], row["shelved"]) == (1, 1)
        assert muniment("consolidate", "--user", "ana", **asking).out == "No pair of memories is to be looked at.\n"
    failed = muniment("consolidate", "--all", **asking)
    assert (failed.code, "1 unchanged since the last run; 1 for which the model failed." in failed.out) == (1, True)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_a_process_that_ends_between_two_steps_loses_nothing(
    muniment: Muniment,
    twins: Callable[..., None],
    environment: dict[str, str],
    database_url: str,
    number: signal.Signals,
) -> None:
    """What was decided before stays and is done once; the next run goes on with the rest: at once after Ctrl-C, and
    after kill -9 when the lease is over."""
    asked, go_on = Event(), Event()

    def reply(_: dict[str, Any]) -> str:
        asked.set()
        go_on.wait(30)
        return structured({"pairs": [{"pair": 1, "verdict": "different"}]})

    twins("ana", *DOUBTFUL)
    with ScriptedOpenAI(reply) as model:
        asking = {"MUNIMENT_MODEL": "m", "OPENAI_API_KEY": "k", "OPENAI_BASE_URL": model.base_url}
        command = [PROGRAM, "consolidate", "--user", "ana"]
        running = subprocess.Popen(command, env=environment | asking, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        try:
            assert asked.wait(30)
            running.send_signal(number)
        finally:
            running.communicate(timeout=20)
        killed = number == signal.SIGKILL
        assert running.returncode in ((-number,) if killed else (130,))
        go_on.set()
        if killed:
            busy = muniment("consolidate", "--user", "ana", **asking)
            assert busy.code == 7
            (row,) = muniment("consolidate", "--user", "ana", "--runs", "--json").json["runs"]
            began = f"{row['started_at'][:16].replace('T', ' ')} UTC"
            assert (
                f"{row['run'][:8]}, has been under way since {began}, with 1 of 2 pairs checked: try again when"
                in busy.err
            )
            undo = muniment("consolidate", "--user", "ana", "--undo", row["run"])
            assert (undo.code, "is not over yet (running)" in undo.err) == (7, True)
            with psycopg.connect(database_url) as admin:
                admin.execute("update muniment.consolidation_runs set leased_until = now()")
        again = muniment("consolidate", "--user", "ana", "--json", **asking)
    assert (again.code, again.json["same"], again.json["distinct"], again.json["seen"]) == (0, 0, 1, 1)
    runs = muniment("consolidate", "--user", "ana", "--runs", "--json").json["runs"]
    assert [(one["status"], one["same"]) for one in runs] == [("done", 0), ("interrupted", 1)]
    told = muniment("consolidate", "--user", "ana", "--runs").out.splitlines()[1]
    assert "2 pairs found, 1 checked: 1 merged, 0 superseded, 0 different." in told
    assert ("Last heard of at " in told, "Cut off at " in told) == (killed, not killed)
    assert "UTC, with 1 pair not decided. What was decided stays; the next run looks at the rest." in told
    with psycopg.connect(database_url) as admin:
        found = admin.execute("select count(*) from muniment.journal where action = 'MERGE'").fetchone()
    assert found == (2,)


# In this database: another test may hold its own process with the same number.
HELD = """select count(*) from pg_locks l join pg_database d on d.oid = l.database
  where d.datname = current_database() and l.locktype = 'advisory' and l.objid = 4711 and not l.granted"""


def recorded(admin: psycopg.Connection) -> object:
    return admin.execute("select status, reason, seen, checked, outdated from muniment.consolidation_runs").fetchall()


@pytest.mark.parametrize(
    ("table", "when"), [("pair_fingerprints", "insert"), ("consolidation_runs", "update")], ids=["apply", "end"]
)
def test_a_process_that_is_killed_within_a_step_leaves_it_whole_or_undone(
    muniment: Muniment,
    twins: Callable[..., None],
    environment: dict[str, str],
    database_url: str,
    tmp_path: Path,
    table: str,
    when: str,
) -> None:
    """Kill -9 while the database is about to write what was decided, or that the run is over: changes, record and
    fingerprints are all there or none is; the next run goes on, nothing is done twice, and all of it can be taken
    back."""

    def rows() -> tuple[int, int, int]:
        found = admin.execute(
            """select (select count(*) from muniment.journal where action = 'MERGE') / 2,
                 (select count(*) from muniment.pair_fingerprints where judgement = 'same'),
                 (select coalesce(sum(same), 0) from muniment.consolidation_runs)"""
        ).fetchone()
        assert found is not None
        return found

    twins("ana")
    before, after = tmp_path / "before", tmp_path / "after"
    assert muniment("export", "--user", "ana", "--content", str(before)).code == 0
    with psycopg.connect(database_url, autocommit=True) as admin:
        admin.execute(
            f"""create function public.hold() returns trigger language plpgsql as
                $$begin perform pg_advisory_xact_lock(4711); return new; end$$;
                create trigger hold before {when} on muniment.{table} for each row
                {"" if table == "pair_fingerprints" else "when (new.ended_at is not null)"}
                  execute function public.hold();
                select pg_advisory_lock(4711)"""
        )
        running = subprocess.Popen([PROGRAM, "consolidate", "--user", "ana"], env=environment, stdout=subprocess.PIPE)
        try:
            until = time.monotonic() + 20
            while admin.execute(HELD).fetchone() == (0,) and running.poll() is None and time.monotonic() < until:
                time.sleep(0.02)
            assert admin.execute(HELD).fetchone() == (1,)
            assert rows() == ((0, 0, 0) if table == "pair_fingerprints" else (1, 1, 1)), recorded(admin)
        finally:
            running.kill()
            running.communicate(timeout=20)
        admin.execute("select pg_advisory_unlock(4711)")
        while admin.execute(
            "select count(*) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()"
        ).fetchone() != (0,):
            time.sleep(0.02)
        assert len(set(rows())) == 1
        admin.execute("update muniment.consolidation_runs set leased_until = now()")
        assert muniment("consolidate", "--user", "ana").code == 0
        assert rows() == (1, 1, 1)
    runs = muniment("consolidate", "--user", "ana", "--runs", "--json").json["runs"]
    assert {one["status"] for one in runs} <= {"done", "interrupted"}
    (did,) = [one["run"] for one in runs if one["same"]]
    assert muniment("consolidate", "--user", "ana", "--undo", did).code == 0
    assert muniment("export", "--user", "ana", "--content", str(after)).code == 0
    assert after.read_bytes() == before.read_bytes()
