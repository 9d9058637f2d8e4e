"""The section `memory` of an agent's configuration: B-112 to B-118."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from muniment.agent.config import load_agent_config, parse_memory_section
from muniment.agent.memory_section import MemoryConfig
from muniment.memory.domain.gateway.config import SCOPES, GatewayConfig
from muniment.memory.domain.gateway.user_key import UserKey
from muniment.memory.errors import BadConfig
from tests.agent.secrets_shown import KEY, show_error, show_value

GATEWAY = {"baseUrl": "http://127.0.0.1:8010", "userId": "ann", "userKey": KEY}


def make_section(mode: str | None = "hybrid", **changes: Any) -> dict[str, Any]:
    gateway = GATEWAY | changes
    return {"gateway": gateway} if mode is None else {"mode": mode, "gateway": gateway}


def refuse(raw: Any) -> BadConfig:
    with pytest.raises(BadConfig) as caught:
        parse_memory_section(raw)
    assert KEY not in show_error(caught.value)
    return caught.value


def write(folder: Path, content: str | bytes) -> Path:
    path = folder / "agent.json"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


# --- B-112 to B-116: which layers there are -------------------------------------------------------------------------


@pytest.mark.parametrize("load", [lambda folder: None, lambda folder: write(folder, "{}")])
def test_b112_missing_section_is_implicit_hybrid(tmp_path: Path, load: Callable[[Path], Path | None]) -> None:
    memory = load_agent_config(load(tmp_path)).memory
    assert (memory.mode, memory.explicit, memory.gateway) == ("hybrid", False, None)
    assert memory.degraded


@pytest.mark.parametrize(
    ("raw", "names"),
    [
        (None, ["section memory"]),
        ({}, ["baseUrl", "userId", "userKey"]),
        ({"gateway": None}, ["baseUrl", "userId", "userKey"]),
        ({"gateway": {}}, ["baseUrl", "userId", "userKey"]),
        (make_section(None, baseUrl=None), ["baseUrl"]),
        (make_section(None, userId="  "), ["userId"]),
        (make_section(None, userId="", baseUrl=""), ["baseUrl", "userId"]),
        ({"gateway": {"userKey": KEY}}, ["baseUrl", "userId"]),
        (make_section(None, userKey=""), ["userKey"]),
        (make_section(None, userKey=UserKey(" ")), ["userKey"]),
    ],
)
def test_b113_implicit_without_credentials_is_degraded_with_one_warning(raw: Any, names: list[str]) -> None:
    memory = parse_memory_section(raw)
    assert (memory.mode, memory.explicit, memory.gateway) == ("hybrid", False, None)
    [warning] = memory.warnings
    assert memory.degraded
    assert memory.degraded in warning
    assert [name for name in ("section memory", "baseUrl", "userId", "userKey") if name in warning] == names
    assert KEY not in show_value(memory)
    assert "ann" not in warning


@pytest.mark.parametrize(
    "gateway",
    [
        None, 7, [], "no", {}, GATEWAY, {"topK": 0, "more": KEY}, {"userKey": [KEY]},
    ],
)  # fmt: skip
def test_b114_explicit_curated_ignores_any_gateway(gateway: Any) -> None:
    for raw in ({"mode": "curated"}, {"mode": "curated", "gateway": gateway}):
        memory = parse_memory_section(raw)
        assert memory == MemoryConfig(mode="curated", explicit=True)
        assert KEY not in show_value(memory)


def test_b115_complete_explicit_hybrid_parses_camel_case(tmp_path: Path) -> None:
    section = make_section(
        baseUrl="https://memory.example:8010/v1/",
        appId="app-1",
        projectId="p.2",
        scope=["all_user_memory"],
        topK=3,
        timeoutSeconds=2,
    )
    memory = load_agent_config(write(tmp_path, "\ufeff" + json.dumps({"memory": section}))).memory
    assert memory == MemoryConfig(
        mode="hybrid",
        explicit=True,
        gateway=GatewayConfig(
            base_url="https://memory.example:8010/v1",
            user_id="ann",
            user_key=UserKey(KEY),
            app_id="app-1",
            project_id="p.2",
            scope=("all_user_memory",),
            top_k=3,
            timeout_seconds=2.0,
        ),
    )
    assert memory.gateway is not None
    assert memory.gateway.user_key.reveal_value() == KEY
    assert (memory.degraded, memory.warnings) == (None, ())


def test_b115_defaults() -> None:
    memory = parse_memory_section(make_section())
    gateway = memory.gateway
    assert gateway is not None
    assert (gateway.app_id, gateway.project_id, gateway.scope) == ("default", "default", ("current_chat", "resources"))
    assert (gateway.top_k, gateway.timeout_seconds) == (8, 10.0)


def test_a_complete_gateway_without_a_mode_is_implicit_and_on() -> None:
    memory = parse_memory_section(make_section(None))
    assert (memory.mode, memory.explicit, memory.degraded, memory.warnings) == ("hybrid", False, None, ())
    assert memory.gateway is not None


@pytest.mark.parametrize("name", ["baseUrl", "userId", "userKey"])
@pytest.mark.parametrize("value", [None, "", " \t", ...])
def test_b116_explicit_hybrid_without_a_credential_is_refused(name: str, value: Any) -> None:
    gateway: dict[str, Any] = {key: each for key, each in GATEWAY.items() if key != name}
    error = refuse({"mode": "hybrid", "gateway": gateway if value is ... else gateway | {name: value}})
    assert f"memory.gateway.{name}: is missing" in str(error)
    assert error.data["key"] == f"memory.gateway.{name}"
    assert "memory.gateway.baseUrl: is missing" in str(refuse({"mode": "hybrid"}))


# --- B-117, B-118: each rule with good and bad values ----------------------------------------------------------------

SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text()
JSON = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3))
HOSTS = st.from_regex(r"(?:[a-z0-9]{1,12}\.){0,2}[a-z]{1,8}", fullmatch=True)
PORTS = st.just("") | st.integers(1, 65_535).map(lambda port: f":{port}")
ADDRESSES = st.builds(
    "{}://{}{}{}".format,
    st.sampled_from(["http", "https", "HTTP"]),
    HOSTS,
    PORTS,
    st.sampled_from(["", "/", "/v1", "/a/b/"]),
)
NAMES = st.from_regex(r"[A-Za-z0-9_.-]{1,128}", fullmatch=True)
SCOPE_LISTS = st.lists(st.sampled_from(SCOPES), min_size=1, unique=True)
POSITIVE = st.integers(1, 10**9) | st.floats(min_value=0, exclude_min=True, allow_infinity=False)
TEXTS = st.text(st.characters(exclude_categories=("Cc", "Cs")), min_size=1, max_size=50).filter(str.strip)

GOOD: dict[str, st.SearchStrategy[Any]] = {
    "baseUrl": ADDRESSES,
    "userId": TEXTS,
    "userKey": TEXTS,
    "appId": NAMES,
    "projectId": NAMES,
    "scope": SCOPE_LISTS,
    "topK": st.integers(1, 100),
    "timeoutSeconds": POSITIVE,
}


def is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


NO_TEXT = JSON.filter(lambda value: not isinstance(value, str))
BAD: dict[str, st.SearchStrategy[Any]] = {
    "baseUrl": st.sampled_from(
        [
            7, True, [], {}, "127.0.0.1:8010", "ftp://a", "file://a/b", "http://", "http:///x", "http://a b",
            "http://user@a", f"http://u:{KEY}@a", f"http://a?key={KEY}", "http://a#b", "http://a?", "http://a#",
            "http://a:0", "http://a:65536", "http://a:b", "http://[::1", "http://a\n", "http://ä",
            "//a", "javascript:a",
        ]
    ),
    "userId": st.sampled_from([7, 0.5, True, [], {}, "a\nb", "\x00", "half \ud83d", "a" * 4_097]),
    "userKey": st.sampled_from([7, 0.5, True, [KEY], {KEY: KEY}, f"{KEY}\n", f"\x00{KEY}", f"{KEY}\ud83d", KEY * 200]),
    "appId": NO_TEXT | st.sampled_from(["", "a b", "ä", "a/b", "a" * 129, KEY + "\n"]),
    "projectId": NO_TEXT | st.sampled_from(["", " ", "a\n", "项目", "a" * 129]),
    "scope": st.just([])
    | JSON.filter(lambda value: not isinstance(value, list))
    | st.lists(JSON, min_size=1, max_size=3)
    | SCOPE_LISTS.map(lambda scopes: [*scopes, scopes[0]])
    | SCOPE_LISTS.map(lambda scopes: [*scopes, KEY])
    | st.sampled_from(["resources", ["Resources"], ["current_chat "], {"resources": True}, [["resources"]]]),
    "topK": JSON.filter(lambda value: not isinstance(value, int) or isinstance(value, bool))
    | st.integers(max_value=0)
    | st.integers(min_value=101)
    | st.sampled_from([8.0, "8", KEY]),
    "timeoutSeconds": JSON.filter(lambda value: not is_number(value))
    | st.integers(max_value=0)
    | st.floats(max_value=0)
    | st.sampled_from([float("nan"), float("inf"), float("-inf"), "10", "1s", 10**400, -0.0, KEY]),
}  # fmt: skip


@given(data=st.data())
@pytest.mark.parametrize("name", [*GOOD])
@pytest.mark.parametrize("mode", ["hybrid", None])
def test_b117_good_values_are_taken(mode: str | None, name: str, data: st.DataObject) -> None:
    value = data.draw(GOOD[name])
    memory = parse_memory_section(make_section(mode, **{name: value}))
    assert memory.gateway is not None
    field = re.sub("[A-Z]", lambda letter: f"_{letter[0].lower()}", name)
    if name == "baseUrl":
        value = value.rstrip("/")
    elif name == "userKey":
        value = UserKey(value)
    elif name == "scope":
        value = tuple(value)
    assert getattr(memory.gateway, field) == value


@given(data=st.data())
@pytest.mark.parametrize("name", [*BAD])
@pytest.mark.parametrize("mode", ["hybrid", None])
def test_b117_b118_bad_values_are_refused_by_their_key_alone(mode: str | None, name: str, data: st.DataObject) -> None:
    value = data.draw(BAD[name])
    error = refuse(make_section(mode, **{name: value}))
    assert str(error).startswith(f"memory.gateway.{name}: allowed: ")
    assert str(error) == str(refuse(make_section(mode, **{name: data.draw(BAD[name])})))  # nothing of the value


@given(value=JSON.filter(lambda value: value not in ("curated", "hybrid")) | st.just(KEY))
def test_b117_invalid_mode(value: Any) -> None:
    error = refuse({"mode": value, "gateway": GATEWAY})
    assert str(error) == "memory.mode: allowed: curated, hybrid"


@pytest.mark.parametrize("raw", [7, [], "hybrid", KEY, [KEY], True])
def test_a_section_is_an_object(raw: Any) -> None:
    assert str(refuse(raw)) == "memory: allowed: an object"
    assert "memory.gateway: allowed: an object" in str(refuse({"mode": "hybrid", "gateway": raw}))


@pytest.mark.parametrize(
    ("raw", "start"),
    [
        ({"modus": "hybrid"}, "memory.modus: unknown key; allowed: mode, gateway"),
        (make_section(topk=3), "memory.gateway.topk: unknown key; allowed: baseUrl, userId, userKey, appId, "),
        (make_section(user_key=KEY), "memory.gateway.user_key: unknown key"),
        (make_section(**{KEY: "x"}), "memory.gateway.(a name that is not shown): unknown key"),
        ({"mode": "curated", KEY: 1}, "memory.(a name that is not shown): unknown key"),
    ],
)
def test_b117_unknown_keys_are_refused_with_what_is_allowed(raw: Any, start: str) -> None:
    assert str(refuse(raw)).startswith(start)


@given(
    raw=JSON
    | st.fixed_dictionaries(
        {},
        optional={
            "mode": JSON | st.just("hybrid"),
            "gateway": JSON | st.dictionaries(st.sampled_from([*GOOD]), JSON | st.just(KEY)),
        },
    )
)
def test_b118_whatever_is_written_the_answer_is_a_section_or_a_refusal_without_the_key(raw: Any) -> None:
    try:
        shown = show_value(parse_memory_section(raw))
    except BadConfig as error:
        shown = show_error(error)
    assert KEY not in shown


# --- The file ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (json.dumps({"memory": make_section(topK=0)}), "memory.gateway.topK: allowed: a whole number from 1 to 100"),
        (json.dumps({"memory": make_section(timeoutSeconds=float("nan"))}), "memory.gateway.timeoutSeconds: allowed"),
        (json.dumps({"memory": make_section(userKey=[KEY])}), "memory.gateway.userKey: allowed: text"),
        ('{"memory": null}', "memory: allowed: an object"),
        (json.dumps({"memory": make_section(), KEY: KEY}), "(a name that is not shown): unknown key"),
        (json.dumps({"userKey": KEY}), "userKey: unknown key"),
        ('{"memory": {"mode": "hybrid", "mode": "curated"}}', "mode: comes twice"),
        (f'{{"{KEY}": 1, "{KEY}": 2}}', "(a name that is not shown): comes twice"),
        (f'{{"memory": {{"userKey": "{KEY}" "x"}}}}', "line 1, column"),
        (f'["{KEY}"]', "is no JSON object"),
        (f'"{KEY}"', "is no JSON object"),
        (b"", "line 1, column 1: is not JSON"),
        (b'{"memory": "' + KEY.encode() + b'\xff"}', "is not UTF-8"),
        ("[" * 100_000, "is not JSON that can be read"),
        (f'{{"memory": {"9" * 5_000}, "userKey": "{KEY}"}}', "is not JSON that can be read"),
        (" " * 1_000_001, "is longer than 1,000,000 bytes"),
    ],
)  # fmt: skip
def test_b118_a_file_is_refused_by_name_and_key(tmp_path: Path, content: str | bytes, problem: str) -> None:
    path = write(tmp_path, content)
    with pytest.raises(BadConfig) as caught:
        load_agent_config(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert problem in str(caught.value)
    assert KEY not in show_error(caught.value)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(BadConfig, match="cannot be read") as caught:
        load_agent_config(tmp_path / "none.json")
    assert caught.value.data["file"] == str(tmp_path / "none.json")


# --- The key ----------------------------------------------------------------------------------------------------------


def test_b37_to_b41_a_key_is_shown_by_nothing() -> None:
    memory = parse_memory_section(make_section())
    for value in (UserKey(KEY), memory.gateway, memory, [memory], {"memory": memory}):
        assert KEY not in show_value(value)
        assert KEY not in repr(value)


def test_keys_are_equal_by_their_text() -> None:
    assert UserKey(KEY) == UserKey(KEY)
    assert hash(UserKey(KEY)) == hash(UserKey(KEY))
    assert UserKey(KEY) != UserKey("another")
    assert UserKey(KEY) != KEY
