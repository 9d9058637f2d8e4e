"""Secrets in unusual places of what tools are given and put out, and what only looks like one, measured on both
lists."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, strategies as st

from muniment.graph.redaction import redact_value
from muniment.memory.domain.turn import ToolUse
from muniment.memory.rules.language.tokens import normalize_text
from muniment.memory.rules.procedures import tool_calls, traces
from muniment.memory.rules.procedures.procedure import render_procedure
from muniment.memory.rules.redaction import secret_names
from muniment.memory.rules.redaction.redact import Redactor, redact_secrets
from tests.engine import NOON
from tests.leaks import CLEAN_AFTER, CLEAN_BEFORE, CLEAN_LAST, LEAKS_AFTER, LEAKS_BEFORE, LEAKS_LAST

hide = Redactor().redact_uncached


def ledger(value: Any) -> str:
    """What the ledger holds of a tool that was given the value, or has put it out."""
    arguments, result = (value, "") if isinstance(value, dict) else ({}, value)
    use = ToolUse(key="k", name="t", arguments=arguments, result=result, at=NOON, ok=True)
    return tool_calls.make_tool_turn(use, session="A", thread="A", redact=hide).text


@pytest.mark.parametrize(("value", "held"), [*LEAKS_BEFORE, *LEAKS_AFTER, *LEAKS_LAST], ids=str)
def test_a_secret_is_in_no_ledger_and_no_checkpoint(value: Any, held: str) -> None:
    """Of a command line, an object, a header, a setting; the rest of it stays."""
    for told in (ledger(value), json.dumps(redact_value(value, hide), ensure_ascii=False)):
        assert held not in told
        assert "[redacted:" in told
    assert held in str(value) or json.dumps(held)[1:-1] in json.dumps(value)


@pytest.mark.parametrize(
    "text",
    [value for value, _ in [*LEAKS_BEFORE, *LEAKS_AFTER, *LEAKS_LAST] if isinstance(value, str)]
    + ["mysql -phunter -u root shop", "rabbitmqctl add_user bob hunter", "Cookie: session=hunterhunter"]
    + ["vault login hunterhunter", "npm config set authtoken hunterhunter"],  # nothing but letters and blanks
)
def test_a_text_to_be_stored_holds_no_more_than_one_to_be_shown(text: str) -> None:
    """The quick look that spares most texts the full search passes over none with a secret."""
    redactor = Redactor(None)
    assert redactor.sanitize_text(text) == normalize_text(redactor.redact_text(text))


@pytest.mark.parametrize("value", [*CLEAN_BEFORE, *CLEAN_AFTER, *CLEAN_LAST], ids=str)
def test_what_only_looks_like_a_secret_is_told(value: Any) -> None:
    """Counts, names of people, ports, folders, references to where a secret is kept."""
    assert "[redacted:" not in ledger(value)
    assert redact_value(value, hide) == value


def test_there_is_enough_to_measure() -> None:
    """At least sixty each way, half of them from before the rules."""
    for some in (LEAKS_BEFORE, LEAKS_AFTER, CLEAN_BEFORE, CLEAN_AFTER):
        assert len(some) >= 30


def camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(map(str.title, rest))


NAMES = st.builds(
    lambda case, before, name, after: case(f"{before}{name}{after}"),
    st.sampled_from([str, str.upper, str.title, camel, lambda name: name.replace("_", "-")]),
    st.sampled_from(["", "db_", "my_", "x_", "client_", "main_db_"]),
    st.sampled_from(["secret", "token", "auth", "pass", "pwd", "credential", "api_key", "private_key", "password"]),
    st.sampled_from(["", "_value", "_prod", "_2"]),
)
PLAIN = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(0, 99)
    | st.sampled_from(["north", "Ana", "report.pdf", "https://x.example/a?b=1"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["path", "author", "token_count", "count", "keys", "body", "headers"]), inner, max_size=3
        )
    ),
    max_leaves=5,
)
AROUND: list[Callable[[Any, Any], Any]] = [
    lambda value, more: [value],
    lambda value, more: {"config": value, "other": more},
    lambda value, more: [more, value, "north"],
    lambda value, more: {"body": json.dumps(value)},
    lambda value, more: {"list": [{"inner": value}, more]},
    lambda value, more: {"auth": {"realm": "shop", "inner": value}},
]


@given(
    NAMES,
    st.from_regex(r"[a-z]{0,3}Zq[0-9]{1,2}", fullmatch=True),
    st.lists(st.tuples(st.sampled_from(AROUND), PLAIN), max_size=5),
)
def test_a_name_hides_its_value_in_any_depth(
    name: str, value: str, around: list[tuple[Callable[[Any, Any], Any], Any]]
) -> None:
    """However short it is: in lists, in objects, in JSON inside a text, in a pair of name and value."""
    for held in ({name: value}, {"name": name, "value": value}, {name: {"value": [value]}}, [name, value]):
        for wrap, more in around:
            held = wrap(held, more)  # noqa: PLW2901 - each is wrapped on its own
        told = secret_names.redact_value({"arguments": held}, hide)
        assert value not in json.dumps(told)
        assert value not in json.dumps(redact_value({"arguments": held}, hide))
        assert value not in ledger({"arguments": held})
        assert secret_names.redact_value(told, hide) == told


@given(PLAIN)
def test_what_has_no_such_name_stays(value: Any) -> None:
    """To the last part and in its type."""
    assert secret_names.redact_value({"arguments": value}, hide) == {"arguments": value}
    assert redact_value({"arguments": value}, hide) == {"arguments": value}


@given(
    st.recursive(
        st.none() | st.integers() | st.text(max_size=40),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3),
    )
)
def test_any_value_can_be_read(value: Any) -> None:
    """No value breaks it, and what was read once is as it was the second time."""
    once = secret_names.redact_value(value, hide)
    assert secret_names.redact_value(once, hide) == once


def test_a_deep_value_is_no_trouble() -> None:
    """Deeper than anybody nests, as an object and as a text."""
    deep: Any = {"password": "Zq9"}
    for _ in range(100):
        deep = {"a": [deep]}
    assert "Zq9" not in str(secret_names.redact_value(deep, hide))
    assert secret_names.redact_value("[" * 100_000, hide) == "[" * 100_000


def test_a_step_tells_of_a_command_without_its_secret() -> None:
    """What was run is told, for it is to be run again."""
    lines = [("curl -u alice:pw https://x.example/a", "HTTP 500"), ("curl -u alice:pw https://x.example/b", "HTTP 200")]
    turns = [
        tool_calls.make_tool_turn(
            ToolUse(key=str(n), name="bash", arguments={"command": line}, result=result, at=NOON),
            session="A",
            thread="A",
            redact=hide,
        )
        for n, (line, result) in enumerate(lines)
    ]
    [path] = traces.find_paths(turns, failures=1)
    assert path.procedure.steps == ("Run: curl -u alice:… https://x.example/b",)
    assert hide(render_procedure(path.procedure)) == render_procedure(path.procedure)


@pytest.mark.parametrize(
    "unit",
    ["curl -u ", "curl ", "--password ", "token=", '"password": "', "echo ", "echo x | ", "mysql -p", "password: x\n",
     "set password ", "authorization: ", "name: token\n", "pw=x&", "sqlplus a/", "a.b-", "passpass", "net ",
     "[", '{"a":'],
)  # fmt: skip
def test_long_texts_are_cheap(unit: str) -> None:
    """A hundred thousand characters of what may begin a secret take no more than a moment."""
    start = time.process_time()
    redact_secrets(unit * (100_000 // len(unit)), email=True, phone=True, patterns=())
    assert time.process_time() - start < 3
