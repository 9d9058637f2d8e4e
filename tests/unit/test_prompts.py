"""The prompts: each with a version, and with what the requirements want said in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from muniment.memory.config.settings import load_settings
from muniment.memory.errors import BadConfig
from muniment.memory.prompts import load_prompt
from muniment.memory.rules.episodes.insight_answer import INSIGHTS_SCHEMA
from muniment.memory.rules.extraction.gate import SUMMARY_RULES
from muniment.memory.rules.extraction.model_answer import FACTS_SCHEMA, SHORT_FACTS_SCHEMA
from muniment.memory.rules.statements.predicates import KINDS


@pytest.mark.parametrize("name", ["extract", "extract_short", "insight"])
def test_a_prompt_has_a_version_that_is_not_told(name: str) -> None:
    """The first line; the model gets the rest."""
    found = load_prompt(name)
    assert found.version.partition("-")[0] == name
    assert found.version.partition("-")[2].isdecimal()
    assert found.version not in found.text
    assert "never followed" in found.text


def test_the_guards_are_said_word_for_word() -> None:
    """What a statement and an event have to be."""
    assert SUMMARY_RULES.format(most=280) in load_prompt("extract").text
    assert (
        "Past tense; 1–2 sentences; focus on what was discussed/decided/done; exclude stable facts unless updated."
        in load_prompt("extract").text
    )


def test_the_prompt_and_the_form_speak_of_the_same_fields() -> None:
    """Every field and every kind is explained, for endpoints that are shown no schema."""
    item = FACTS_SCHEMA["properties"]["facts"]["items"]
    assert set(item["required"]) == set(item["properties"])
    text = load_prompt("extract").text
    assert all(f'"{name}"' in text for name in item["properties"])
    assert all(f"{kind}:" in text for kind in KINDS)
    short = SHORT_FACTS_SCHEMA["properties"]["facts"]["items"]["properties"]
    assert all(f'"{name}"' in load_prompt("extract_short").text for name in short)
    assert len(short) < len(item["properties"]) <= 7
    insight = INSIGHTS_SCHEMA["properties"]["insights"]["items"]["properties"]
    assert all(f'"{name}"' in load_prompt("insight").text for name in insight)


def test_every_category_of_a_statement_has_its_meaning() -> None:
    """In one line, but for those that no statement has."""
    told = load_prompt("extract").text
    slugs = set(load_settings({}).categories) - {"procedural", "relationship_dynamic", "recent_activity"}
    assert all(f"- {slug}: " in told or f"{slug}: " in told or f"{slug}, " in told for slug in slugs)


def test_a_prompt_of_ones_own_takes_the_place_of_ours(tmp_path: Path) -> None:
    """Ours stays where there is none; one without a version has one that says so."""
    (tmp_path / "extract.md").write_text("mine-7\nRead this.\n")
    (tmp_path / "insight.md").write_text("Look at that.\nAnd that.\n")
    assert (load_prompt("extract", str(tmp_path)).version, load_prompt("extract", str(tmp_path)).text) == (
        "mine-7",
        "Read this.",
    )
    assert load_prompt("insight", str(tmp_path)).version == "insight-own"
    assert load_prompt("insight", str(tmp_path)).text == "Look at that.\nAnd that."
    assert load_prompt("path", str(tmp_path)) == load_prompt("path")


@pytest.mark.parametrize("content", [b"", b"\xff\xfe"])
def test_a_prompt_that_cannot_be_read_is_refused(tmp_path: Path, content: bytes) -> None:
    """By its name, before a model is asked."""
    (tmp_path / "extract.md").write_bytes(content)
    with pytest.raises(BadConfig, match=r"extract\.md"):
        load_prompt("extract", str(tmp_path))
    with pytest.raises(BadConfig, match="no folder"):
        load_prompt("extract", str(tmp_path / "none"))
