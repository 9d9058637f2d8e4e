"""Each key of each stage, with a good and a bad value: over HTTP, on the page, and on the command line."""

from __future__ import annotations

import os
from collections.abc import Iterator

import httpx
import pytest

from muniment.faces.cli.app import run_command
from tests.console.visitor import read_form_key, sign_in
from tests.http.conftest import Serving
from tests.setting_values import list_values, type_value

VALUES = list_values()
KEYS = list(VALUES)
# On the command line each refusal opens the database anew: some of the keys, unless all are asked for.
TYPED = KEYS if os.environ.get("MUNIMENT_TEST_EVERY_SETTING") else KEYS[:: len(KEYS) // 6]
HALF = len(KEYS) // 3 + 1
QUICK = "serve: {requests_per_second: 100000, burst: 100000}\n"


@pytest.fixture
def environment(environment: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment of a service that takes many requests."""
    path = tmp_path_factory.mktemp("quick") / "settings.yaml"
    path.write_text(QUICK)
    return environment | {"MUNIMENT_CONFIG": str(path)}


@pytest.fixture
def operator(own_serving: Serving) -> Iterator[httpx.Client]:
    """A client with an operator's token."""
    own_serving.tenant = "default"
    with own_serving.client(own_serving.token(owner=None, scopes=("admin",))) as client:
        yield client


def read_values(operator: httpx.Client) -> dict[str, object]:
    stages = operator.get("/v1/config").json()["stages"]
    return {each["key"]: each["value"] for stage in stages for each in stage["settings"]}


@pytest.mark.timeout(600)
def test_each_over_http_and_on_the_page(operator: httpx.Client, own_serving: Serving) -> None:
    """A bad value of each is refused with its key; good ones are in force, each by itself in the history."""
    usual = read_values(operator)
    assert list(usual) == KEYS
    for key, (_, bad) in VALUES.items():
        refused = operator.put("/v1/config", json={"values": {key: bad}})
        assert (refused.status_code, refused.json()["error"].get("key")) == (422, key), refused.text
    goods = {key: good for key, (good, _) in VALUES.items()}
    for start in range(0, len(KEYS), HALF):
        part = {key: goods[key] for key in KEYS[start : start + HALF]}
        assert operator.put("/v1/config", json={"values": part}).status_code == 200
    assert read_values(operator) == goods
    for start in range(0, len(KEYS), HALF):
        assert operator.put("/v1/config", json={"reset": KEYS[start : start + HALF]}).status_code == 200
    assert read_values(operator) == usual
    with sign_in(own_serving, owner=None, scopes=("admin",)) as client:
        hidden = {"form_key": read_form_key(client)}
        stages = {each["stage"]: each["settings"] for each in operator.get("/v1/config").json()["stages"]}
        rev = operator.get("/v1/config").json()["rev"]
        for stage, settings in stages.items():
            form, path = {**hidden, "rev": str(rev)}, f"/console/settings/{stage}"
            for key in [each["key"] for each in settings][:: 1 if len(TYPED) == len(KEYS) else 12]:
                bad = client.post(path, data={**form, key: type_value(VALUES[key][1])})
                assert bad.status_code == 422, key
                assert f'id="problem" lang="en">{key}: is ' in bad.text
            typed = {each["key"]: type_value(goods[each["key"]]) for each in settings}
            assert client.post(path, data={**form, **typed}).status_code == 303
            rev += 1
    assert read_values(operator) == goods


@pytest.mark.timeout(1200)
def test_each_on_the_command_line(
    environment: dict[str, str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A bad value is refused with its key and exit code 2, and all good ones are taken at once."""
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    for key in TYPED:
        assert run_command(["config", "set", f"{key}={type_value(VALUES[key][1])}"]) == 2
        assert f"{key}: is " in capsys.readouterr().err
    for start in range(0, len(KEYS), HALF):
        pairs = [f"{key}={type_value(VALUES[key][0])}" for key in KEYS[start : start + HALF]]
        assert run_command(["config", "set", *pairs]) == 0
    shown = capsys.readouterr().out
    assert all(f"{key}: " in shown for key in KEYS)
