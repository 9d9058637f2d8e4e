"""`import --format memory-records` and `stats legacy`: what comes from a former design, and what is left of it."""

from __future__ import annotations

import json
from pathlib import Path

from tests.faces.conftest import Muniment

ROWS = [
    {"id": 1, "content": "The user prefers concise answers", "key": "user.preference.response_style",
     "metadata": {"fact": {"fact_kind": "preference", "value": "concise"}}, "importance": 0.5},
    {"id": 2, "content": "The user lives in Porto", "metadata": {"fact": {
        "fact_kind": "identity", "predicate": "lives_in", "object": "Porto", "single": True}}},
    {"id": 3, "content": "The user keeps bees in the garden", "created_at": "2024-05-01T10:00:00Z"},
    {"id": 4, "content": "The user owns a boat", "is_active": False},
]  # fmt: skip


def test_records_of_a_former_design(muniment: Muniment, tmp_path: Path) -> None:
    """Active rows become memories with a tag and a source, once; what a newer statement confirms is counted."""
    file = tmp_path / "records.jsonl"
    file.write_text("".join(f"{json.dumps(row)}\n" for row in ROWS), encoding="utf-8")
    command = ("import", str(file), "--format", "memory-records", "--json")
    assert muniment(*command).json["imported"] == 3
    before = muniment("export", "--content").out
    assert muniment(*command).json["imported"] == 0
    assert muniment("export", "--content").out == before
    memories = muniment("list", "--tag", "legacy", "--json").json["memories"]
    assert sorted(each["source"] for each in memories) == [f"memory_records/{n}" for n in (1, 2, 3)]
    report = muniment("stats", "legacy", "--json").json
    assert (report["total"], report["confirmed"], len(report["waiting"])) == (3, 0, 3)
    assert "0 of 3" in muniment("stats", "legacy").out
    query = ("query", "bees in the garden", "--agent", "supervisor", "--json")
    assert "bees" in muniment(*query).out
    settings = tmp_path / "own.yaml"
    settings.write_text("recall: {without_tags: {user: [legacy]}}\n", encoding="utf-8")
    without = muniment(*query, MUNIMENT_CONFIG=str(settings))
    assert (without.code, without.json["results"]) == (0, [])
    for text in ("I prefer concise answers", "I live in Oslo now"):
        assert muniment("remember", text).code == 0
    again = muniment(*command).json
    assert (again["imported"], again["merged"], again.get("not_read")) == (0, [], None)
    assert "The user lives in Oslo" in muniment("list").out
    left = muniment("stats", "legacy", "--json").json
    assert sorted(each["source"] for each in left["waiting"]) == ["memory_records/3"]
    assert (left["total"], left["confirmed"]) == (2, 1)
    homes = muniment("query", "Where do I live?", "--agent", "supervisor", "--json", MUNIMENT_CONFIG=str(settings))
    assert "Oslo" in homes.out
    bad = tmp_path / "bad.jsonl"
    bad.write_text('{"id": 1}\n', encoding="utf-8")
    refused = muniment("import", str(bad), "--format", "memory-records")
    assert (refused.code, "content: is missing" in refused.err) == (2, True)
