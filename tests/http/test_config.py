"""The settings over HTTP: who may, what is refused, two writers, and other processes that follow."""

import json
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.http.conftest import Serving, run_service, wait_until
from tests.http.test_endpoints import keep
from tests.http.test_refusals import refuse

CONFIG = "/v1/config"


@pytest.fixture
def operator(operated: Serving) -> Iterator[httpx.Client]:
    """A client with an operator's token."""
    with operated.client(operated.token(owner=None, scopes=("admin",))) as client:
        yield client


def test_a_change_is_in_force_and_told(operated: Serving, operator: httpx.Client) -> None:
    """A change is in force in this process at once; the answer, the view and the history have both values."""
    rev = operator.get(CONFIG).json()["rev"]
    changed = operator.put(CONFIG, json={"values": {"recall.top_k": 2, "delta.bullets": 1}, "rev": rev}).json()
    assert changed["rev"] == rev + 1
    assert {(each["key"], each["former"], each["value"]) for each in changed["changes"]} == {
        ("recall.top_k", 8, 2),
        ("delta.bullets", 3, 1),
    }
    view = operator.get(CONFIG, params={"stage": "retrieval"}).json()
    assert [stage["stage"] for stage in view["stages"]] == ["retrieval"]
    (top_k,) = [each for each in view["stages"][0]["settings"] if each["key"] == "recall.top_k"]
    assert (top_k["value"], top_k["source"], top_k["by"]) == (2, "override", changed["changes"][0]["by"])
    with operated.client(operated.token(owner="tea")) as ana:
        for city in ("Rome", "Oslo", "Porto"):
            keep(ana, f"My friend in {city} likes tea")
        asked = ana.post("/memory/query", json={"agent": "supervisor", "query": "who likes tea?"}).json()["results"]
        assert len(asked) == 2
        searched = ana.get("/v1/user-memory/search", params={"agent": "supervisor", "query": "who likes tea?"})
        assert [each["id"] for each in searched.json()["results"]] == [each["id"] for each in asked]
    assert operator.put(CONFIG, json={"reset": ["delta.bullets"]}).json()["changes"][0]["value"] == 3
    assert operator.put(CONFIG, json={"reset": ["recall.top_k"]}).json()["changes"][0]["value"] == 8
    history = operator.get(f"{CONFIG}/history", params={"limit": 4}).json()["changes"]
    assert [(each["rev"] - rev, each["key"], each["is_reset"]) for each in history] == [
        (3, "recall.top_k", True),
        (2, "delta.bullets", True),
        (1, "delta.bullets", False),
        (1, "recall.top_k", False),
    ]
    assert len(operator.get(CONFIG).json()["stages"]) == 6


def test_who_may_not(operated: Serving) -> None:
    """A token without the permission, of a user, of some agents or of another tenant neither reads nor writes."""
    grants = (
        {"owner": None, "scopes": ("read", "write")},
        {"owner": "ana", "scopes": ("admin",)},
        {"owner": None, "scopes": ("admin",), "agents": ("planner",)},
        {"owner": None, "scopes": ("admin",), "tenant": "another"},
    )
    for grant in grants:
        with operated.client(operated.token(**grant)) as client:
            refuse(client.get(CONFIG), 403)
            refuse(client.get(f"{CONFIG}/history"), 403)
            refuse(client.put(CONFIG, json={"values": {"recall.top_k": 2}}), 403)
    refuse(httpx.get(f"{operated.url}{CONFIG}"), 401)


def test_what_is_refused(operator: httpx.Client) -> None:
    """A bad value, a key of no stage and a secret's place are refused with the key; nothing of them is shown again."""
    before = operator.get(f"{CONFIG}/history").json()
    for values, key in (
        ({"recall.top_k": "canary-1"}, "recall.top_k"),
        ({"recall.top_k": True}, "recall.top_k"),
        ({"recall.gate": 0.4, "recall.top_k": 300}, "recall.top_k"),
        ({"embedders.default.auto": 0.1}, "embedders.default.auto"),
        ({"redact.national_ids": ["us", "canary-1"]}, "redact.national_ids"),
        ({"checkpoints.ttl_days": {"canary-1": [1]}}, "checkpoints.ttl_days"),
        ({"database_url": "canary-1"}, "database_url"),
        ({"serve.traces_url": "canary-1"}, "serve.traces_url"),
        ({"api_key": "canary-1"}, "api_key"),
    ):
        answer = operator.put(CONFIG, json={"values": values})
        assert refuse(answer, 422)["key"] == key
        assert "canary" not in answer.text
    refuse(operator.put(CONFIG, json={}), 422)
    refuse(operator.put(CONFIG, json={"values": {"recall.top_k": 2}, "reset": ["recall.top_k"]}), 422)
    assert operator.get(f"{CONFIG}/history").json() == before
    for method in ("POST", "PATCH", "DELETE"):
        refused = operator.request(method, CONFIG)
        refuse(refused, 405)
        assert refused.headers["allow"] == "GET, PUT"
    refuse(operator.put("/v1/user-memory/search"), 405)
    refuse(operator.get("/v1/admin/cleanup-ledger"), 405)


def test_of_two_writers_one_looks_again(operator: httpx.Client) -> None:
    """The second of two that have seen the same revision is answered 409, with the revision that there is now."""
    seen = operator.get(CONFIG).json()["rev"]
    assert operator.put(CONFIG, json={"values": {"recall.top_k": 3}, "rev": seen}).status_code == 200
    late = refuse(operator.put(CONFIG, json={"values": {"recall.top_k": 4}, "rev": seen}), 409)
    assert late["rev"] == seen + 1
    operator.put(CONFIG, json={"reset": ["recall.top_k"]})


def test_another_service_follows(operator: httpx.Client, operated: Serving, tmp_path: Path) -> None:
    """A service beside this one has a change within half a minute, without a restart."""
    other_log = tmp_path / "other-log"
    with run_service(operated.environment, other_log) as other, httpx.Client(base_url=other.url) as anyone:
        token = operator.headers["authorization"]
        operator.put(CONFIG, json={"values": {"limits.turn_chars": 20}})
        name = {"X-Muniment-User": "ana", "Authorization": token}
        body = {"session": "s", "turns": [{"key": "1", "text": "I love sailing on the sea in summer"}]}
        wait_until(lambda: anyone.post("/turns", json=body, headers=name).status_code == 413, 30)
        operator.put(CONFIG, json={"reset": ["limits.turn_chars"]})


def test_the_ledger_is_counted_before_it_is_cleaned(operated: Serving, operator: httpx.Client) -> None:
    """Without a word it counts; then it removes just that, of one user or of all, and memories stay."""
    old = {"key": "1", "text": "I love sailing", "at": "2020-01-01T00:00:00Z"}
    path = "/v1/admin/cleanup-ledger"
    before = operator.post(path).json()
    for user in ("old-ana", "old-bob"):
        with operated.client(operated.token(owner=user)) as client:
            done = client.post("/turns", json={"session": "s", "turns": [old, {"key": "2", "text": "I live in Rome"}]})
            assert done.status_code == 200, done.text
            waiting = operator.post(path).json()  # what waits to be built from is not counted yet
            assert client.post("/v1/sessions/s/build").status_code == 200
            assert operator.post(path).json()["turns"] == waiting["turns"] + 1
    counted = operator.post(path).json()
    assert counted["dry_run"]
    assert [counted[name] - before[name] for name in ("spaces", "turns", "sessions")] == [2, 2, 0]
    of_one = operator.post(path, params={"user": "old-ana"}, json={"dry_run": False}).json()
    assert (of_one["dry_run"], of_one["spaces"], of_one["turns"]) == (False, 1, 1)
    assert operator.post(path).json()["turns"] - before["turns"] == 1
    assert operator.get("/memories", headers={"X-Muniment-User": "old-ana"}).json()["total"] == 2
    rebuilt = operator.post("/v1/admin/rebuild").json()
    assert (rebuilt["spaces"], rebuilt["changed"]) == (counted["spaces"], 0)
    with operated.client(operated.token(owner="old-ana")) as ana:
        refuse(ana.post(path), 403)
        refuse(ana.post("/v1/admin/rebuild"), 403)


def test_only_what_a_page_needs_is_shown(operator: httpx.Client, operated: Serving) -> None:
    """No answer has an address of a database, a key, or a path of the machine."""
    text = json.dumps(operator.get(CONFIG).json())
    for secret in (operated.environment["MUNIMENT_DATABASE_URL"], operated.environment["MUNIMENT_HOME"], "postgresql:"):
        assert secret not in text
