"""JSON of any size: one record at a time, whatever lies beside it, and no shape of it takes long or is lost unsaid."""

from __future__ import annotations

import json
from pathlib import Path
from time import process_time
from typing import Any

import pytest

from muniment.faces.importing import fields, json_records, spool
from muniment.faces.importing.fields import OTHER_NAMES, UnreadFields
from muniment.faces.importing.spool import RecordSpool
from muniment.memory.domain.layers.imports import ImportedMemory, ImportedMessage, OmittedRecord
from muniment.memory.errors import BadInput, TooLarge
from tests.importing.formats import read_all

SMALL = 2**18  # bytes of a record, for these tests


@pytest.fixture(autouse=True)
def small_records(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_records, "MAX_RECORD_BYTES", SMALL)


def write(path: Path, value: Any) -> Path:
    path.write_text(json.dumps(value), encoding="utf-8")
    return path


def test_a_list_behind_a_large_one(tmp_path: Path) -> None:
    """A record is bounded, and what lies before it in the file is not."""
    results = [{"id": f"m{number}", "memory": "word " * 2_000} for number in range(100)]
    relation = {"source": "ana", "relationship": "likes", "target": "tea"}
    # The first bytes of the file say what it holds; the large list lies between them and the relations.
    file = write(tmp_path / "m.json", {"relations": [relation], "results": results, "history": []})
    assert len(read_all(file)) == 101
    with pytest.raises(TooLarge, match="record 1"):
        read_all(write(tmp_path / "x.json", {"results": [{"id": "a", "memory": "x" * 2 * SMALL}]}), "mem0")


def test_an_agent_of_any_size(tmp_path: Path) -> None:
    """The messages of an agent are read one by one, in both layouts, also where its name stands behind them."""
    messages = [
        {"id": f"m{number}", "role": "user", "content": "word " * 2_000, "created_at": "2025-01-01T00:00:00Z"}
        for number in range(100)
    ]
    block = {"label": "human", "value": "Likes tea in the evening"}
    one = {"agent_type": "memgpt_agent", "core_memory": [block], "messages": messages, "name": "otto"}
    two = {"agents": [{"messages": messages, "id": f"agent-{number}"} for number in range(2)], "blocks": [block]}
    first = read_all(write(tmp_path / "one.af", one))
    assert [type(each) for each in first] == [ImportedMemory, *[ImportedMessage] * 100]
    assert {each.conversation for each in first if isinstance(each, ImportedMessage)} == {"otto"}
    second = [each for each in read_all(write(tmp_path / "two.af", two)) if isinstance(each, ImportedMessage)]
    assert [each.conversation for each in second] == ["agent-0"] * 100 + ["agent-1"] * 100
    assert second[100].place == "two.af, agent 2, message 1"


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        ({"agent_type": "x", "core_memory": [], "messages": {"a": 1}}, "field 'messages': a list wanted"),
        ({"agents": ["x"], "blocks": []}, "an object wanted"),
        ({"agents": [{"memory_blocks": "x"}], "blocks": []}, "field 'memory_blocks': a list wanted"),
    ],
)
def test_a_part_of_another_shape_is_not_lost(tmp_path: Path, value: Any, wanted: str) -> None:
    """What is no list where one is wanted is an error, and not an empty list."""
    with pytest.raises(BadInput, match=wanted):
        read_all(write(tmp_path / "agent.af", value))


@pytest.mark.parametrize("opening", ["[", '{"a":'])
def test_what_is_nested_deeply_takes_no_time(tmp_path: Path, opening: str) -> None:
    """The time to read values within values grows with the square of their depth, and so it is bounded."""
    file = tmp_path / "deep.json"
    file.write_text(opening * 300_000)
    began = process_time()
    for layout in ("mem0", "letta", None):
        with pytest.raises(BadInput, match=r"nested more than 256|format is not known"):
            read_all(file, layout)
    assert process_time() - began < 5


def test_a_history_of_any_length(tmp_path: Path) -> None:
    """Of each memory of a history the words after its last change are kept, whatever stands between its changes."""
    rows = [
        {
            "id": f"{turn}-{n}",
            "memory_id": f"m{n}",
            "old_memory": None if not turn else f"Owns boat {n}",
            "new_memory": f"Owns boat {n}" if not turn else f"Owns ship {n}",
            "event": "UPDATE" if turn else "ADD",
            "created_at": f"2024-01-0{turn + 1}T00:00:00Z",
            "updated_at": None,
            "is_deleted": 0,
        }
        for turn in range(2)
        for n in range(300)
    ]
    found = read_all(write(tmp_path / "history.json", rows))
    kept = [one for one in found if isinstance(one, ImportedMemory)]
    assert len([one for one in kept if one.ended_at is None and one.text.startswith("Owns ship")]) == 300
    assert len([one for one in kept if one.ended_at is not None and one.text.startswith("Owns boat")]) == 300
    assert len([one for one in found if isinstance(one, OmittedRecord)]) == 300


def test_names_of_fields_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """A file whose every field has a name of its own takes no memory for them, and each is counted."""
    monkeypatch.setattr(fields, "_MAX_NAMES", 3)
    unread = UnreadFields()
    unread.note_names(f"field {number}" for number in range(10))
    unread.note_names(["field 1"])
    assert unread.counts == {"field 0": 1, "field 1": 2, "field 2": 1, OTHER_NAMES: 7}


def test_a_batch_is_bounded_by_its_words(monkeypatch: pytest.MonkeyPatch) -> None:
    """Long records are kept in smaller batches, each of them once."""
    monkeypatch.setattr(spool, "_BATCH_CHARS", 1_000)
    records = [
        ImportedMemory(place=f"{number}", origin="mem0", key=f"{number}", text="word " * 100) for number in range(10)
    ]
    with RecordSpool() as waiting:
        waiting.take_records(records)
        batches = list(waiting.read_batches())
    assert [len(batch.memories) for batch in batches] == [2] * 5
    assert [one.key for batch in batches for one in batch.memories] == [one.key for one in records]
