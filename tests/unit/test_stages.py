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
from tests.setting_values import NEEDED, list_values, type_value

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
        assert get_value(lay_over(SETTINGS, NEEDED.get(key, {}) | {key: good}), KEYS[key].path) == good, key
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


@pytest.mark.parametrize(
    ("key", "value", "told"),
    [
        ("recall.profiles", {"terse": {"top_k": 0}}, "recall.profiles.terse.top_k: is 0; allowed: at least 1"),
        ("recall.profiles", {"terse": {"topk": 1}}, "recall.profiles.terse.topk: unknown key; did you mean top_k?"),
        ("recall.profiles", {"terse": {"top_k": 900}}, "terse.top_k: is 900; allowed: at most limits.top_k"),
        ("recall.profiles", {"terse": {"threshold": float("nan")}}, "terse.threshold: is nan; allowed: a finite"),
        (
            "recall.profiles",
            {"a canary of 7": 7},
            "recall.profiles.(a name of 13 characters): is 7; allowed: keys with",
        ),
        ("recall.agents", {"executor": "terse"}, "recall.agents.executor: there is no profile terse"),
        ("recall.agents", {"executor": 7}, "recall.agents.executor: is 7; allowed: text"),
        ("recall.without_tags", {"users": ["a"]}, "recall.without_tags.users: is text of 5 characters; allowed: what"),
        (
            "recall.without_tags",
            {"user": "legacy"},
            "recall.without_tags.user: is text of 6 characters; allowed: a list",
        ),
        (
            "recall.without_tags",
            ["legacy"],
            "recall.without_tags: is a list of 1; allowed: an object with lists of tags",
        ),
        ("forgetting.categories", {"task": 3}, "there is no category task; did you mean tasks?"),
        ("forgetting.categories", {"tasks": 0}, "forgetting.categories.tasks: is 0; allowed: at least 1"),
    ],
)
def test_an_object_is_checked_to_its_leaves(key: str, value: object, told: str) -> None:
    """The place in it is named, and the key that it is of."""
    with pytest.raises(BadInput) as refused:
        lay_over(SETTINGS, {key: value})
    assert told in str(refused.value)
    assert refused.value.data["key"] == key


def test_who_takes_away_what_another_needs() -> None:
    """A profile that an agent has stays, and so does room for what a profile asks for."""
    both = {"recall.agents": {"executor": "terse"}, "recall.profiles": {"terse": {"top_k": 30}}}
    base = lay_over(SETTINGS, both)
    for key, value in (("recall.profiles", {}), ("limits.top_k", 20)):
        with pytest.raises(BadInput, match=f"^{key}: does not fit recall") as refused:
            lay_over(base, {key: value})
        assert refused.value.data["key"] == key
    taken, ignored = lay_over_valid(SETTINGS, both | {"recall.gate": "canary"})
    assert (taken.recall.agents, list(ignored)) == ({"executor": "terse"}, ["recall.gate"])


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
