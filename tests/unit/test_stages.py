"""The settings by stages: each has one, or stays with its file for a reason."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import get_args

import pytest

from muniment.memory.config.changes import Stage
from muniment.memory.config.overrides import check_value, lay_over, lay_over_valid, parse_value
from muniment.memory.config.settings import load_settings
from muniment.memory.config.stages import (
    FIXED,
    STAGES,
    find_stage,
    get_value,
    list_leaves,
    list_settings,
    load_default,
    read_comments,
)
from muniment.memory.errors import BadInput
from tests.setting_values import list_values, type_value

SETTINGS = load_settings({})
KEYS = list_settings(SETTINGS)
VALUES = list_values()


def test_every_value_has_a_stage_or_stays_with_its_file() -> None:
    """A new setting is put into a stage, or among those that no operator changes while processes run."""
    lost = [
        key
        for path, _ in list_leaves(SETTINGS)
        if find_stage(key := ".".join(path)) is None and not any(fnmatchcase(key, name) for name in FIXED)
    ]
    assert lost == []
    assert list(STAGES) == list(get_args(Stage))
    assert {each.stage for each in KEYS.values()} == set(STAGES)


def test_nothing_that_connects_or_hides_is_in_a_stage() -> None:
    """No address, key, path, pattern of secrets or access rule can be changed or shown."""
    for key in KEYS:
        assert not key.startswith(("database", "serve", "users", "jobs", "allowlists", "categories")), key
        assert key.rpartition(".")[2] not in ("prompt_folder", "patterns", "deny_paths", "search_agents", "traces_url")


def test_a_good_and_a_bad_value_of_each() -> None:
    """Each setting takes a value of its kind, also as a person types it, and refuses another with its key."""
    for key, (good, bad) in VALUES.items():
        assert get_value(lay_over(SETTINGS, {key: good}), KEYS[key].path) == good, key
        assert check_value(KEYS[key], parse_value(KEYS[key], type_value(good))) == good, key
        with pytest.raises(BadInput, match=f"^{key}: is .*; allowed: ") as refused:
            lay_over(SETTINGS, {key: bad})
        assert refused.value.data["key"] == key
        assert refused.value.data["allowed"]


def test_all_together() -> None:
    """All good values fit together; what a process cannot take is left out, and the rest is in force."""
    goods = {key: good for key, (good, _) in VALUES.items()}
    changed = lay_over(SETTINGS, goods)
    assert all(get_value(changed, KEYS[key].path) == good for key, good in goods.items())
    partly, ignored = lay_over_valid(SETTINGS, {**goods, "recall.gate": "canary", "recall.unheard": 1})
    assert set(ignored) == {"recall.gate", "recall.unheard"}
    assert partly.recall.top_k == goods["recall.top_k"]
    assert "canary" not in str(ignored)
    assert lay_over(SETTINGS, {}) == SETTINGS


def test_a_budget_by_an_override_is_an_own_budget() -> None:
    """Tokens of a day that an operator has set count as set, as those of a file do."""
    assert not SETTINGS.spend.has_own_budget
    assert lay_over(SETTINGS, {"spend.daily_tokens": 5}).spend.has_own_budget


def test_what_the_file_says_of_a_key() -> None:
    """The comment beside a key of the default file says what it is about."""
    assert "retrieved" not in KEYS["recall.top_k"].about
    assert KEYS["recall.top_k"].about.startswith("of a request of the tool")
    assert read_comments()[("finds", "relations")] == KEYS["finds.relations"].about
    assert load_default().recall.top_k == 8
