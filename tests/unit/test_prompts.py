"""The prompts: each with a version, and with what the requirements want said in it."""

from __future__ import annotations

import pytest

from muniment.memory.prompts import load_prompt
from muniment.memory.rules.episodes.insight_answer import INSIGHTS_SCHEMA
from muniment.memory.rules.extraction.model_answer import FACTS_SCHEMA
from muniment.memory.rules.extraction.validate import SUMMARY_RULES
from muniment.memory.rules.statements.predicates import KINDS


@pytest.mark.parametrize("name", ["extract", "insight"])
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
    insight = INSIGHTS_SCHEMA["properties"]["insights"]["items"]["properties"]
    assert all(f'"{name}"' in load_prompt("insight").text for name in insight)
