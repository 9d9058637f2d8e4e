"""`muniment check`: each kind of assertion and of beginning, and what the pages show."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import yaml

from muniment.faces.check.reading import read_check_file
from muniment.testing.openai_server import ScriptedOpenAI, structured
from tests.checking import FAILS, HOLDS, TURNS, make_case, write
from tests.faces.conftest import Muniment

ROOT = Path(__file__).parents[2]


def test_what_holds(muniment: Muniment, tmp_path: Path) -> None:
    """Each kind of assertion holds of a conversation that says so; the exit code is 0."""
    outcome = muniment("check", write(tmp_path, make_case(HOLDS)), "--json")
    results = outcome.json["cases"][0]["assertions"]
    assert [each for each in results if each["outcome"] != "passed"] == []
    assert (outcome.code, outcome.json["passed"]) == (0, len(HOLDS))
    said = muniment("check", write(tmp_path, make_case(HOLDS)))
    assert said.out.splitlines()[-1].startswith(f"{len(HOLDS)} passed, 0 failed, 0 not looked at; ")


def test_what_fails_says_what_was_there_instead(muniment: Muniment, tmp_path: Path) -> None:
    """A failing assertion says what was there instead, with its line; the exit code is 1."""
    file = write(tmp_path, make_case([each for each, _ in FAILS]))
    outcome = muniment("check", file, "--json")
    assert (outcome.code, outcome.json["failed"]) == (1, len(FAILS))
    results = outcome.json["cases"][0]["assertions"]
    wrong = [
        (each["name"], each.get("found"))
        for each, (_, part) in zip(results, FAILS, strict=True)
        if part not in each["found"]
    ]
    assert wrong == []
    lines = Path(file).read_text(encoding="utf-8").splitlines()
    assert all(lines[each["line"] - 1].lstrip().startswith("- ") for each in results)
    said = muniment("check", file).out
    assert f'{file}:{results[0]["line"]}: remembers "Berlin"\n        no active memory has it; nearest: ' in said


def test_answers_and_maintenance(muniment: Muniment, tmp_path: Path) -> None:
    """A yes after a question of consent decides it; the maintenance of the night forgets what is due by then."""
    asked = make_case([{"asks_consent": "Lisbon"}], "asked", turns=TURNS[:1])
    answered = [*TURNS[:1], {"assistant": "May I keep Lisbon as your city?"}, {"user": "yes"}]
    decided = make_case([{"asks_consent": "Lisbon"}, {"remembers": "Lisbon"}], "decided", turns=answered)
    purged = make_case(
        [{"remembers": "peanuts"}], "purged", turns=[*TURNS[1:2], TURNS[5], {"maintain": True, "at": "2026-12-01"}]
    )
    outcome = muniment("check", write(tmp_path, asked, decided, purged), "--json").json
    found = [[each["outcome"] for each in case["assertions"]] for case in outcome["cases"]]
    assert found == [["passed"], ["failed", "passed"], ["failed"]]
    assert outcome["cases"][1]["assertions"][0]["found"] == "no request waits that has it; nothing waits"
    assert "soft_deleted" not in outcome["cases"][2]["assertions"][0]["found"]


def test_other_beginnings(muniment: Muniment, tmp_path: Path) -> None:
    """A case begins with memories, with an export and turns after it, or with a user's space as of a revision; of a
    user's space nothing is changed."""
    muniment("remember", "I like sailing", "--user", "ana")
    muniment("remember", "I like chess", "--user", "ana")
    before, searches = muniment("export", "--user", "ana").out, muniment("stats", "--user", "ana").out
    (tmp_path / "ana.jsonl").write_text(before, encoding="utf-8")
    tea, former = {"text": "Drink tea", "category": "goals", "kind": "episodic"}, {"user": "ana", "as_of": 1}
    file = write(
        tmp_path,
        make_case(
            [{"remembers": {"contains": "tea", "category": "goals"}}], "memories", memories=["The user sails", tea]
        ),
        make_case(
            [{"remembers": "sailing"}, {"remembers": "Porto"}],
            "export",
            export="ana.jsonl",
            turns=[{"user": "I live in Porto."}],
        ),
        make_case(
            [{"remembers": "chess"}, {"query": "what does the user like?", "has": "sailing"}],
            "now",
            space={"user": "ana"},
        ),
        make_case(
            [{"remembers": "sailing"}, {"remembers": "chess"}, {"query": "chess", "lacks": "chess"}],
            "then",
            space=former,
        ),
        make_case([{"asks_consent": "x"}], "consents of the past", space=former),
    )
    outcome = muniment("check", file, "--json")
    found = {case["name"]: [each["outcome"] for each in case["assertions"]] for case in outcome.json["cases"]}
    assert found == {
        "memories": ["passed"],
        "export": ["passed", "passed"],
        "now": ["passed", "passed"],
        "then": ["passed", "failed", "passed"],
        "consents of the past": ["error"],
    }
    assert muniment("export", "--user", "ana").out == before
    assert muniment("stats", "--user", "ana").out == searches
    assert muniment("check", write(tmp_path, make_case([{"remembers": "a"}], export="no.jsonl"))).code == 2


def test_a_model_reads_and_is_counted(muniment: Muniment, tmp_path: Path) -> None:
    """With a model what it finds is kept, too; its requests, tokens and money are counted, and a limit that they are
    beyond says so. A configuration without a model is rules alone."""
    fact = {"statement": "The user keeps bees", "category": "activity", "kind": "experience", "predicate": "keeps"}
    facts = {"facts": [fact | {"object": "bees", "quote": "the bees and I had a good year"}]}
    expect: list[dict[str, Any]] = [{"budget": {"calls": 0}}, {"budget": {"tokens": 1}}, {"budget": {"calls": 5}}]
    said = [{"user": "So the bees and I had a good year in the garden."}]
    file = write(tmp_path, make_case(expect, turns=said))
    with ScriptedOpenAI(reply=structured(facts)) as model:
        env = {"MUNIMENT_MODEL": "scripted", "OPENAI_API_KEY": "key", "OPENAI_BASE_URL": model.base_url}
        outcome = muniment("check", file, "--against", "model=none", "--json", **env)
    results = outcome.json["cases"][0]["assertions"]
    assert [each["outcome"] for each in results] == ["failed", "failed", "passed"]
    assert results[0]["found"].startswith("calls: ")
    assert outcome.json["against"]["passed"] == 3
    assert {each["other"] for each in outcome.json["differences"]} == {"passed"}


def test_the_page_and_the_examples_hold(muniment: Muniment, tmp_path: Path) -> None:
    """Each whole file on the page about checks passes, and so do the files of the examples; each list of assertions on
    the page is one that the reader takes."""
    page = (ROOT / "docs/check.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```yaml\n(.*?)```", page, flags=re.DOTALL)
    whole = [block for block in blocks if block.startswith("muniment_check: 1\n")]
    for number, block in enumerate(whole):
        (tmp_path / f"{number}.memory.yaml").write_text(block, encoding="utf-8")
    lists = [yaml.safe_load(block) for block in blocks if block not in whole]
    assert (len(whole), len(lists)) == (2, 3)
    outcome = muniment("check", str(tmp_path), str(ROOT / "examples/memory-check"))
    assert outcome.code == 0, outcome.out
    for expect in lists:
        assert read_check_file(Path(write(tmp_path, make_case(expect), name="list.yaml"))).content.cases


def test_the_workflow_is_yaml_of_commands_that_exist() -> None:
    """The example of a workflow calls `muniment check` with options that it has."""
    steps = yaml.safe_load((ROOT / "examples/memory-check/workflow.yml").read_text(encoding="utf-8"))["jobs"]["check"][
        "steps"
    ]
    commands = [step["run"] for step in steps if "muniment check" in step.get("run", "")]
    assert [re.findall(r"--\w+", command) for command in commands] == [["--junit"], ["--against"]]
