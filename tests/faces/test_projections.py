"""`projections` and `skills`: what memories say slot by slot, where it comes from, and what waits for a review."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

from tests.engine import engine
from tests.faces.conftest import Muniment
from tests.sessions import PARSER, after, learned


def find_skills(url: str) -> None:
    """Let an agent find out how something is done."""

    async def work() -> None:
        async with engine(url, clock=after()) as memory:
            await learned(memory, PARSER, owner="me")

    asyncio.run(work())


def test_slots_and_their_lineage(muniment: Muniment) -> None:
    """Listed, shown by the memory, followed back to the turn, and the same when made anew."""
    muniment("chat", said="I live in Porto.\nI live in Oslo now.\n")
    [row] = muniment("projections", "list", "--type", "user_profile", "--json").json
    assert (row["key"], row["status"], row["data"]["value"]) == ("lives_in", "active", "Oslo")
    assert "The user lives in Oslo" in muniment("projections", "list").out
    assert row["id"] in muniment("projections", "show", row["id"][:8]).out
    [shown] = muniment("projections", "show", row["id"], "--json").json
    assert shown == row
    lineage = muniment("show", row["memory"], "--lineage", "--json").json["lineage"]
    assert [turn["text"] for turn in lineage["turns"]][-1] == "I live in Oslo now."
    assert [each["id"] for each in lineage["projections"]] == [row["id"]]
    told = muniment("show", row["memory"], "--lineage").out
    assert [line.split()[0] for line in told.splitlines() if line.startswith(("turn ", "memory ", "projection "))][
        -2:
    ] == [
        "memory",
        "projection",
    ]
    assert muniment("projections", "rebuild", "--json").json["changed"] == 0
    assert muniment("projections", "conflicts").out == ""
    assert muniment("projections", "list", "--type", "nothing").code != 0
    assert muniment("projections", "list", "--status", "nothing").code != 0
    assert muniment("projections", "show", "ffff").code == 4


def test_a_conflict_is_shown(muniment: Muniment, tmp_path: Path) -> None:
    """Two files that say different things of one slot: both are listed, the later first."""
    rows = [
        {
            "text": f"The user works at {firm}",
            "category": "profile",
            "trust": "document",
            "kind": "semantic",
            "fact": {"kind": "identity", "predicate": "employer", "object": firm, "single": False},
        }
        for firm in ("Acme", "Globex")
    ]
    for n, row in enumerate(rows):
        file = tmp_path / f"{n}.jsonl"
        file.write_text(json.dumps(row), encoding="utf-8")
        assert muniment("import", "--format", "jsonl", str(file)).code == 0
    disputed = muniment("projections", "conflicts", "--json").json
    assert [(each["status"], each["data"]["value"]) for each in disputed] == [
        ("active", "Globex"),
        ("conflict", "Acme"),
    ]
    assert len(disputed[0]["memories"]) == 2
    assert muniment("forget", disputed[1]["memory"]).code == 0
    assert muniment("projections", "conflicts", "--json").json == []


def test_skills_are_reviewed_and_exported(muniment: Muniment, database_url: str, tmp_path: Path) -> None:
    """What waits is listed, published and a file then; what is rejected is listed with --all."""
    find_skills(database_url)
    [skill] = muniment("skills", "list", "--json").json
    assert skill["status"] == "pending"
    assert "parse_pdf" in muniment("skills", "show", skill["id"][:8]).out
    folder = tmp_path / "skills"
    assert muniment("skills", "export", str(folder)).out.startswith("0 skills")
    assert muniment("skills", "publish", skill["id"][:8]).out.startswith("published ")
    assert "published" in muniment("skills", "list").out
    assert muniment("skills", "publish", skill["id"]).code != 0
    [name] = muniment("skills", "export", str(folder), "--json").json["skills"]
    text = (folder / name / "SKILL.md").read_text(encoding="utf-8")
    assert text.startswith(f'---\nname: {name}\ndescription: "How to reach: ')
    assert muniment("skills", "reject", skill["id"]).out.startswith("rejected ")
    assert muniment("skills", "list").out == ""
    assert "rejected" in muniment("skills", "list", "--all").out
