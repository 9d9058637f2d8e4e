"""The commands that read: asking as of then and why not, lists that are narrowed and paged, and what a terminal
shows."""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
import pty
import re
import signal
import struct
import subprocess
import termios
import time
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from muniment.faces.cli.output.memories import format_age
from muniment.testing.fakes import FixedClock
from tests.engine import engine, scope
from tests.faces.conftest import PROGRAM, Muniment

NOON = datetime(2026, 5, 4, 12, 0, tzinfo=UTC)


PAINT, SHIP = 'The user said: "Paint shed1_final"', 'The user said: "Ship v2"'


def rows(count: int) -> str:
    """Plain rows to import that have nothing in common, a category in turn."""
    categories = ("goals", "tasks", "event")
    texts = (
        " ".join(f"{one}{'abcdefghijklmnopqrstuvwxyz'[n]}o" for one in ("ba", "du", "fi", "ka", "lu"))
        for n in range(count)
    )
    return "".join(json.dumps({"text": text, "category": categories[n % 3]}) + "\n" for n, text in enumerate(texts))


def ids(outcome: Any) -> list[str]:
    return [one["id"] for one in outcome.json["memories"]]


def test_pages(muniment: Muniment) -> None:
    """Pages follow each other without a gap, and say where the next one is: beside the data, or in it as JSON."""
    assert muniment("import", "-", "--format", "jsonl", said=rows(25)).code == 0
    whole = muniment("list", "--json").json
    assert (whole["total"], len(whole["memories"]), "next" in whole) == (25, 25, False)
    assert (muniment("list").out.count("\n"), muniment("list").err) == (25, "")
    seen: list[str] = []
    offset: int | None = 0
    while offset is not None:
        page = muniment("list", "--limit", "10", "--offset", str(offset), "--json")
        seen += ids(page)
        assert page.json["total"] == 25
        offset = page.json.get("next")
    assert seen == [one["id"] for one in whole["memories"]]
    first = muniment("list", "--limit", "10")
    assert first.err == "1-10 of 25; next: --offset 10\n"
    assert muniment("list", "--limit", "10", "--offset", "20").err == "21-25 of 25\n"
    assert muniment("list", "--offset", "30").err == "none of 25 from 31 on\n"


def test_lists_are_narrowed(muniment: Muniment) -> None:
    """Each option alone and some together; what is typed is text and no pattern."""
    for text, category in (
        ("Café Central is 100% closed", "activity"),
        ("Paint shed1_final", "goals"),
        ("Ship v2", "goals"),
    ):
        muniment("remember", text, "--category", category)
    pin = ids(muniment("list", "--contains", "v2", "--json"))[0]
    muniment("pin", pin)

    def texts(*options: str) -> list[str]:
        return [one["text"] for one in muniment("list", *options, "--json").json["memories"]]

    assert texts("--contains", "CAFÉ") == texts("--contains", "Cafe\u0301") == ["Café Central is 100% closed"]
    assert texts("--contains", "0%") == ["Café Central is 100% closed"]
    assert texts("--contains", "1_f") == [PAINT]
    assert texts("--contains", "2_f") == texts("--contains", "s%l") == []
    assert texts("--pinned") == [SHIP]
    assert set(texts("--not-pinned")) == {"Café Central is 100% closed", PAINT}
    assert texts("--category", "activity") == texts("--categories", "activity,tone") == ["Café Central is 100% closed"]
    assert len(texts("--trust", "user")) == 3
    assert texts("--trust", "document,agent") == []
    assert len(texts("--since", "2020-01-01", "--until", f"{datetime.now(UTC):%Y-%m-%d}")) == 3
    assert texts("--until", "2020-01-01") == texts("--since", "2990-01-01") == []
    assert texts("--tag", "none") == []
    assert texts("--kind", "procedural") == []
    assert texts("--kind", "semantic,episodic", "--category", "goals", "--contains", "ship", "--pinned") == [SHIP]
    assert muniment("list", "--category", "goals", "--limit", "1", "--json").json["total"] == 2
    for name, one, other in (
        ("--category", "goals", "activity"),
        ("--kind", "semantic", "episodic"),
        ("--trust", "user", "tool"),
    ):
        assert texts(name, one, name, other) == texts(name, f"{one},{other}") != texts(name, other)
    muniment("forget", pin)
    assert texts("--state", "soft_deleted", "--pinned") == [SHIP]
    assert len(texts("--state", "all")) == 3


def test_a_tag(muniment: Muniment) -> None:
    """Only what has the tag, whatever else it has."""
    texts = {"The user keeps bees": ["bees", "work"], "A tram goes to the harbour": ["work"], "Chess on Sundays": []}
    tagged = [{"text": text, "category": "interests", "tags": tags} for text, tags in texts.items()]
    said = "".join(json.dumps(row) + "\n" for row in tagged)
    assert muniment("import", "-", "--format", "jsonl", said=said).code == 0
    assert len(ids(muniment("list", "--tag", "work", "--json"))) == 2
    assert len(ids(muniment("list", "--tag", "bees", "--json"))) == 1


def test_as_of(muniment: Muniment) -> None:
    """`query`, `list` and `show` answer as of a revision, a time, or the end of a day."""
    muniment("remember", "I live in Porto")
    muniment("remember", "I live in Lisbon now")
    memory_id = ids(muniment("list", "--json"))[0]
    muniment("forget", memory_id)
    asked = ("query", "where do I live?", "--agent", "supervisor")
    assert muniment(*asked).out == ""
    assert muniment(*asked, "--as-of", "1").out == "- [profile] The user lives in Porto\n"
    then = muniment(*asked, "--as-of", "2", "--json").json
    assert (then["rev"], [one["text"] for one in then["results"]]) == (2, ["[profile] The user lives in Lisbon"])
    assert muniment(*asked, "--as-of", "0", "--json").json == {"format": 2, "rev": 0, "results": []}
    today = f"{datetime.now(UTC):%Y-%m-%d}"
    assert muniment(*asked, "--as-of", today, "--json").json == {
        "format": 2,
        "rev": 4,
        "results": [],
    }  # and no request waits
    assert muniment(*asked, "--as-of", "2020-02-29T12:00", "--json").json["rev"] == 0
    listed = muniment("list", "--as-of", "1", "--json").json
    assert (listed["rev"], listed["total"]) == (1, 1)
    assert listed["memories"][0]["text"] == "The user lives in Porto"
    assert muniment("list", "--state", "soft_deleted", "--as-of", "2", "--json").json["total"] == 0
    assert muniment("show", memory_id[:8], "--as-of", "1", "--json").json["text"] == "The user lives in Porto"
    assert muniment("show", memory_id, "--json").json["state"] == "soft_deleted"
    gone = muniment("show", memory_id, "--as-of", "0", "--json")
    assert (gone.code, gone.json["error"]["type"]) == (4, "NotFound")


FUTURE = f"{datetime.now(UTC) + timedelta(days=2):%Y-%m-%d}"


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (["query", "x", "--agent", "planner", "--as-of", "99"], 2, "the space is at 0"),
        (["query", "x", "--agent", "planner", "--as-of", "-1"], 2, "0 or more"),
        (["query", "x", "--agent", "planner", "--as-of", "9" * 18], 2, "the space is at 0"),
        (["query", "x", "--agent", "planner", "--as-of", FUTURE], 2, "in the future"),
        (["query", "x", "--agent", "planner", "--as-of", "yesterday"], 2, "2026-05-01"),
        (["list", "--as-of", "99"], 2, "the space is at 0"),
        (["list", "--as-of", FUTURE], 2, "in the future"),
        (["show", "4f2a91bc", "--as-of", "soon"], 2, "as_of"),
        (["list", "--kind", "poem"], 2, "semantic, episodic, procedural, insight"),
        (["list", "--trust", "rumour"], 2, "user, tool, document, agent"),
        (["list", "--category", "nope"], 2, "profile"),
        (["list", "--state", ","], 2, "soft_deleted"),
        (["list", "--category", ""], 2, "--category: is empty"),
        (["list", "--contains", ""], 2, "contains: is empty"),
        (["list", "--tag", "\x01"], 2, "tag: is empty"),
        (["query", "x", "--agent", "planner", "--category", " ,"], 2, "--category: is empty"),
        (["list", "--since", "x"], 2, "--since"),
        (["list", "--until", "x"], 2, "--until"),
        (["query", "x", "--agent", "planner", "--filter", "pinned=maybe"], 2, "true or false"),
        (["query", "x", "--agent", "planner", "--filter", "importance_min=high"], 2, "whole number"),
        (["query", "x", "--agent", "planner", "--filter", "colour=red"], 2, "importance_min"),
        (["query", "x", "--agent", "planner", "--filter", "pinned"], 2, "NAME=VALUE"),
        (["query", "x", "--agent", "planner", "--filter", "updated_after=x"], 2, "filters.updated_after"),
        (["query", "x", "--agent", "planner", "--filter", "role=user", "--filter", "role=tool"], 2,
            "role is given twice"),
        (["query", "x", "--agent", "planner", "--filter", "category=tone"], 3, "may not read tone"),
        (["embedder", "switch", ""], 2, "openai:NAME wanted"),
        (["embedder", "switch", "openai:"], 2, "openai:NAME wanted"),
        (["query", "x", "--agent", "planner", "--filter", "user_id=ben"], 3, "another user"),
        (["why-not", "4f2a91bc", "--agent", "planner"], 2, "--query"),
        (["why-not", "4f2a91bc", "--query", "x"], 2, "--agent"),
        (["why-not", "4f2a91bc", "--query", " ", "--agent", "planner"], 2, "query: is empty"),
        (["why-not", "4f2a91bc", "--query", "x", "--agent", "nobody"], 2, "planner"),
        (["why-not", "4f2a91bc", "--query", "x", "--agent", "planner"], 4, "4f2a91bc"),
        (["why-not", str(UUID(int=7)), "--query", "x", "--agent", "planner"], 4, "another space, or unknown"),
    ],
)  # fmt: skip
def test_refused(muniment: Muniment, arguments: list[str], code: int, told: str) -> None:
    """What cannot be is refused by its exit code, with what can."""
    outcome = muniment(*arguments, "--json")
    assert outcome.code == code, outcome
    assert told in outcome.json["error"]["message"]


def test_filters(muniment: Muniment) -> None:
    """A query is narrowed by name and value; several together must all fit."""
    muniment("remember", "Hand in the tax form", "--category", "tasks")
    asked = ("query", "tax form", "--agent", "planner")
    assert "tax form" in muniment(*asked, "--filter", "pinned=false", "--filter", "updated_after=2020-01-01").out
    assert muniment(*asked, "--filter", "pinned=true").out == ""
    assert muniment(*asked, "--filter", "pinned=false", "--filter", "importance_min=5").out == ""
    assert muniment(*asked, "--filter", "actor_id=me").out != ""


def test_why_not(muniment: Muniment) -> None:
    """One reason, in words and as JSON, by a shortened id too; nobody learns of another user's memory."""
    memory_id = muniment("remember", "I am allergic to peanuts", "--user", "ana", "--json").json["changes"][0]["id"]
    why = ("why-not", memory_id[:8], "--user", "ana", "--agent")
    there = muniment(*why, "supervisor", "--query", "peanut allergy", "--json")
    assert (there.code, there.json["reason"], there.json["facts"]) == (0, "in the answer", {"place": 1, "of": 1})
    answer = muniment("query", "peanut allergy", "--user", "ana", "--agent", "supervisor", "--explain", "--json").json
    shown = answer["results"][0]
    assert set(shown) == set(there.json["memory"])
    assert shown["ranks"] == {"dense": 1, "keyword": 1}
    assert shown["words"] == ["peanut"]
    assert (there.json["rev"], shown["rev"]) == (answer["rev"], 1)
    told = muniment(*why, "supervisor", "--query", "tax return").out
    line = f"{memory_id[:8]}  [constraints] The user is allergic to peanuts"
    assert told.startswith(f"{line}\nno match: No channel finds it")
    assert "at revision 1" in told
    denied = muniment(*why, "stylist", "--query", "peanuts").out
    assert denied.startswith("not allowed: Agent stylist may not read constraints")
    assert "peanuts" not in denied
    filtered = muniment(*why, "supervisor", "--query", "peanut allergy", "--filter", "importance_min=5", "--json").json
    assert (filtered["reason"], filtered["facts"]["has"]) == ("filtered", 4)
    early = muniment(*why, "supervisor", "--query", "peanuts", "--as-of", "0", "--json").json
    assert early["reason"] == "not yet known"
    elsewhere = muniment("why-not", memory_id, "--query", "peanuts", "--agent", "supervisor", "--user", "ben", "--json")
    nowhere = muniment(
        "why-not", str(UUID(int=7)), "--query", "peanuts", "--agent", "supervisor", "--user", "ben", "--json"
    )
    assert (elsewhere.code, nowhere.code) == (4, 4)
    assert elsewhere.out.replace(memory_id, "") == nowhere.out.replace(str(UUID(int=7)), "")


def test_explained(muniment: Muniment) -> None:
    """For people: the score and its parts, the place in each channel, the revisions, and what was left out and why."""
    muniment("remember", "Hand in the tax form", "--category", "tasks")
    muniment("remember", "Water the plants", "--category", "tasks")
    told = muniment("query", "tax form", "--agent", "executor", "--explain").out
    assert re.search(r"score \d\.\d{3} of .*semantic \d.*\(dense #1, keyword #1\)", told)
    assert re.search(r"relevance \d\.\d{3}, changed at revision 1$", told, re.MULTILINE)
    assert re.search(r"left out [0-9a-f]{8}: below threshold", told)
    assert "tokens, at revision 2" in told


async def tend(url: str) -> None:
    async with engine(url, clock=FixedClock(datetime.now(UTC))) as memory:
        await memory.admin.maintain(scope("me"))


def test_where_nothing_can_be_written(muniment: Muniment, database_url: str) -> None:
    """As on a replica: what only reads is answered, the rest is an error, and nothing has changed."""
    muniment("remember", "Hand in the tax form", "--category", "tasks")
    asyncio.run(tend(database_url))  # what is due is due now in `status`, and now moves on between two answers
    assert muniment("status", "--json").json["space"]["tended"]
    replica = {"MUNIMENT_DATABASE_URL": make_conninfo(database_url, options="-c default_transaction_read_only=on")}
    reads = (
        ("list",),
        ("history",),
        ("export",),
        ("stats",),
        ("status",),
        ("consolidate", "--runs"),
        ("consolidate", "--dry-run"),
    )
    for command in reads:
        assert muniment(*command, **replica).out == muniment(*command).out, command
    for command in (("remember", "Water the plants"), ("consolidate",), ("checkpoints", "prune")):
        refused = muniment(*command, **replica)
        assert (refused.code, "read-only" in refused.err) == (6, True), command
    assert len(muniment("list", "--json").json["memories"]) == 1


def terminal(environment: dict[str, str], *arguments: str, columns: int = 50) -> list[str]:
    """The lines that the installed program writes to a terminal of this width, without colours and spinners."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    with subprocess.Popen(
        [PROGRAM, *arguments],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env=environment | {"TERM": "xterm-256color"},
    ) as program:
        os.close(theirs)
        said = b""
        try:
            while more := os.read(ours, 65_536):
                said += more
        except OSError:  # the terminal is closed at the other end
            pass
        os.close(ours)
        assert program.wait(timeout=50) == 0, said
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|\r", "", said.decode())
    return [line.rstrip() for line in plain.splitlines() if line.strip()]


def test_a_terminal(environment: dict[str, str], muniment: Muniment) -> None:
    """Bullets are wrapped below their first word, with label, age, date and pin; a list says where the next page is,
    and shows all of a text however narrow it is."""
    row = {"text": "The user takes part in the town's race with two friends from the office", "category": "event",
           "event_time": "2026-10-04T08:00:00+00:00", "pinned": True}  # fmt: skip
    assert muniment("import", "-", "--format", "jsonl", said=json.dumps(row) + "\n").code == 0
    muniment("remember", "Hand in the tax form", "--category", "tasks")
    piped = muniment("query", "race with friends from the office", "--agent", "supervisor").out
    assert piped == f"- [event] {row['text']}\n"
    lines = terminal(environment, "query", "race with friends from the office", "--agent", "supervisor")
    first = next(n for n, line in enumerate(lines) if line.startswith("• "))
    bullet = lines[first:]
    assert bullet[0].startswith("• Events: The user takes part")
    assert all(line.startswith("  ") and len(line) <= 50 for line in bullet[1:])
    told = " ".join(line.strip() for line in bullet)
    assert "ago" in told or "just now" in told
    assert "on 2026-10-04, pinned)" in told
    short = terminal(
        environment, "query", "race with friends from the office", "--agent", "supervisor", "--budget", "9"
    )
    assert short[-1] == "What is relevant is longer than the budget."
    some = terminal(
        environment,
        "query",
        "race, tax form",
        "--agent",
        "supervisor",
        "--budget",
        "70",
        "--threshold",
        "0.2",
        columns=80,
    )
    assert some[-1] == "1 more is relevant and beyond the budget; --budget gives more."
    listed = terminal(environment, "list", "--limit", "1", columns=80)
    assert listed[-1] == "1-1 of 2; next: --offset 1"
    assert any("just now" in line or "ago" in line for line in listed)
    narrow = " ".join(line.strip() for line in terminal(environment, "list", columns=30))
    ids = [one["id"][:8] for one in muniment("list", "--json").json["memories"]]
    assert all(shown in narrow for shown in (row["text"], "Hand in the tax form", *ids))


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (-90, "just now"), (0, "just now"), (59, "just now"), (60, "1 minute ago"), (3_599, "59 minutes ago"),
        (3_600, "1 hour ago"), (86_399, "23 hours ago"), (86_400, "1 day ago"), (3 * 86_400, "3 days ago"),
        (60 * 86_400, "60 days ago"), (61 * 86_400, "2 months ago"), (730 * 86_400, "23 months ago"),
        (731 * 86_400, "2 years ago"), (3_653 * 86_400, "10 years ago"),
    ],
)  # fmt: skip
def test_an_age(seconds: int, said: str) -> None:
    """In the largest unit of which there is enough to tell."""
    assert format_age(NOON - timedelta(seconds=seconds), NOON) == said


def test_help(muniment: Muniment) -> None:
    """Every reading command teaches by examples, and says what a date means."""
    for name in ("query", "why-not", "list", "show", "history"):
        said = muniment(name, "--help").out
        assert said.count(f"muniment {name}") >= 3, name
    for name in ("query", "why-not", "list", "show"):
        assert "its end" in " ".join(muniment(name, "--help").out.split())
    assert "why-not" in muniment("--help").out


def test_interrupted_while_it_writes_down(database_url: str, environment: dict[str, str], muniment: Muniment) -> None:
    """Ctrl-C after the answer: that something was looked for, and what was found, is written all the same."""
    assert muniment("remember", "The user has an orchard with apple trees", "--category", "activity").code == 0
    command = [PROGRAM, "query", "apple trees", "--agent", "supervisor"]
    with psycopg.connect(database_url) as writer, psycopg.connect(database_url, autocommit=True) as conn:
        writer.execute("lock muniment.events in exclusive mode")
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment) as asked:
            waits = "select from pg_locks where relation = 'muniment.events'::regclass and not granted"
            while not conn.execute(waits).fetchall():
                assert asked.poll() is None
                time.sleep(0.02)
            asked.send_signal(signal.SIGINT)
            time.sleep(0.3)
            writer.commit()
            _, err = asked.communicate(timeout=20)
            assert (asked.returncode, err) == (130, b"")
        searches = conn.execute(
            "select count(*) from muniment.events where node = 'context' and op = 'search'"
        ).fetchone()
        assert searches == (1,)
        assert conn.execute("select access_count from muniment.memories").fetchone() == (1,)
