"""`muniment refile`: what a person is told about memories that move to another category."""

from __future__ import annotations

import json
from pathlib import Path

from tests.faces.conftest import Muniment


def test_moved_and_taken_back(muniment: Muniment) -> None:
    """Counts by category, for one user and for all; nothing to do is said in words."""
    for category, text in (("profile", "I am allergic to peanuts"), ("profile", "I speak French")):
        assert muniment("remember", text, "--user", "ana", "--category", category).code == 0

    def said(*options: str) -> str:
        outcome = muniment("refile", *options)
        assert (outcome.code, outcome.err) == (0, "")
        return outcome.out

    moved = "1 from profile to constraints\n1 from profile to knowledge\n"
    assert said("--user", "ana", "--dry-run") == moved
    assert said("--all") == moved
    assert said("--all") == "Nothing was to be moved.\n"
    assert said("--all", "--dry-run") == "Nothing is to be moved.\n"
    assert json.loads(said("--user", "ana", "--undo", "--json")) == {
        "spaces": [
            {
                "user": "ana",
                "owner_type": "user",
                "moved": [
                    {"from": "constraints", "to": "profile", "memories": 1},
                    {"from": "knowledge", "to": "profile", "memories": 1},
                ],
            }
        ]
    }


def test_refusals(muniment: Muniment, tmp_path: Path) -> None:
    """Own allowlists, and two answers to the question whose memories."""
    own = tmp_path / "memory.yaml"
    own.write_text("allowlists: {planner: [goals]}\n")
    outcome = muniment("refile", MUNIMENT_CONFIG=str(own))
    assert (outcome.code, outcome.out) == (5, "")
    assert "nothing was refiled" in outcome.err
    assert muniment("refile", "--all", "--user", "ana").code == 2
