"""The settings: what is read, what is refused, and in which words."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml
from hypothesis import example, given, strategies as st
from pydantic import ValidationError

from muniment.memory.config.settings import Settings, load_settings
from muniment.memory.errors import BadConfig

DEFAULTS = yaml.safe_load(Path("config/memory.yaml").read_text(encoding="utf-8"))
SECRET = "sk-live-4242424242"


def settings(folder: Path, text: str | bytes) -> Settings:
    (file := folder / "my.yaml").write_bytes(text if isinstance(text, bytes) else text.encode())
    return load_settings({"MUNIMENT_CONFIG": str(file)})


def refusal(folder: Path, text: str | bytes) -> str:
    with pytest.raises(BadConfig) as caught:
        settings(folder, text)
    message = str(caught.value)
    assert "\n" not in message
    return message.removeprefix(f"{folder / 'my.yaml'}, ")


def test_defaults_are_the_packaged_file() -> None:
    """Every value of config/memory.yaml arrives, and no other."""
    found = load_settings({})
    for part in ("limits", "recall", "delta", "write", "model"):
        assert getattr(found, part).model_dump(mode="json") == DEFAULTS[part]
    profiles = {name: profile.model_dump(mode="json", exclude_unset=True) for name, profile in found.embedders.items()}
    assert profiles == DEFAULTS["embedders"]
    assert found.redact.model_dump(mode="json") == DEFAULTS["redact"]
    assert {agent: list(names) for agent, names in found.allowlists.items()} == DEFAULTS["allowlists"]
    shown = {slug: category.model_dump(exclude_none=True) for slug, category in found.categories.items()}
    assert shown == DEFAULTS["categories"]["system"]


def test_a_file_changes_only_what_it_names(tmp_path: Path) -> None:
    """A value deep in the user's file is laid over the default; its neighbours stay."""
    found = settings(tmp_path, "recall: {top_k: 3}\ncategories: {system: {goals: {rag_length: 7}}}\n")
    assert found.recall.top_k == 3
    assert found.recall.budget_tokens == DEFAULTS["recall"]["budget_tokens"]
    assert found.categories["goals"].rag_length == 7
    assert found.categories["goals"].label == "Goals"
    assert len(found.categories) == len(DEFAULTS["categories"]["system"])


def test_custom_categories_join_the_system_ones(tmp_path: Path) -> None:
    """A custom category can be read, and an allowlist may name it."""
    found = settings(
        tmp_path,
        "categories: {custom: [{name: recipes, label: Recipes, context: rag, rag_length: 2}]}\n"
        "allowlists: {cook: [recipes, profile, recipes]}\n",
    )
    assert found.categories["recipes"].rag_length == 2
    assert found.allowlists["cook"] == ("recipes", "profile")
    assert found.allowlists["planner"] == tuple(DEFAULTS["allowlists"]["planner"])


@pytest.mark.parametrize("text", ["", "# nothing\n", "---\n", "\ufeffrecall: {top_k: 8}\n"])
def test_a_file_that_says_nothing_new_is_fine(tmp_path: Path, text: str) -> None:
    """An empty file, or one with a byte order mark, gives the defaults."""
    assert settings(tmp_path, text).recall == load_settings({}).recall


@pytest.mark.parametrize("text", ["rerank: 0", "rerank: off", "rerank_share: 0.4", "rerank: 0, rerank_share: 0.5"])
def test_a_file_may_name_the_former_reranker(tmp_path: Path, text: str) -> None:
    """A file that has it off is a file without it; its neighbours count."""
    assert settings(tmp_path, f"recall: {{{text}}}") == load_settings({})
    assert settings(tmp_path, f"recall: {{top_k: 3, {text}}}").recall.top_k == 3


REDACT_KEYS = "deny_paths, deny_projects, deny_tags, door_codes, email, national_ids, patterns, phone"
REFUSED = [
    ("recal:\n  top_k: 3\n", "line 1: recal: unknown key; did you mean recall?"),
    ("recall:\n  top_k: 3\n  treshold: 0.1\n", "line 3: recall.treshold: unknown key; did you mean threshold?"),
    ("redact:\n  zzz: 1\n", f"line 2: redact.zzz: unknown key; allowed: {REDACT_KEYS}"),
    ("embedders:\n  default:\n    aut: 1\n", "line 3: embedders.default.aut: unknown key; did you mean auto?"),
    (
        "categories:\n  system:\n    goals:\n      lable: x\n",
        "line 4: categories.system.goals.lable: unknown key; did you mean label?",
    ),
    ("recall:\n  top_k: many\n", "line 2: recall.top_k: is text of 4 characters; allowed: a whole number"),
    ("recall:\n  top_k: 2.5\n", "line 2: recall.top_k: is 2.5; allowed: a whole number"),
    ("recall:\n  top_k: true\n", "line 2: recall.top_k: is true; allowed: a whole number"),
    ("recall:\n  top_k: 0\n", "line 2: recall.top_k: is 0; allowed: at least 1"),
    ("recall:\n\n  threshold: 1.5\n", "line 3: recall.threshold: is 1.5; allowed: at most 1.0"),
    ("recall:\n  actor_boost: -1\n", "line 2: recall.actor_boost: is -1; allowed: at least 0.0"),
    ("recall:\n  threshold: .nan\n", "line 2: recall.threshold: is nan; allowed: a finite number"),
    (
        "delta:\n  lookback_hours: 1000000000\n",
        "line 2: delta.lookback_hours: is 1000000000; allowed: at most 8784000.0",
    ),
    ("write:\n  soft_delete_days: 1000000\n", "line 2: write.soft_delete_days: is 1000000; allowed: at most 366000"),
    (
        "recall:\n  candidates: 2000000000\n",
        "line 2: recall.candidates: is 2000000000; allowed: at most 1000000000",
    ),
    (
        "session_ledger:\n  cleanup_interval_seconds: 1.0e-9\n",
        "line 2: session_ledger.cleanup_interval_seconds: is 1e-09; allowed: at least 0.001",
    ),
    ("recall:\n  period_days_after: 1.0e-9\n", "line 2: recall.period_days_after: is 1e-09; allowed: at least 0.01"),
    (
        "embedders:\n  default:\n    floor: 0.7\n",
        "line 3: embedders.default.floor: allowed: ceiling > floor, but they are 0.7 and 0.7",
    ),
    (
        "embedders:\n  multilingual-e5-small-q4:\n    by_writing:\n      de: {floor: 0.95}\n",
        (
            "line 4: embedders.multilingual-e5-small-q4.by_writing.de.floor: allowed: ceiling > floor, "
            "but they are 0.891 and 0.95"
        ),
    ),
    ("recall:\n  top_k: 500\n", "line 2: recall.top_k: is 500; allowed: at most limits.top_k"),
    (
        "recall:\n  top_k: 3\n  rerank: 16\n",
        (
            "line 3: recall.rerank: is 16; allowed: 0, since the reranker was removed; "
            "delete this key and recall.rerank_share"
        ),
    ),
    (
        f"recall: {{rerank: {SECRET}}}\n",
        (
            f"line 1: recall.rerank: is text of {len(SECRET)} characters; allowed: 0, since the reranker was removed; "
            "delete this key and recall.rerank_share"
        ),
    ),
    ("recall:\n", "line 1: recall: is empty; allowed: keys with values"),
    ("recall: [1, 2]\n", "line 1: recall: is a list of 2; allowed: keys with values"),
    ("redact: {email: 'yes'}\n", "line 1: redact.email: is text of 3 characters; allowed: true or false"),
    ("redact:\n  deny_tags: a\n", "line 2: redact.deny_tags: is text of 1 characters; allowed: a list"),
    (
        "redact:\n  patterns:\n  - ok\n  - 'a('\n",
        "line 4: redact.patterns.1: is not a regular expression from character 2 on",
    ),
    (
        "redact: {patterns: ['a*']}\n",
        "line 1: redact.patterns.0: matches the empty text, so it would match everywhere",
    ),
    ("recall:\n  top_k: 3\n  top_k: 4\n", "line 3: recall.top_k: comes twice; the first is on line 2"),
    ("delta: {bullets: 1}\ndelta: {bullets: 2}\n", "line 2: delta: comes twice; the first is on line 1"),
    ("delta:\n  1: 2\n", "line 2: delta: has a key that is not text; put it in quotes"),
    ("delta: &a {bullets: 1}\nwrite: *a\n", "line 1: write: is an alias (*name); write the value out"),
    ("- a\n", "line 1: is a list of 1; allowed: keys with values"),
    ("just words\n", "line 1: is text of 10 characters; allowed: keys with values"),
    (
        "allowlists:\n  planner:\n  - goals\n  - gaols\n",
        "line 4: allowlists.planner.1: there is no category gaols; did you mean goals?",
    ),
    (
        "categories:\n  system:\n    Bad-Slug: {label: x, context: all}\n",
        "line 3: categories.system.Bad-Slug: is not a slug; allowed: a-z, 0-9 and _, beginning with a letter",
    ),
    (
        "categories:\n  custom:\n  - {label: x, context: all, name: 1st}\n",
        "line 3: categories.custom.0.name: is not a slug; allowed: a-z, 0-9 and _, beginning with a letter",
    ),
    (
        "categories:\n  custom:\n  - {label: x, context: all, name: goals}\n",
        "line 3: categories.custom.0.name: there is a category goals already",
    ),
    (
        "categories:\n  custom:\n  - {label: x, context: rag, name: extra}\n",
        "line 3: categories.custom.0.name: context is rag; allowed: a rag_length of at least 1 with it",
    ),
    ("categories:\n  custom:\n  - {label: x, context: all}\n", "line 3: categories.custom.0.name: is missing"),
    (
        "categories:\n  system:\n    goals: {context: some}\n",
        "line 3: categories.system.goals.context: is text of 4 characters; allowed: 'all' or 'rag'",
    ),
    (
        "embedders:\n  default:\n    check: 0.9\n",
        "line 3: embedders.default.check: allowed: auto >= check, but they are 0.85 and 0.9",
    ),
    (
        "embedders:\n  default:\n    auto: 0.5\n",
        "line 3: embedders.default.auto: allowed: auto >= check, but they are 0.5 and 0.6",
    ),
    (
        "embedders:\n  default:\n    fallback: 0.7\n",
        "line 3: embedders.default.fallback: allowed: check >= fallback, but they are 0.6 and 0.7",
    ),
    ("embedders:\n  mine: {auto: 0.9}\n", "line 2: embedders.mine.check: is missing"),
    (
        "forgetting:\n  scopes:\n    app: 7\n",
        (
            "line 3: forgetting.scopes.app: there is no scope app; "
            "allowed: agent, agent:NAME, project, project:NAME, run, session, user, user:NAME"
        ),
    ),
    (
        "forgetting:\n  scopes: {uesr: 7}\n",
        "line 2: forgetting.scopes.uesr: there is no scope uesr; did you mean user?",
    ),
    (
        "forgetting:\n  scopes: {run:17: 7}\n",
        (
            "line 2: forgetting.scopes.(a name of 6 characters): there is no scope (a name of 6 characters); did you "
            "mean run?"
        ),
    ),
    (
        "forgetting:\n  scopes: {'agent:': 7}\n",
        (
            "line 2: forgetting.scopes.(a name of 6 characters): there is no scope (a name of 6 characters); did you "
            "mean agent?"
        ),
    ),
    ("forgetting:\n  scopes: {run: 0}\n", "line 2: forgetting.scopes.run: is 0; allowed: at least 1"),
    (b"recall:\n  top_k: 3 # \xff\n", "line 2: is not UTF-8; save the file as UTF-8"),
    ("delta:\n  when: 2026-13-41\n", "line 2: delta.when: has a value that YAML cannot read"),
]


@pytest.mark.parametrize(("text", "expected"), REFUSED, ids=[message.split(":", 1)[1] for _, message in REFUSED])
def test_a_wrong_file_is_refused_by_line_and_key(tmp_path: Path, text: str | bytes, expected: str) -> None:
    """The message names the line, the dotted key, the value's shape and what is allowed."""
    assert refusal(tmp_path, text) == expected


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("recall:\n  top_k: [1\n", 3),
        ("a: b: c\n", 1),
        ("a: 1\n\tb: 2\n", 2),
        ("a: 1\n---\nb: 2\n", 2),
        ("a: \x07\n", 1),
    ],
)
def test_broken_yaml_is_refused_by_line(tmp_path: Path, text: str, line: int) -> None:
    """What the parser stumbles over is named by its line."""
    assert re.match(rf"line {line}: is not YAML: \S+", refusal(tmp_path, text))


@pytest.mark.parametrize("text", ["[" * 20_000, "a: " * 20_000, "x" * 1_000_001])
def test_a_hostile_file_is_refused_quietly(tmp_path: Path, text: str) -> None:
    """Endless nesting or length is an error of the configuration, not a crash."""
    assert len(refusal(tmp_path, text)) < 200


@pytest.mark.parametrize(
    "text",
    [
        f"recall: {SECRET}",
        f"recall: {{top_k: {SECRET}}}",
        f"redact: {{deny_tags: {SECRET}}}",
        f"categories: {{system: {{goals: {{context: {SECRET}}}}}}}",
        f"redact: {{patterns: ['({SECRET}']}}",
        f"recall: *{SECRET}",
        f"recall: !{SECRET} 1",
        f"recall: '{SECRET}",
        f"'{SECRET} and more words': 1",
    ],
)
def test_a_value_is_never_shown(tmp_path: Path, text: str) -> None:
    """A secret that went to the wrong place does not reach the message."""
    assert SECRET not in refusal(tmp_path, text)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(["recall", "top_k", "categories", "system", "custom", "goals", "x"]), inner, max_size=3
            )
        ),
        max_leaves=8,
    )
)
@example({"categories": {"custom": [{"name": "a", "label": "A", "context": "all"}]}})
@example({"embedders": {"default": None}})
def test_any_yaml_is_settings_or_a_bad_config(tmp_path_factory: pytest.TempPathFactory, tree: object) -> None:
    """Whatever the file holds, the answer is settings or one line of `BadConfig`."""
    file = tmp_path_factory.getbasetemp() / "any.yaml"
    file.write_text(yaml.safe_dump(tree), encoding="utf-8")
    said = ""
    try:
        load_settings({"MUNIMENT_CONFIG": str(file)})
    except BadConfig as error:
        said = str(error)
    assert not said or (said.startswith(f"{file}, line ") and "\n" not in said)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    """A missing file or a folder is refused by its path and the variable that names it."""
    for path in (tmp_path / "none.yaml", tmp_path):
        with pytest.raises(BadConfig) as caught:
            load_settings({"MUNIMENT_CONFIG": str(path)})
        assert str(path) in str(caught.value)
        assert "MUNIMENT_CONFIG" in str(caught.value)


def test_the_environment_is_read() -> None:
    """Every variable arrives, trimmed; secrets do not show."""
    found = load_settings({
        "MUNIMENT_HOME": "/srv/muniment",
        "MUNIMENT_DATABASE_URL": f" postgresql://me:{SECRET}@db/one\n",
        "MUNIMENT_MODEL": "gpt-x",
        "OPENAI_API_KEY": SECRET,
        "OPENAI_BASE_URL": "http://localhost:1/v1",
        "MUNIMENT_EMBEDDER": "openai:small",
        "MUNIMENT_EMBEDDER_FOLDER": "/srv/models",
        "MUNIMENT_TENANT": "acme",
    })  # fmt: skip
    assert (found.home, found.embedder_folder) == (Path("/srv/muniment"), Path("/srv/models"))
    assert (found.chat_model, found.base_url) == ("gpt-x", "http://localhost:1/v1")
    assert (found.embedder, found.tenant) == ("openai:small", "acme")
    assert found.database_url is not None
    assert found.database_url.get_secret_value() == f"postgresql://me:{SECRET}@db/one"
    assert found.api_key is not None
    assert found.api_key.get_secret_value() == SECRET
    assert SECRET not in f"{found!r}{found}"


def test_an_empty_variable_is_not_set() -> None:
    """Blank values mean the default, as if the variable were missing."""
    names = ("MUNIMENT_HOME", "MUNIMENT_DATABASE_URL", "MUNIMENT_MODEL", "OPENAI_API_KEY", "OPENAI_BASE_URL",
             "MUNIMENT_EMBEDDER", "MUNIMENT_EMBEDDER_FOLDER", "MUNIMENT_TENANT", "MUNIMENT_CONFIG",
             "MUNIMENT_CHECKPOINTS_URL")  # fmt: skip
    assert load_settings(dict.fromkeys(names, " ")) == load_settings({})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("MUNIMENT_DATABASE_URL", SECRET),
        ("MUNIMENT_CHECKPOINTS_URL", SECRET),
        ("OPENAI_API_KEY", f"{SECRET} {SECRET}"),
        ("OPENAI_BASE_URL", f"ftp://{SECRET}"),
        ("MUNIMENT_EMBEDDER", "openai:"),
        ("MUNIMENT_HOME", "~nobody-of-this-name/x"),
        ("MUNIMENT_TENANT", "a\udcff"),
    ],
)
def test_a_wrong_variable_is_refused_by_name(name: str, value: str) -> None:
    """The message names the variable and not its value."""
    with pytest.raises(BadConfig, match=name) as caught:
        load_settings({name: value})
    assert SECRET not in str(caught.value)
    assert caught.value.data["key"] == name


@pytest.mark.parametrize(
    ("spend", "own"),
    [
        ("{currency: EUR}", False),
        ("{daily_tokens: null}", False),
        ("{daily_tokens: 1000000}", True),
        ("{daily_money: 3.0}", True),
        ("{daily_money: 3.0, daily_tokens: null}", True),
    ],
)
def test_a_budget_that_was_set_is_known_from_the_default(tmp_path: Path, spend: str, *, own: bool) -> None:
    """Also where its value is that of the default."""
    assert not load_settings({}).spend.has_own_budget
    file = tmp_path / "mine.yaml"
    file.write_text(f"spend: {spend}\n")
    assert load_settings({"MUNIMENT_CONFIG": str(file)}).spend.has_own_budget is own


def test_a_budget_in_money_wants_a_price_of_the_model(tmp_path: Path) -> None:
    """An error in a name would end the budget without a word."""
    file = tmp_path / "mine.yaml"
    file.write_text("spend:\n  daily_money: 3.0\n  prices: {gpt-5-mini: {input: 0.25, output: 2.0}}\n")
    found = load_settings({"MUNIMENT_CONFIG": str(file), "MUNIMENT_MODEL": "gpt-5-mini"})
    assert found.spend.prices["gpt-5-mini"].output == 2.0
    assert load_settings({"MUNIMENT_CONFIG": str(file)}).chat_model is None
    with pytest.raises(BadConfig, match=r"line 3: spend\.prices: has no price of MUNIMENT_MODEL \(gpt-5\)"):
        load_settings({"MUNIMENT_CONFIG": str(file), "MUNIMENT_MODEL": "gpt-5"})


def test_an_unknown_embedder_has_the_default_profile() -> None:
    """Bands of a model that has no profile are those called `default`."""
    found = load_settings({})
    assert found.find_profile("bge-small-en-v1.5-int8").auto == DEFAULTS["embedders"]["bge-small-en-v1.5-int8"]["auto"]
    assert found.find_profile("something-else") == found.embedders["default"]


def test_settings_are_frozen() -> None:
    """Nobody changes a setting after the start."""
    with pytest.raises(ValidationError):
        load_settings({}).recall.top_k = 3
