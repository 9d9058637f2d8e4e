"""`import` and `export`: whole spaces out of the database and back, and conversations into it."""

import copy
import json
import random
import signal
import string
import subprocess
import time
from pathlib import Path
from typing import Any

import psycopg
import pytest

from muniment.faces.locomo import parse_conversations
from muniment.memory.errors import BadInput
from tests.faces.conftest import PROGRAM, Muniment

TALK: dict[str, Any] = {
    "sample_id": "garden",
    "conversation": {
        "speaker_a": "Ines",
        "speaker_b": "Tom",
        "session_2_date_time": "12:05 am on 1 March, 2024",
        "session_2": [
            {"speaker": "Tom", "dia_id": "D2:1", "text": "The tulips came up overnight."},
            {"speaker": "Ines", "dia_id": "D2:2", "text": "", "blip_caption": "a bed of red tulips"},
        ],
        "session_1_date_time": "1:56 pm on 8 November, 2023",
        "session_1": [
            {"speaker": "Ines", "dia_id": "D1:1", "text": "I planted forty tulips today."},
            {"speaker": "Tom", "dia_id": "D1:2", "text": "Forty? My back hurts just hearing it."},
            {"speaker": "Ines", "dia_id": "D1:3", "text": "Look at the mud.", "blip_caption": "a muddy garden"},
            {"speaker": "Tom", "dia_id": "D1:4", "text": "I will bring coffee on Sunday."},
        ],
        "session_3_date_time": "2:00 pm on 2 March, 2024",
        "session_3": [],
    },
    "qa": [],
}


def test_conversation() -> None:
    """Each turn is a candidate with its speaker, its date, its caption and the words around it."""
    (talk,) = parse_conversations(TALK)
    first, *_, tulips = talk.candidates
    assert [one.tags[0] for one in talk.candidates] == [
        "dia:D1:1",
        "dia:D1:2",
        "dia:D1:3",
        "dia:D1:4",
        "dia:D2:1",
        "dia:D2:2",
    ]
    assert (first.text, first.actor, first.kind, first.category) == (
        "I planted forty tulips today.", "Ines", "episodic", "activity",
    )  # fmt: skip
    assert first.event_time
    assert first.event_time.isoformat() == "2023-11-08T13:56:00+00:00"
    assert first.context == (
        "8 November 2023\nInes\nTom: Forty? My back hurts just hearing it.\nInes: Look at the mud. [image: a "
        "muddy garden]"
    )
    assert (tulips.text, tulips.tags) == ("[image: a bed of red tulips]", ("dia:D2:2", "session:2"))
    assert tulips.event_time
    assert tulips.event_time.isoformat() == "2024-03-01T00:05:00+00:00"
    assert len({turn for one in talk.candidates for turn in one.turns}) == 6
    assert parse_conversations([TALK]) == [talk]


@pytest.mark.parametrize(
    ("path", "value", "told"),
    [
        (["sample_id"], None, "conversation 0, field 'sample_id': nothing given"),
        (["conversation"], [], "conversation 'garden': field 'conversation': a list given"),
        (["conversation", "session_1"], {}, "'garden', session 1: an object given, a list of turns wanted"),
        (["conversation", "session_1_date_time"], "yesterday", "session 1, field 'session_1_date_time': not a date"),
        (["conversation", "session_1_date_time"], "1:56 pm on 31 June, 2023",
            "field 'session_1_date_time': not a date"),
        (["conversation", "session_2_date_time"], None, "field 'session_2_date_time': nothing given"),
        (["conversation", "session_1", 2, "text"], 7, "session 1, turn 2, field 'text': a number given"),
        (["conversation", "session_1", 2, "speaker"], " ", "session 1, turn 2, field 'speaker': is empty"),
        (["conversation", "session_1", 2, "dia_id"], "D1:1",
            "session 1, turn 2, field 'dia_id': 'D1:1' is there twice"),
        (["conversation", "session_1", 2, "text"], "a\0b", "session 1, turn 2, field 'text': has a NUL"),
        (["conversation", "session_1", 2, "text"], "a\ud800b", "session 1, turn 2, field 'text': has a NUL or half"),
        (["conversation", "session_1", 2], "Hello", "session 1, turn 2: text given, an object wanted"),
    ],
)  # fmt: skip
def test_malformed_conversation(path: list[Any], value: Any, told: str) -> None:
    """What is malformed is named by conversation, session, index and field."""
    broken = copy.deepcopy(TALK)
    place: Any = broken
    for part in path[:-1]:
        place = place[part]
    place[path[-1]] = value
    with pytest.raises(BadInput) as caught:
        parse_conversations(broken)
    assert told in str(caught.value)


def test_conversation_without_sessions_or_twice() -> None:
    """A conversation that says nothing, and the same one twice in a file, are refused."""
    with pytest.raises(BadInput, match="there is no session"):
        parse_conversations({"sample_id": "x", "conversation": {}})
    with pytest.raises(BadInput, match="'garden': is in the file twice"):
        parse_conversations([TALK, TALK])
    missing = copy.deepcopy(TALK)
    del missing["conversation"]["session_1"][0]["text"]
    with pytest.raises(BadInput, match="session 1, turn 0: field 'text' is missing"):
        parse_conversations(missing)


def test_import_conversations(muniment: Muniment, tmp_path: Path) -> None:
    """Every conversation has a space of its own unless a user is named; the second time adds nothing."""
    file = tmp_path / "talk.json"
    file.write_text(json.dumps([TALK, TALK | {"sample_id": "copy"}]))
    assert (
        muniment("import", str(file), "--format", "locomo").out
        == "garden: 6 memories imported\ncopy: 6 memories imported\n"
    )
    again = muniment("import", str(file), "--format", "locomo", "--json").json
    assert again == {"imported": 0, "users": {"garden": 0, "copy": 0}}
    both = muniment("import", "-", "--format", "locomo", "--user", "all", "--json", said=file.read_bytes()).json
    assert both == {"imported": 12, "users": {"all": 12}}
    memories = muniment("list", "--user", "garden", "--json").json["memories"]
    mud = next(one for one in memories if "dia:D1:3" in one["tags"])
    assert (mud["text"], mud["actor_id"], mud["kind"]) == (
        "Look at the mud. [image: a muddy garden]",
        "Ines",
        "episodic",
    )
    assert mud["event_time"] == "2023-11-08T13:56:00+00:00"
    assert "context" not in mud
    found = muniment("query", "Who planted tulips?", "--agent", "supervisor", "--user", "garden").out
    assert found.startswith("- [activity] I planted forty tulips today.")


def test_malformed_file_of_conversations(muniment: Muniment, tmp_path: Path) -> None:
    """One malformed conversation keeps all of the file out."""
    file = tmp_path / "talk.json"
    file.write_text(json.dumps([TALK, {"sample_id": "bad", "conversation": {"session_1": [{"speaker": "A"}]}}]))
    refused = muniment("import", str(file), "--format", "locomo")
    assert refused.code == 2
    assert f"{file}, conversation 'bad', session 1, turn 0: field 'dia_id' is missing; nothing was" in refused.err
    assert muniment("list", "--user", "garden").out == ""
    for content in (b"", b"{", b"\xff", b"[" * 100_000):
        file.write_bytes(content)
        assert muniment("import", str(file), "--format", "locomo").code == 2


def test_round_trip(muniment: Muniment, process: Muniment, tmp_path: Path) -> None:
    """An export imported into an empty user exports the same, history and former versions included."""
    muniment("chat", "--user", "ana", "--thread", "A", said="I live in Porto.\nI am allergic to peanuts.\n")
    muniment("chat", "--user", "ana", "--thread", "B", said="I live in Faro.\n")
    (allergy,) = (
        one for one in muniment("list", "--user", "ana", "--json").json["memories"] if "peanuts" in one["text"]
    )
    muniment("forget", allergy["id"], "--user", "ana")
    file = tmp_path / "ana.jsonl"
    written = process("export", "--user", "ana", str(file), "--json")
    assert (written.code, written.json) == (
        0,
        {"user": "ana", "rows": len(file.read_text().splitlines()), "file": str(file), "format": "jsonl"},
    )
    assert (file.stat().st_mode & 0o777, [one.name for one in tmp_path.iterdir()]) == (0o600, ["ana.jsonl"])
    kinds = {json.loads(line)["type"] for line in file.read_text().splitlines()}
    assert {"space", "memory", "version", "journal", "thread", "turn"} <= kinds
    assert muniment("import", str(file), "--user", "twin", "--json").json["users"] == {"twin": 2}  # recognized
    assert process("export", "--user", "twin").out == file.read_text()
    assert muniment("import", str(file), "--format", "jsonl", "--user", "twin", "--json").json["imported"] == 0
    assert muniment("restore", allergy["id"], "--user", "twin").code == 0
    full = muniment("import", str(file), "--format", "jsonl", "--user", "ana", "--json")
    assert full.json["imported"] == 0
    assert muniment("import", str(file), "--format", "jsonl", "--user", "twin").code == 2


def test_export_to_where_nothing_can_be(muniment: Muniment, tmp_path: Path) -> None:
    """A file that cannot be written is refused and leaves nothing behind; nobody's memory is an empty file."""
    assert muniment("export", str(tmp_path / "none" / "file")).code == 2
    assert muniment("export", str(tmp_path)).code == 2
    assert list(tmp_path.iterdir()) == []
    assert muniment("export").out == ""


def test_plain_rows(muniment: Muniment) -> None:
    """A row needs no more than a text."""
    rows = (
        '{"text": "Chess in the park"}\n{"text": "The user has two cats", "category": "relationships", "importance": '
        "4}\n"
    )
    assert muniment("import", "-", "--format", "jsonl", said="\ufeff" + rows).out == "me: 2 memories imported\n"
    memories = muniment("list", "--json").json["memories"]
    assert sorted((one["category"], one["importance"]) for one in memories) == [("activity", 2), ("relationships", 4)]


def test_what_was_imported_is_corrected_in_a_chat(muniment: Muniment) -> None:
    """A line with only a text is what its words say, and the file imported again takes no correction back."""
    rows = (
        '{"text": "User lives in Rome"}\n{"text": "The user\'s brother lives in Rome"}\n{"text": "Chess in the park"}\n'
    )
    assert muniment("import", "-", "--format", "jsonl", said=rows).out == "me: 3 memories imported\n"
    muniment("chat", "--thread", "A", said="I live in Berlin now\n")
    again = muniment("import", "-", "--format", "jsonl", said=rows)
    assert again.out == "me: 0 memories imported\n"
    assert again.err == (
        "3 of 3 lines added nothing: memory knows already what is said, or something later about it (lines 1, 2, 3)\n"
    )
    known = ["Chess in the park", "The user lives in Berlin", "The user's brother lives in Rome"]
    assert sorted(one["text"] for one in muniment("list", "--json").json["memories"]) == known


@pytest.mark.parametrize("row", ['{"type": "turn", "text": "I live in Porto."}', '{"type": "journal", "rev": 1}'])
def test_a_part_of_an_export(muniment: Muniment, row: str) -> None:
    """Without its beginning: what somebody said is no memory."""
    outcome = muniment("import", "-", "--format", "jsonl", said='{"text": "The user plays chess"}\n' + row)
    assert outcome.code == 2
    assert "line 2: field 'type'" in outcome.err
    assert "begins with its space" in outcome.err
    assert muniment("list").out == ""


BAD: list[tuple[str | bytes, str]] = [
    ("hunter2", "is no JSON (Expecting value, column 1)"),
    ('["hunter2"]', "a list given, an object like"),
    ('{"texts": "hunter2"}', "field 'text': is missing"),
    ('{"text": 5}', "field 'text': a whole number given, text wanted"),
    ('{"text": "!!!"}', "field 'text': text of 3 characters given, text with a word in it wanted"),
    ('{"text": "a", "category": "hunter2"}', "field 'category': text of 7 characters given, one of activity, "),
    ('{"text": "a", "kind": "hunter2"}', "field 'kind': text of 7 characters given, one of semantic, "),
    ('{"text": "a", "type": "hunter2"}', "field 'type': text of 7 characters given"),
    ('{"text": "a", "importance": -1}',
        "field 'importance': a negative number given, a whole number from 1 to 5 wanted"),
    ('{"text": "a", "importance": NaN}', "field 'importance': a number that is none given"),
    ('{"text": "a", "event_time": "hunter2"}', "field 'event_time': text of 7 characters given: not an ISO date"),
    ('{"text": "a", "tags": "hunter2"}', "field 'tags': text of 7 characters given, a list of texts wanted"),
    ('{"text": "a", "actor_id": ["hunter2"]}', "field 'actor_id': a list given, text wanted"),
    ('{"text": "a", "pinned": "hunter2"}', "field 'pinned': text of 7 characters given, true or false wanted"),
    ('{"text": "a", "actor_id": "hunter2 \\ud800"}', "field 'actor_id': has a NUL or half a character"),
    ('{"text": "a", "fact": {"kind": "hunter2", "predicate": "", "object": ""}}',
        "fact: field 'kind': text of 7 characters given"),
    ('{"text": "I am hunter2", "kind": "semantic"}', "field 'text': is in the first or second person: write"),
    ('{"text": "a", "importance": ' + "9" * 6000 + "}", "is no JSON (a number has too many digits)"),
    (b'{"text": "hunter2 \xe9"}', "is not UTF-8; convert it"),
]  # fmt: skip


def test_a_line_that_is_not_right(muniment: Muniment) -> None:
    """It is named with its field, what is there, and what is wanted, but not with its value; others are named by
    number; and nothing of the file is imported."""
    good = b'{"text": "The user plays chess"}\n'
    for row, told in BAD:
        raw = row if isinstance(row, bytes) else row.encode()
        outcome = muniment("import", "-", "--format", "jsonl", said=good + raw + b"\n\n" + raw + b"\n" + good)
        assert (outcome.code, outcome.out, "hunter2" in outcome.err) == (2, "", False), row
        assert outcome.err.startswith(f"muniment: error: standard input, line 2: {told}"), outcome.err
        assert outcome.err.endswith(
            "; line 4 is not right either; nothing was imported: mend the file and give the same command again\n"
        )
    error = muniment("import", "-", "--format", "jsonl", "--json", said=good + b'{"text": "a", "tags": 5}').json[
        "error"
    ]
    assert (error["type"], error["line"], error["field"], error["lines"]) == ("BadInput", 2, "tags", [2])
    assert muniment("list").out == ""


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"\x1f\x8b\x08\x00rest", "is compressed: unpack it first, as in `gunzip -c FILE"),
        ("[]".encode("utf-16"), "is UTF-16: convert it"),
        (b'[{"text": "a"}]\n', "a list given, an object like"),
        (b'[\n{"text": "a"},\n', "`jq -c '.[]'` makes lines of a list"),
    ],
)
def test_another_kind_of_file(muniment: Muniment, tmp_path: Path, content: bytes, told: str) -> None:
    """What the file is instead is said, and how to make one of lines of it."""
    file = tmp_path / "rows"
    file.write_bytes(content)
    outcome = muniment("import", str(file), "--format", "jsonl")
    assert (outcome.code, outcome.out) == (2, "")
    assert f"{file}, line 1: " in outcome.err
    assert told in outcome.err


def test_a_field_that_no_memory_has(muniment: Muniment) -> None:
    """The line is imported, and it is said what of it was not."""
    row = '{"text": "The user plays chess", "importanc": 5}'
    told = muniment("import", "-", "--format", "jsonl", said=row)
    assert (told.code, told.out) == (0, "me: 1 memory imported\n")
    assert told.err.startswith("not read: 'importanc'; the fields of a line are text, category, ")
    both = muniment("import", "-", "--format", "jsonl", "--user", "ben", "--json", said=f"{row}\n{row}").json
    assert both == {"imported": 1, "users": {"ben": 1}, "merged": [], "unused": [2], "not_read": {"importanc": 2}}


def test_an_import_that_is_interrupted(muniment: Muniment, environment: dict[str, str], tmp_path: Path) -> None:
    """Ctrl-C says how many memories are in; the same command goes on, and none is there twice."""
    file = tmp_path / "rows"
    words = ["".join(random.Random(n).choices(string.ascii_lowercase, k=7)) for n in range(4000)]
    file.write_text("".join(f'{{"text": "{" ".join(words[n : n + 4])}"}}\n' for n in range(0, 4000, 4)))
    command = [PROGRAM, "import", str(file), "--format", "jsonl"]
    with psycopg.connect(environment["MUNIMENT_OWNER_URL"], autocommit=True) as admin:
        running = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        while running.poll() is None and not _count(admin):
            time.sleep(0.01)
        running.send_signal(signal.SIGINT)
        out, err = running.communicate(timeout=20)
        kept = _count(admin)
        assert (running.returncode, out, 0 < kept < 1000) == (130, b"", True)
        assert int(err.split(b"at least ")[1].split()[0]) in (kept - 1, kept)
        assert b"give the same command again to go on from there" in err
        again = muniment("import", str(file), "--format", "jsonl", "--json").json["imported"]
        assert (kept + again, _count(admin)) == (1000, 1000)


def _count(admin: psycopg.Connection) -> int:
    there = admin.execute("select to_regclass('muniment.memories') is not null").fetchone()
    found = admin.execute("select count(*) from muniment.memories").fetchone() if there == (True,) else None
    return int(found[0]) if found else 0
