"""The benchmark of the bands: every pair is judged as a write would, and the worst errors are told."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchmarks import bands

SOME: list[dict[str, Any]] = [
    {"a": {"statement": "The user lives in Porto", "kind": "identity", "predicate": "lives_in", "object": "Porto",
        "single": True},
     "b": {"statement": "The user lives in Braga", "kind": "identity", "predicate": "lives_in", "object": "Braga",
         "single": True},
     "label": "supersedes"},
    {"a": {"statement": "Met Anna Keller in Basel"}, "b": {"statement": "Met Anna Huber in Basel"},
        "label": "different"},
    {"a": {"statement": "The user rows"}, "b": {"statement": "The user rows."}, "label": "same"},
    {"a": {"statement": "会议在周一开"}, "b": {"statement": "会议不在周一开"}, "label": "supersedes", "lang": "zh"},
]  # fmt: skip


@pytest.fixture
def measured(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> Callable[..., dict[str, Any]]:
    """Run the command on pairs, with the embedder that needs no model, and read its one JSON object."""
    monkeypatch.setenv("MUNIMENT_EMBEDDER", "hash-256")

    def run(pairs: list[dict[str, Any]], *more: str) -> dict[str, Any]:
        file = tmp_path / "pairs.jsonl"
        usual = {"lang": "en", "theme": "names", "half": "tune"}
        file.write_text(
            "".join(json.dumps(usual | {"id": str(n)} | one) + "\n" for n, one in enumerate(pairs)), encoding="utf-8"
        )
        assert bands.main([str(file), "--json", *more]) == 0
        found: dict[str, Any] = json.loads(capsys.readouterr().out)
        return found

    return run


def test_right_verdicts_are_counted(measured: Callable[..., dict[str, Any]]) -> None:
    """Four clear pairs are judged as labelled, in every table the same."""
    half = measured(SOME, "--half", "tune")["halves"]["tune"]
    assert (half["pairs"], half["all"]["right"], half["worst"], half["other_errors"]) == (4, 4, [], [])
    assert half["all"]["confusion"]["supersedes"] == {"same": 0, "supersedes": 2, "different": 0}
    assert half["all"]["same"] == {"precision": 1.0, "recall": 1.0}
    assert sum(part["pairs"] for part in half["bands"].values()) == 4
    assert half["languages"]["zh"]["pairs"] == 1


def test_the_worst_errors_are_told(measured: Callable[..., dict[str, Any]]) -> None:
    """A label that no rule can reach is an error; a lost correction and two things in one memory are the worst."""
    lost = SOME[1] | {"label": "supersedes"}
    merged = SOME[2] | {"label": "different", "theme": "near-miss-person"}
    half = measured([lost, merged, SOME[0] | {"label": "same"}])["halves"]["tune"]
    assert [one["error"] for one in half["worst"]] == ["a correction lost", "two people merged"]
    assert half["worst"][0]["known"] == "Met Anna Keller in Basel"
    assert [one["verdict"] for one in half["other_errors"]] == ["supersedes"]


def test_the_held_out_half_has_no_say(measured: Callable[..., dict[str, Any]]) -> None:
    """Thresholds come from the tune half alone, and lie in order."""
    held = [one | {"half": "held-out"} for one in SOME]
    found = measured(SOME + held)
    assert found["halves"]["held-out"]["pairs"] == found["halves"]["tune"]["pairs"] == 4
    assert measured(SOME)["proposed"] == found["proposed"]
    assert found["proposed"]["fallback"] <= found["proposed"]["check"] <= found["proposed"]["auto"]
    assert measured(SOME + held, "--half", "held-out")["proposed"] is None


def test_a_line_that_is_no_pair_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A broken file ends with 1 and one line that says where."""
    file = tmp_path / "pairs.jsonl"
    file.write_text('{"id": "x"}\n', encoding="utf-8")
    assert bands.main([str(file)]) == 1
    assert "line 1" in capsys.readouterr().err


def test_the_pairs_are_what_they_say() -> None:
    """At least 400 pairs; each label in both languages and halves, each theme too, and no pair twice."""
    pairs = bands.read(bands.PAIRS)
    assert len(pairs) >= 400
    assert len({(one.known.text, one.new.text) for one in pairs}) == len({one.id for one in pairs}) == len(pairs)
    for part in ("label", "theme"):
        names = {getattr(one, part) for one in pairs}
        seen = {(getattr(one, part), one.lang, one.half) for one in pairs}
        assert seen == {(name, lang, half) for name in names for lang in ("en", "zh") for half in bands.HALVES}
