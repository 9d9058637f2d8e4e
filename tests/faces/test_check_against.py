"""`muniment check --against`: each kind of another configuration, end to end, with its differences line by line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from muniment.memory import prompts
from muniment.testing.openai_server import ScriptedOpenAI, structured
from tests.checking import make_case, write
from tests.faces.conftest import Muniment

MARK = "Bees are worth keeping."
SAID = [{"user": "So the bees and I had a good year in the garden."}]
BEES = {
    "statement": "The user keeps bees", "category": "activity", "kind": "experience", "predicate": "keeps",
    "object": "bees", "quote": "the bees and I had a good year",
}  # fmt: skip


def copy_prompts(folder: Path, added: str) -> str:
    """The prompts of this package in a folder, each with a line more."""
    folder.mkdir()
    for file in Path(prompts.__file__).parent.glob("*.md"):
        (folder / file.name).write_text(f"{file.read_text(encoding='utf-8').rstrip()}\n{added}\n", encoding="utf-8")
    return str(folder)


def list_differences(outcome: Any) -> list[tuple[str, str, str]]:
    return [(each["own"], each["other"], each["assertion"]) for each in outcome.json["differences"]]


def test_other_prompts(muniment: Muniment, tmp_path: Path) -> None:
    """What a model keeps by other prompts is compared assertion by assertion, in JSON and in the text."""

    def reply(body: dict[str, Any]) -> Any:
        return structured({"facts": [BEES] if MARK in str(body["messages"]) else []})

    folder = copy_prompts(tmp_path / "prompts", MARK)
    expect: list[dict[str, Any]] = [{"remembers": "keeps bees"}, {"query": "Who keeps bees?", "has": "keeps bees"}]
    file = write(tmp_path, make_case([*expect, {"ignores": "submarine"}], turns=SAID))
    with ScriptedOpenAI(reply=reply) as model:
        env = {"MUNIMENT_MODEL": "scripted", "OPENAI_API_KEY": "key", "OPENAI_BASE_URL": model.base_url}
        outcome = muniment("check", file, "--against", f"prompts={folder}", "--json", **env)
        told = muniment("check", file, "--against", f"prompts={folder}", **env)
    assert outcome.code == told.code == 1  # that of the own configuration
    assert outcome.json["against"] == {"name": f"prompts={folder}", "passed": 3, "failed": 0, "error": 0}
    assert list_differences(outcome) == [
        ("failed", "passed", 'remembers "keeps bees"'),
        ("failed", "passed", 'query "Who keeps bees?": has'),
    ]
    assert f"against prompts={folder}: 3 passed, 0 failed, 0 not looked at" in told.out
    lines = [line.split("\t")[:4] for line in told.out.splitlines() if line.startswith("failed\tpassed")]
    assert lines == [
        ["failed", "passed", "told", 'remembers "keeps bees"'],
        ["failed", "passed", "told", 'query "Who keeps bees?": has'],
    ]


def test_another_embedder(muniment: Muniment, tmp_path: Path) -> None:
    """What one embedder finds and another does not: here by meaning, without a word in common."""
    asked = {"query": "canine companion", "has": "poodle"}
    file = write(tmp_path, make_case([asked, {"remembers": "poodle"}], turns=[{"user": "I own a black poodle."}]))
    outcome = muniment("check", file, "--against", "embedder=bge-small-en-v1.5-int8", "--json")
    assert outcome.code == 1
    assert list_differences(outcome) == [("failed", "passed", 'query "canine companion": has')]


@pytest.mark.parametrize("prefix", ["", "config="])
def test_other_settings(muniment: Muniment, tmp_path: Path, prefix: str) -> None:
    """A file of settings, named by its kind or by its ending alone."""
    strict = tmp_path / "strict.yaml"
    strict.write_text("recall: {top_k: 1}\n", encoding="utf-8")
    turns = [{"user": "I like sailing."}, {"user": "I am allergic to peanuts."}]
    file = write(tmp_path, make_case([{"query": "*", "has": ["sailing", "peanuts"]}], turns=turns))
    outcome = muniment("check", file, "--against", f"{prefix}{strict}", "--json")
    assert outcome.code == 0
    assert list_differences(outcome) == [("passed", "failed", 'query "*": has')]
    assert muniment("check", file, "--against", f"{prefix}{tmp_path / 'none.yaml'}").code == 5
