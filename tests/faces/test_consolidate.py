"""`muniment consolidate`: what a person sees of a run, and how they take it back."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.faces.conftest import Muniment

ROWS: list[dict[str, Any]] = [
    {"text": "The user waters the tomatoes on the balcony", "importance": 4},
    {"text": "The user reads a book about bees"},
    {"text": "The user waters the tomatoes on the balcony.", "tags": ["garden"]},
]


@pytest.fixture
def twins(muniment: Muniment, tmp_path: Path) -> Callable[[str], None]:
    """Fills a user's memory with the rows, by the way that merges nothing."""

    def fill(user: str) -> None:
        source = tmp_path / f"{user}.json"
        turns = [{"speaker": "ana", "dia_id": f"D1:{n}", "text": row["text"]} for n, row in enumerate(ROWS)]
        talk = {
            "session_1_date_time": "1:00 pm on 4 May, 2026",
            "session_1": turns,
            "speaker_a": "ana",
            "speaker_b": "b",
        }
        source.write_text(json.dumps([{"sample_id": user, "conversation": talk, "qa": []}]))
        assert muniment("import", str(source), "--format", "locomo", "--user", user).code == 0

    return fill


def listed(muniment: Muniment, user: str = "ana") -> list[str]:
    return sorted(one["text"] for one in muniment("list", "--user", user, "--json").json["memories"])


def test_shown_done_and_taken_back(muniment: Muniment, twins: Callable[[str], None], tmp_path: Path) -> None:
    """A dry run writes nothing; a run is told in words; after its undo the content is the same to the byte."""
    twins("ana")
    before, after = tmp_path / "before", tmp_path / "after"
    assert muniment("export", "--user", "ana", "--content", str(before)).code == 0
    dry = muniment("consolidate", "--user", "ana", "--dry-run")
    assert dry.code == 0
    assert "same\trules\t1.00" in dry.out
    assert dry.out.endswith("Nothing was changed (--dry-run).\n")
    assert muniment("consolidate", "--user", "ana", "--runs").out == "The memory of 'ana' was never consolidated.\n"

    done = muniment("consolidate", "--user", "ana")
    assert done.code == 0
    assert done.out.startswith(
        "1 pair found, 1 checked: 1 merged, 0 superseded, 0 different. Duplicates by the rules: 1 before, 0 after.\n"
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
    assert muniment("consolidate", "--user", "ana", "--undo", "0000").code == 4
    assert muniment("consolidate", "--user", "ana", "--undo", "x").code == 2


def test_everybody_of_a_tenant(muniment: Muniment, twins: Callable[[str], None]) -> None:
    """Each space that had something has a line, and the last line has the sum; another tenant is not touched."""
    for user in ("ana", "ben"):
        twins(user)
    told = muniment("consolidate", "--tenant", "default").out.splitlines()
    assert [line.split(":")[0] for line in told[:2]] == ["ana", "ben"]
    assert told[2] == "2 spaces, 2 pairs checked, 2 merged, 0 superseded."
    assert muniment("consolidate", "--tenant", "other").out.startswith("0 spaces")
    assert [one["checked"] for one in muniment("consolidate", "--all", "--json").lines[:2]] == [0, 0]


@pytest.mark.parametrize(
    "options",
    [("--user", "a", "--all"), ("--undo", "abcd", "--runs"), ("--undo", "abcd", "--all"), ("--limit", "0")],
)
def test_what_makes_no_sense_is_refused(muniment: Muniment, options: tuple[str, ...]) -> None:
    """Options that contradict each other are bad input, and nothing is done."""
    assert muniment("consolidate", *options).code == 2
