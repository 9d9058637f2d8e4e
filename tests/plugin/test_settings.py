"""The settings of the plugin: what is refused, and in which words."""

from __future__ import annotations

from pathlib import Path

import pytest

from muniment.memory.config.settings import load_settings
from muniment.memory.errors import BadConfig


def read_refusal(folder: Path, text: str) -> str:
    (file := folder / "my.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(BadConfig) as caught:
        load_settings({"MUNIMENT_CONFIG": str(file)})
    return str(caught.value)


@pytest.mark.parametrize(
    ("text", "key", "words"),
    [
        ("plugin: {semantic_weight: 0.9}", "plugin.semantic_weight", "1.35"),
        ("plugin: {store: remote}", "plugin.url", "is null"),
        ("plugin: {store: hybrid}", "plugin.url", "is null"),
        ("plugin: {policies: {eager: {min_skore: 0.1}}}", "plugin.policies.eager.min_skore", "min_score"),
        ("plugin: {policies: {eager: {items: 9}}}", "plugin.policies.eager.items", "at most 8"),
        ("plugin: {policies: {eager: {items: 3.5}}}", "plugin.policies.eager.items", "whole number"),
        ("plugin: {policy: eagr, policies: {eager: {items: 3}}}", "plugin.policy", "eager"),
        ("plugin: {other_policy: eager}", "plugin.other_policy", "there is no policy"),
    ],
)
def test_what_does_not_fit_together_names_its_key(tmp_path: Path, text: str, key: str, words: str) -> None:
    """P-76, P-77: one line with the file, the line and the key."""
    message = read_refusal(tmp_path, text)
    assert key in message
    assert words in message
    assert "line 1" in message
    assert "\n" not in message


def test_a_policy_of_known_gates_is_taken(tmp_path: Path) -> None:
    (file := tmp_path / "my.yaml").write_text(
        "plugin: {policy: eager, other_policy: default, policies: {eager: {items: 3, min_score: 0.1}}}"
    )
    assert load_settings({"MUNIMENT_CONFIG": str(file)}).plugin.policies == {"eager": {"items": 3.0, "min_score": 0.1}}
