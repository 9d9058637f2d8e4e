"""The formats of other memories: each version is read whole, what is broken is named, and damage is no crash."""

from __future__ import annotations

import json
import tempfile
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from muniment.faces.importing.formats import ImportFiles, choose_format
from muniment.faces.importing.registry import FORMATS
from muniment.faces.importing.sources import open_source
from muniment.memory.domain.layers.imports import ImportedMemory, ImportedMessage, ImportRecord, OmittedRecord
from muniment.memory.errors import BadInput, MunimentError
from tests.importing.formats import EXPECTED, FIXTURES, NOW, read_all

BROKEN = {
    "chatgpt.json": ("conversation 1", "parent"),
    "claude.json": ("conversation 2, message 1", "uuid"),
    "mem0.json": ("record 2", "memory"),
    "langgraph-store.json": ("record 2", "namespace"),
    "langmem.json": ("record 2", "key"),
    "letta.af": ("agent 1, block 1", "value"),
    "graphiti.json": ("facts 2", "valid_at"),
    "markdown.md": ("line 3", "front matter"),
}


def memories(records: list[ImportRecord]) -> list[ImportedMemory]:
    return [one for one in records if isinstance(one, ImportedMemory)]


def messages(records: list[ImportRecord]) -> list[ImportedMessage]:
    return [one for one in records if isinstance(one, ImportedMessage)]


def test_every_fixture_has_its_counts() -> None:
    """There is a fixture of each format's versions, and no fixture without expectations."""
    there = {f"{one.parent.name}/{one.name}" for one in FIXTURES.glob("*/*") if one.is_dir()}
    assert there == set(EXPECTED)
    assert {name.partition("/")[0] for name in there} == set(FORMATS)


@pytest.mark.parametrize("name", EXPECTED)
def test_a_version_is_recognized_and_read_whole(name: str) -> None:
    """Every importer has a fixture of each format version: without its name it is recognized, and each record of it is
    a memory, a message, or left out with a reason."""
    with open_source(str(FIXTURES / name)) as files:
        source = ImportFiles(files, NOW)
        format_ = choose_format(FORMATS, source, None)
        assert format_.name == name.partition("/")[0]
        records = list(format_.read(source))
    counts = Counter(type(record) for record in records)
    assert (counts[ImportedMemory], counts[ImportedMessage], counts[OmittedRecord]) == EXPECTED[name]
    assert all(record.place for record in records)
    assert all(one.reason for one in records if isinstance(one, OmittedRecord))


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_file_names_the_record_and_the_field(name: str) -> None:
    """Every importer has a broken fixture: the error names the file, the record and the field."""
    place, field = BROKEN[name]
    with pytest.raises(BadInput) as raised:
        read_all(FIXTURES / "broken" / name)
    assert str(raised.value).startswith(f"{name}, {place}")
    assert field in str(raised.value)


def test_the_branch_that_was_followed() -> None:
    """Of a tree of ChatGPT the branch of `current_node` is what was said; saved memories and instructions are memories,
    and a message without a time has that of the one before it."""
    records = read_all(FIXTURES / "chatgpt/2026")
    travel = [one for one in messages(records) if one.conversation == "c-0001"]
    assert [one.key for one in travel] == ["u1", "a1", "u2", "a2", "u3"]
    assert travel[2].text == "This is my dog Bruno."
    assert travel[-1].at == travel[-2].at
    saved = {one.key: one for one in memories(records)}
    assert saved["bio"].text == "User is vegetarian."
    assert saved["custom-instructions"].text.splitlines() == [
        "I teach chemistry at a school in Porto.",
        "Answer briefly.",
    ]
    assert "regenerated" not in "".join(one.text for one in travel)


def test_what_ended_has_its_end() -> None:
    """Facts of Graphiti that became invalid, memories of mem0 that expired, and words of a history that a change
    replaced are known as past."""
    facts = {one.key: one for one in memories(read_all(FIXTURES / "graphiti/facts"))}
    assert facts["g1"].ended_at == datetime(2024, 1, 1, tzinfo=UTC)
    assert (facts["g2"].at, facts["g2"].ended_at) == (datetime(2024, 1, 1, tzinfo=UTC), None)
    history = [(one.text, one.ended_at is None) for one in memories(read_all(FIXTURES / "mem0/history"))]
    assert history == [("Lives in Oslo", False), ("Lives in Rome", True), ("Owns a boat", False)]
    both = [one.text for one in memories(read_all(FIXTURES / "mem0/both"))]
    assert both == ["Lives in Rome", "Lives in Oslo", "Owns a boat"]  # the present words once


def test_a_history_of_several_users_has_the_owners_of_its_memories(tmp_path: Path) -> None:
    """A history of mem0 holds the changes of all users of an installation, and names none: a change is the owner's of
    its memory, and one of a memory that is not there is nobody's where there are several owners; so is a relation."""
    changes = [
        {"memory_id": id_, "old_memory": old, "new_memory": f"{old} no more", "created_at": "2024-01-01T00:00:00Z"}
        for id_, old in (("a", "Rents a cello"), ("b", "Rents a harp"), ("gone", "Owns a boat"))
    ]
    relations = [{"source": "ana", "relationship": "lives_in", "target": "rome"}]
    held = [
        {"id": id_, "memory": f"Likes {id_}", "user_id": owner, "created_at": "2024-02-01T00:00:00Z"}
        for id_, owner in (("a", "ana"), ("b", "ben"))
    ]
    (tmp_path / "history.json").write_text(json.dumps(changes))
    for several in (True, False):
        content = {"results": held if several else held[:1], "relations": relations}
        (tmp_path / "memories.json").write_text(json.dumps(content))
        records = read_all(tmp_path)
        owners = {one.text: one.owner for one in memories(records)}
        reasons = [one.reason for one in records if isinstance(one, OmittedRecord)]
        assert owners["Rents a cello"] == "ana"
        if several:
            assert owners["Rents a harp"] == "ben"
            assert reasons == ["of nobody that is known, in a file with several owners"] * 2
            assert {"ana lives in rome", "Owns a boat"}.isdisjoint(owners)
        else:
            assert owners.keys() == {"Likes a", "ana lives in rome", "Rents a cello", "Rents a harp", "Owns a boat"}
            assert set(owners.values()) == {"ana"}


def test_values_of_a_store() -> None:
    """A text of a value is the memory, and what stands beside it are tags; a value without one is written whole."""
    items = {one.key: one for one in memories(read_all(FIXTURES / "langgraph-store/items"))}
    assert items["memories/ana/b"].tags == ("mood: calm",)
    assert items["memories/ana/c"].text == "food preference: I like pizza\nlanguage: en"
    rows = memories(read_all(FIXTURES / "langgraph-store/rows"))
    assert {one.owner for one in rows} == {"memories/ana"}
    kinds = memories(read_all(FIXTURES / "langmem/store"))
    assert kinds[1].tags == ("kind: UserProfile",)
    assert kinds[1].text == 'name: Ana\nlanguages: ["Portuguese", "English"]'


def test_messages_of_letta() -> None:
    """The system's own messages are left out, and an agent says what its speaking tool was given."""
    said = messages(read_all(FIXTURES / "letta/v1"))
    assert [(one.role, one.text) for one in said][:2] == [
        ("user", "I live in Ghent."),
        ("assistant", "Nice to meet you."),
    ]
    blocks = [(one.role, one.text) for one in memories(read_all(FIXTURES / "letta/v1"))]
    assert blocks[0] == ("user", "The user's name is Chad.")
    assert blocks[-1] == ("assistant", "I am a helpful companion.")


def test_notes_have_links_tags_dates_and_headings() -> None:
    """A link between notes is its words; the front matter gives tags and the date; a word alone stands under its
    heading, and a saved memory with a day before it has that day."""
    ben, *_ = memories(read_all(FIXTURES / "markdown/obsidian/People"))
    assert ben.text == "Ben works at Acme Inc and lives in Oslo. #friend"
    assert set(ben.tags) >= {"person", "friend"}
    assert ben.at == datetime(2024, 3, 1, tzinfo=UTC)
    found = {one.text: one for one in memories(read_all(FIXTURES / "markdown/memory"))}
    assert found["Preferences: Chess"].context == "MEMORY > Memory > Preferences"
    assert found["User adopted a cat"].at == datetime(2024, 5, 1, tzinfo=UTC)


def test_a_file_that_nothing_recognizes(tmp_path: Path) -> None:
    """The error lists the formats."""
    file = tmp_path / "x.json"
    file.write_text('{"a": 1}')
    with pytest.raises(BadInput, match="chatgpt, claude, mem0, langgraph-store, langmem, letta, graphiti, markdown"):
        read_all(file)


_SEEDS = sorted(
    one
    for one in FIXTURES.rglob("*")
    if one.is_file() and one.suffix in (".json", ".jsonl", ".af", ".md") and ".obsidian" not in one.parts
)
_VALUES: list[Any] = [None, True, 5, -1, 1e300, "", "x", "\0", [], [None], {}, {"a": {}}, "9999-99-99"]


@settings(max_examples=100, deadline=None)
@given(data=st.data())
def test_damaged_bytes_are_no_crash(data: st.DataObject) -> None:
    """Bytes of a file that are lost or changed end in records or in an error of the product's own."""
    seed = data.draw(st.sampled_from(_SEEDS))
    raw = bytearray(seed.read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(raw) - 1))
        if data.draw(st.booleans()):
            del raw[at : at + data.draw(st.integers(1, 200))]
        else:
            raw[at : at + 1] = data.draw(st.binary(min_size=1, max_size=4))
        if not raw:
            break
    _read_damaged(seed, bytes(raw))


@settings(max_examples=100, deadline=None)
@given(data=st.data())
def test_values_of_other_kinds_are_no_crash(data: st.DataObject) -> None:
    """A field with a value of another kind ends in records or in an error of the product's own."""
    seed = data.draw(st.sampled_from([one for one in _SEEDS if one.suffix in (".json", ".af")]))
    content = json.loads(seed.read_text(encoding="utf-8"))
    spots: list[tuple[Any, Any]] = []
    waiting = [content]
    while waiting:
        one = waiting.pop()
        keys = list(one) if isinstance(one, dict) else range(len(one)) if isinstance(one, list) else []
        spots += [(one, key) for key in keys]
        waiting += [one[key] for key in keys]
    holder, key = data.draw(st.sampled_from(spots))
    holder[key] = data.draw(st.sampled_from(_VALUES))
    _read_damaged(seed, json.dumps(content).encode())


def _read_damaged(seed: Path, raw: bytes) -> None:
    group = seed.relative_to(FIXTURES).parts[0]
    layout = seed.stem if group == "broken" else group
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / seed.name
        file.write_bytes(raw)
        for chosen in (layout, None):
            try:
                records = read_all(file, chosen)
            except MunimentError as error:
                assert len(str(error)) < 600  # noqa: PT017 - most damage is an error, some is none
            else:
                assert all(one.place for one in records)
