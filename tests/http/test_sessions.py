"""Sessions over real HTTP: events in order, the end, days of their own, and the search in what was said."""

import json
from typing import Any

import httpx

from tests.http.conftest import Serving

TURNS: list[dict[str, Any]] = [
    {"key": "1", "text": "We decided to use pnpm for the front end.", "at": "2026-05-04T12:00:00Z"},
    {"key": "2", "text": "Good choice.", "role": "assistant", "at": "2026-05-04T12:00:01Z"},
    {"key": "3", "text": "report.pdf", "kind": "file", "payload": {"action": "upload"}, "at": "2026-05-04T12:00:02Z"},
    {"key": "4", "text": "pnpm approved", "role": "system", "kind": "audit", "at": "2026-05-04T12:00:03Z"},
    {"key": "5", "text": "我搬到了杭州", "at": "2026-05-04T12:00:04Z"},
]


def test_a_session(ana: httpx.Client, serving: Serving) -> None:
    """Events are listed in order and found by their words; an end is once; nobody else sees them."""
    for _ in range(2):
        assert ana.post("/turns", json={"session": "s1", "turns": TURNS}).status_code == 200
        record = ana.get("/v1/sessions/s1").json()
        assert [(turn["position"], turn["kind"]) for turn in record["turns"]] == [
            (0, "message"), (1, "message"), (2, "file"), (3, "audit"), (4, "message"),
        ]  # fmt: skip
        assert record["session"]["turns"] == 5
    assert ana.get("/v1/sessions/s1", params={"since": 4}).json()["turns"][0]["text"] == TURNS[4]["text"]
    for text, keys in (("pnpm", [0]), ("杭州", [4]), ("approved", []), ("nothing", [])):
        found = ana.get("/v1/turns", params={"text": text}).json()["results"]
        assert [hit["position"] for hit in found] == keys, text
    built = ana.post("/v1/sessions/s1/build").json()
    assert built["built_to"] == 5
    ended = ana.post("/v1/sessions/s1/end", json={"why": "closed"}).json()
    assert ended["ended_why"] == "closed"
    assert ana.post("/v1/sessions/s1/end", json={}).json() == ended
    listed = ana.get("/v1/sessions", params={"ended": True}).json()
    assert (listed["total"], listed["sessions"]) == (1, [ended])
    changed = ana.patch("/v1/sessions/s1", json={"metadata": {"title": "t"}, "retention_days": None}).json()
    assert (changed["metadata"], changed["own_retention"], "retention_days" in changed) == ({"title": "t"}, True, False)
    assert ana.patch("/v1/sessions/s1", json={"retention_days": 0}).status_code == 422
    assert ana.get("/v1/sessions/none").status_code == 404
    assert ana.delete("/v1/sessions/s1").status_code == 405
    with serving.client(serving.token(owner="ben")) as ben:
        assert ben.get("/v1/sessions").json()["total"] == 0
        assert ben.get("/v1/turns", params={"text": "pnpm"}).json() == {"results": []}
    with serving.client(serving.token(agents=("supervisor",))) as limited:
        for answer in (limited.get("/v1/sessions"), limited.get("/v1/turns", params={"text": "pnpm"})):
            assert (answer.status_code, answer.json()["error"]["type"]) == (403, "Denied")


def test_what_a_program_keeps_comes_back(ana: httpx.Client) -> None:
    """Large numbers and controls are stored, and read again by each address and in an export."""
    kept = {"far": 2**63 - 1, "near": -1e308, "text": "a\u0001b\u007f\U0001f600", "\u0002": [-(2**63)]}
    turn = TURNS[0] | {"payload": kept}
    beyond = turn | {"payload": {"far": 2**64 - 1}}  # of more than 64 bits
    assert ana.post("/turns", json={"session": "s1", "turns": [beyond]}).status_code == 422
    assert ana.post("/turns", json={"session": "s1", "turns": [turn]}).status_code == 200
    assert ana.patch("/v1/sessions/s1", json={"metadata": kept}).status_code == 200
    expected = {"far": 2**63 - 1, "near": -(10**308), "text": "ab\U0001f600", "": [-(2**63)]}
    record = ana.get("/v1/sessions/s1").json()
    found = [record["session"]["metadata"], record["turns"][0]["payload"]]
    found += [ana.get("/v1/sessions").json()["sessions"][0]["metadata"]]
    found += [ana.get("/v1/turns", params={"text": "pnpm"}).json()["results"][0]["payload"]]
    rows = [json.loads(line) for line in ana.get("/export").text.splitlines()]
    found += [row["payload"] for row in rows if row["type"] == "turn"]
    assert found == [expected] * 5
