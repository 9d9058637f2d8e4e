"""`muniment index`: what a person is told about the indexes of large memories."""

from __future__ import annotations

from pathlib import Path

import psycopg
import pytest

from muniment.memory.stores.postgres.schema import large_spaces
from tests.faces.conftest import Muniment


@pytest.fixture
def from_two(tmp_path: Path) -> str:
    """Settings by which a memory of two is large."""
    path = tmp_path / "memory.yaml"
    path.write_text("recall: {index_from: 2}\n")
    return str(path)


def remembered(muniment: Muniment, user: str) -> None:
    for text in ("I am allergic to peanuts", "My goal is to run a marathon"):
        assert muniment("remember", text, "--user", user).code == 0


def test_made_kept_and_dropped(muniment: Muniment, from_two: str) -> None:
    """Each state of a memory's indexes has its sentence, and what has none is not said to be small."""
    remembered(muniment, "ana")

    def said(*options: str, tuned: str = from_two) -> str:
        outcome = muniment("index", *options, MUNIMENT_CONFIG=tuned)
        assert (outcome.code, outcome.err) == (0, "")
        return outcome.out

    assert said("--user", "ana", "--drop") == "ana: 2 memories, not indexed\n"
    assert said("--all", "--drop") == "Nobody has indexes.\n"
    assert said("--user", "ana") == "ana: 2 memories, indexed anew\n"
    assert said("--all") == "ana: 2 memories, indexed already\n"
    assert said("--user", "ana", "--drop") == "ana: 2 memories, indexes dropped\n"
    assert said("--user", "ana", tuned="") == "ana: 2 memories, not indexed: below 5,000 every memory is read\n"
    assert said("--all", tuned="") == "Nobody has 5,000 memories.\n"


def test_no_room_is_told(muniment: Muniment, from_two: str, database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who gets no indexes because others have them all is told so, alone and with everybody."""
    monkeypatch.setattr(large_spaces, "INDEXES", 1)
    for user in ("ana", "ben"):
        remembered(muniment, user)
    assert muniment("index", "--user", "ana", MUNIMENT_CONFIG=from_two).code == 0
    with psycopg.connect(database_url) as admin:
        assert admin.execute("select count(*) from pg_indexes where indexname like 'memories_near_%'").fetchone() == (
            1,
        )
    full = "ben: 2 memories, not indexed: as many spaces have indexes as writes can bear; drop another's\n"
    assert muniment("index", "--user", "ben", MUNIMENT_CONFIG=from_two).out == full
    assert full in muniment("index", "--all", MUNIMENT_CONFIG=from_two).out
