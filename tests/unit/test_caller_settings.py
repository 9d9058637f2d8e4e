"""Profiles: what the settings of recall are for one kind of caller."""

from __future__ import annotations

from pathlib import Path

import pytest

from muniment.memory.errors import BadInput
from tests.unit.test_settings import DEFAULTS, refusal, settings


def test_a_profile_overrides_what_it_names(tmp_path: Path) -> None:
    """For who names it, and for an agent that has it; everything else is as for everybody."""
    text = "recall: {profiles: {terse: {top_k: 3, threshold: 0.3}}, agents: {executor: terse}}\n"
    recall = settings(tmp_path, text).recall
    for chosen in (recall.choose_profile("planner", "terse"), recall.choose_profile("executor")):
        assert (chosen.top_k, chosen.threshold, chosen.gate) == (3, 0.3, recall.gate)
    assert recall.choose_profile("planner").top_k == DEFAULTS["recall"]["top_k"]
    with pytest.raises(BadInput, match="terse"):
        recall.choose_profile("planner", "verbose")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("profiles: {terse: {top_k: 0}}", "recall.profiles.terse.top_k: is 0; allowed: at least 1"),
        ("profiles: {terse: {topk: 1}}", "recall.profiles.terse.topk: unknown key; did you mean top_k?"),
        ("profiles: {terse: {top_k: 900}}", "recall.profiles.terse.top_k: is 900; allowed: at most limits.top_k"),
        (
            "profiles: {terse: {semantic_weight: 2}}",
            "recall.profiles.terse.semantic_weight: is 2; allowed: at most 1.0",
        ),
        ("profiles: {terse: 7}", "recall.profiles.terse: is 7; allowed: keys with values"),
        ("agents: {executor: terse}", "recall.agents.executor: there is no profile terse; allowed: plugin"),
        ("beside: [user]", "recall.beside.0: is text of 4 characters; allowed: 'project' or 'agent'"),
    ],
)
def test_a_profile_is_checked_as_the_settings_are(tmp_path: Path, text: str, told: str) -> None:
    """A bad value, an unknown key and an unknown name are refused with the place and what is allowed."""
    assert refusal(tmp_path, f"recall: {{{text}}}\n").endswith(told)
