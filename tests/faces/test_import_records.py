"""`import` of what other memories hold: every record is counted, none is there twice, and no secret passes."""

from __future__ import annotations

import json
import signal
import subprocess
import time
import zipfile
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.faces.conftest import PROGRAM, Muniment
from tests.importing.formats import EXPECTED, FIXTURES, SECRET, copy_fixture

FATES = ("kept", "merged", "known", "learned", "recorded", "refused", "left_out")
# The fixtures of which all is one person's: the others name several owners.
SEVERAL = ("claude/2026",)


def texts(muniment: Muniment, *more: str) -> set[str]:
    return {one["text"] for one in muniment("list", "--json", *more).json["memories"]}


@pytest.mark.parametrize("name", EXPECTED)
def test_counts_in_are_counts_out(muniment: Muniment, tmp_path: Path, environment: dict[str, str], name: str) -> None:
    """Counts in equal counts out, no secret passes, and the same import again changes nothing: of each format's
    versions every record has one fate, the whole database has no secret, and the export stays the same."""
    folder = copy_fixture(name, tmp_path)
    memories, messages, left_out = EXPECTED[name]
    first = muniment("import", str(folder), "--json").json
    assert first["records"] == sum(first[fate] for fate in FATES) == memories + messages + left_out
    assert first["left_out"] == left_out
    assert first["learned"] + first["recorded"] == messages
    assert first["kept"] + first["merged"] + first["known"] + first["refused"] == memories
    before = muniment("export").out
    assert SECRET not in before
    with psycopg.connect(environment["MUNIMENT_OWNER_URL"]) as admin:
        tables = admin.execute("select tablename from pg_tables where schemaname = 'muniment'").fetchall()
        for (table,) in tables:
            query = f"select count(*) from muniment.{table} t where t::text like %s"
            assert admin.execute(query, [f"%{SECRET}%"]).fetchone() == (0,), table
    again = muniment("import", str(folder), "--json").json
    assert muniment("export").out == before
    assert (again["kept"], again["merged"], again["learned"]) == (0, 0, 0)
    assert again["records"] == first["records"]


def test_a_secret_alone_is_refused_with_its_reason(muniment: Muniment, tmp_path: Path) -> None:
    """What is refused is counted with its reason and its place."""
    folder = copy_fixture("mem0/v1.0", tmp_path)
    outcome = muniment("import", str(folder), "--json").json
    assert outcome["refused_reasons"] == {"says nothing but a secret": 1}
    assert outcome["places"]["refused: says nothing but a secret"] == ["memories.json, record 3"]
    assert "1 refused" in muniment("import", str(folder), "--user", "ben").out


def test_a_memory_is_kept_as_given_with_its_origin(muniment: Muniment, tmp_path: Path) -> None:
    """A memory has the words, the time and the origin that it had; what is said later corrects it, and the file again
    does not bring it back."""
    folder = copy_fixture("mem0/v1.0", tmp_path)
    muniment("import", str(folder))
    kept = {one["text"]: one for one in muniment("list", "--json").json["memories"]}
    assert set(kept) == {"Lives in Rome", "Is allergic to peanuts"}
    assert kept["Lives in Rome"]["source"] == "mem0/11111111-1111-4111-8111-111111111111"
    assert kept["Lives in Rome"]["event_time"].startswith("2023-02-01")
    assert "category: health" in kept["Is allergic to peanuts"]["tags"]
    muniment("remember", "I live in Berlin now")
    muniment("forget", kept["Is allergic to peanuts"]["id"])
    muniment("import", str(folder))
    assert texts(muniment) == {"The user lives in Berlin"}


def test_conversations_are_learned_in_the_order_of_their_time(muniment: Muniment, tmp_path: Path) -> None:
    """A later conversation corrects an earlier one, wherever they stand in the file, and both keep their dates."""
    folder = copy_fixture("chatgpt/2026", tmp_path)
    muniment("import", str(folder))
    known = texts(muniment)
    assert "The user lives in Porto" in known
    assert not any("Lisbon" in one for one in known)
    (home,) = (one for one in muniment("list", "--json").json["memories"] if one["text"] == "The user lives in Porto")
    assert "The user lives in Lisbon" in muniment("history", home["id"]).out
    rows = [json.loads(line) for line in muniment("export").out.splitlines()]
    said = {row["text"]: row for row in rows if row["type"] == "turn"}
    assert said["I live in Lisbon."]["at"].startswith("2023-01-01")
    assert said["He looks happy."]["role"] == "assistant"


def test_what_ended_is_in_no_answer(muniment: Muniment, tmp_path: Path) -> None:
    """A fact that became invalid is a past state: it is kept with its time, and no answer has it."""
    muniment("import", str(copy_fixture("graphiti/facts", tmp_path)))
    answer = muniment("query", "Where does Ana live?", "--agent", "supervisor", "--json").out
    assert "Oslo" in answer
    assert "Rome" not in answer
    rome = next(json.loads(line) for line in muniment("export").out.splitlines() if "lives in Rome" in line)
    assert rome["expires_at"].startswith("2024-01-01")


def test_a_preview_writes_nothing(muniment: Muniment, tmp_path: Path) -> None:
    """--dry-run has counts and a sample without secrets, and there is nothing afterwards."""
    folder = copy_fixture("langgraph-store/items", tmp_path)
    shown = muniment("import", str(folder), "--dry-run")
    assert (shown.code, SECRET in shown.out) == (0, False)
    assert "5 records, nothing is written" in shown.out
    preview = muniment("import", str(folder), "--dry-run", "--json").json
    assert preview["to_import"] == {"memory": 4}
    assert preview["left_out"] == {"has no words": 1}
    assert len(preview["sample"]) == 4
    assert preview["owners"] == {"memories/ana": 5}
    assert muniment("list").out == ""
    assert muniment("import", "x", "--format", "jsonl", "--dry-run").code == 2


def test_a_file_without_anything_is_said_to_be_empty(muniment: Muniment, tmp_path: Path) -> None:
    """A file that is empty, and a folder without one, are no unknown format; of that all formats are named. One record
    is no plural."""
    empty, folder, unknown, single = (tmp_path / name for name in ("a.json", "b", "c.json", "d.md"))
    empty.touch()
    folder.mkdir()
    unknown.write_text('{"a": 1}')
    single.write_text("I like tea\n")
    for path in (empty, folder):
        refused = muniment("import", str(path), "--dry-run")
        assert (refused.code, refused.err) == (2, f"muniment: error: {path}: is empty\n")
    refused = muniment("import", str(unknown), "--dry-run")
    assert refused.err.endswith("graphiti, markdown, or jsonl, locomo or memory-records\n")
    assert ": 1 record, nothing is written" in muniment("import", str(single), "--dry-run").out


def test_a_preview_of_every_format(muniment: Muniment, tmp_path: Path) -> None:
    """--dry-run of each format's versions counts what an import would count, shows no secret, and needs no database:
    none is made, and nothing is written."""
    for name, (memories, messages, left_out) in EXPECTED.items():
        folder = copy_fixture(name, tmp_path)
        preview = muniment("import", str(folder), "--dry-run", "--json", MUNIMENT_DATABASE_URL="postgresql:///nowhere")
        assert preview.code == 0, name
        assert SECRET not in preview.out + preview.err
        assert preview.json["records"] == memories + messages + left_out, name
        assert sum(preview.json["to_import"].values()) == memories + messages, name
    assert not (tmp_path / "home").exists()


def test_records_of_several_owners(muniment: Muniment, tmp_path: Path) -> None:
    """What is of several users is never one person's unasked: one is chosen, by a beginning of a namespace, too."""
    file = tmp_path / "store.json"
    items = [
        {"namespace": ["memories", owner], "key": owner, "value": {"content": f"Plays the {owner}"}}
        for owner in ("cello", "flute")
    ]
    file.write_text(json.dumps(items))
    refused = muniment("import", str(file))
    assert (refused.code, "2 owners (memories/cello, memories/flute)" in refused.err) == (2, True)
    one = muniment("import", str(file), "--only", "memories/cello", "--json").json
    assert (one["kept"], one["left_out_reasons"]) == (1, {"of another owner": 1})
    both = muniment("import", str(file), "--only", "memories", "--user", "ben", "--json").json
    assert both["kept"] == 2
    every = muniment("import", str(file), "--only", "*", "--user", "cleo", "--json").json
    assert every["kept"] == 2


def test_a_broken_file_imports_nothing(muniment: Muniment) -> None:
    """The whole file is read before the first record is written."""
    for name in ("mem0.json", "claude.json", "langgraph-store.json"):
        outcome = muniment("import", str(FIXTURES / "broken" / name))
        assert (outcome.code, outcome.out) == (2, "")
        assert outcome.err.startswith(f"muniment: error: {name}, ")
    assert muniment("list").out == ""
    assert muniment("import", "/nonexistent/file").code == 2


def test_standard_input_and_archives(muniment: Muniment, tmp_path: Path) -> None:
    """A file may come through a pipe, and an export as the archive that it is."""
    raw = (FIXTURES / "mem0/v1.1/memories.json").read_bytes()
    assert muniment("import", "-", "--json", said=raw).json["records"] == 7
    packed = tmp_path / "export.zip"
    with zipfile.ZipFile(packed, "w") as archive:
        archive.write(FIXTURES / "claude/2024/conversations.json", "conversations.json")
    assert muniment("import", str(packed), "--user", "ben", "--json").json["format"] == "claude"


def test_denylists_hold(muniment: Muniment, tmp_path: Path) -> None:
    """A tag that the settings deny keeps a memory out, and the reason is counted."""
    own = tmp_path / "own.yaml"
    own.write_text('redact: {deny_tags: ["category: health"]}\n', encoding="utf-8")
    folder = copy_fixture("mem0/v1.0", tmp_path)
    outcome = muniment("import", str(folder), "--json", MUNIMENT_CONFIG=str(own)).json
    assert outcome["refused"] == 2
    assert not any("peanuts" in one for one in texts(muniment))


@pytest.mark.timeout(240)
def test_an_import_that_is_killed_goes_on(muniment: Muniment, environment: dict[str, str], tmp_path: Path) -> None:
    """An import that is interrupted is resumed: after kill -9 the same command goes on, and the space is as if it had
    not been interrupted."""
    talks: list[dict[str, Any]] = [
        {
            "uuid": f"t{n}",
            "created_at": f"2024-01-{n + 1:02}T10:00:00Z",
            "chat_messages": [
                {
                    "uuid": f"t{n}-{m}",
                    "sender": "human",
                    "text": f"I own a boat called Number{n}x{m}.",
                    "created_at": f"2024-01-{n + 1:02}T10:{m:02}:00Z",
                }
                for m in range(5)
            ],
        }
        for n in range(8)
    ]
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "conversations.json").write_text(json.dumps(talks))
    memories = [{"conversations_memory": "\n\n".join(f"A note about topic {n} of the year." for n in range(160))}]
    (tmp_path / "in" / "memories.json").write_text(json.dumps(memories))
    command = [PROGRAM, "import", str(tmp_path / "in"), "--user", "ana"]
    with psycopg.connect(environment["MUNIMENT_OWNER_URL"], autocommit=True) as admin:
        for goal in (5, 20):
            running = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            while running.poll() is None and _count(admin) < goal:
                time.sleep(0.01)
            running.send_signal(signal.SIGKILL)
            running.communicate(timeout=20)
            assert running.returncode == -signal.SIGKILL
    last = muniment("import", str(tmp_path / "in"), "--user", "ana", "--json").json
    assert last["records"] == 200
    assert last["known"] >= 20
    whole = muniment("import", str(tmp_path / "in"), "--user", "ben", "--json").json
    assert whole["known"] == 0
    assert texts(muniment, "--user", "ana", "--limit", "1000") == texts(muniment, "--user", "ben", "--limit", "1000")
    counts = [
        len(muniment("list", "--user", user, "--limit", "1000", "--json").json["memories"]) for user in ("ana", "ben")
    ]
    assert counts[0] == counts[1]


def _count(admin: psycopg.Connection) -> int:
    there = admin.execute("select to_regclass('muniment.memories') is not null").fetchone()
    found = admin.execute("select count(*) from muniment.memories").fetchone() if there == (True,) else None
    return int(found[0]) if found else 0
