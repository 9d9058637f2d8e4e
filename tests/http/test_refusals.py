"""What is refused, alike for what exists and what does not, and without a word of what was sent."""

import json
from uuid import uuid4

import httpx
import pytest

from tests.heads import check_head_limit
from tests.http.conftest import Serving
from tests.http.test_endpoints import keep

CANARY = "canary-7f3a91"


def refuse(answer: httpx.Response, status: int) -> dict[str, object]:
    """The error of an answer, which has the one form of all errors."""
    assert answer.status_code == status, answer.text
    error = answer.json()["error"]
    assert {"type", "message", "request_id"} <= error.keys()
    assert error["request_id"] == answer.headers["x-request-id"]
    assert ("www-authenticate" in answer.headers) is (status == 401)
    assert ("retry-after" in answer.headers) is (status in (409, 429, 503))
    return dict(error)


def test_tokens_that_are_none(serving: Serving) -> None:
    """No token, one of another kind, an unknown and an expired one are refused with 401."""
    for header in (
        {},
        {"Authorization": "Basic x"},
        {"Authorization": "Bearer mun_x"},
        {"Authorization": f"Bearer mun_{'a' * 43}"},
    ):
        refuse(httpx.get(f"{serving.url}/memories", headers=header), 401)
    with serving.client(serving.token(days=-1)) as expired:
        refuse(expired.get("/memories"), 401)


def test_a_large_head(serving: Serving) -> None:
    """A head of more than 64 kB is refused before any token is looked at, and what follows is not read."""
    check_head_limit(serving.url)


@pytest.mark.timeout(120)
def test_a_revoked_token(serving: Serving, ana: httpx.Client) -> None:
    """A token that was used just now is refused within 30 seconds after its revocation."""
    assert ana.get("/memories").status_code == 200
    serving.revoke_all()
    for _ in range(62):
        answer = ana.get("/memories")
        if answer.status_code == 401:
            break
        serving.wait(0.5)
    refuse(answer, 401)


def test_what_a_token_permits(serving: Serving) -> None:
    """A token to read writes nothing; one of an agent reads through no other, and no other category."""
    with serving.client(serving.token()) as ana:
        goal, city = (
            keep(ana, "I want to run a marathon", category="goals"),
            keep(ana, "I live in Rome", category="profile"),
        )
    with serving.client(serving.token(scopes=("read",))) as reader:
        assert reader.get("/memories").json()["total"] == 2
        refuse(reader.post("/memories", json={"text": "I live in Oslo"}), 403)
        refuse(reader.delete(f"/memories/{goal['id']}"), 403)
    with serving.client(serving.token(agents=("planner",))) as planner:
        assert [one["id"] for one in planner.get("/memories").json()["memories"]] == [goal["id"]]
        assert planner.post("/memory/query", json={"query": "marathon"}).json()["results"]
        hidden, missing = (refuse(planner.get(f"/memories/{id_}"), 404) for id_ in (city["id"], uuid4()))
        assert hidden["message"] == missing["message"]
        for agent in ("supervisor", "nobody"):
            error = refuse(planner.post("/memory/query", json={"agent": agent, "query": "x"}), 403)
            assert error["message"] == "The token is not for this agent."
        for category in ("profile", "nothing"):
            refuse(planner.get("/memories", params={"category": category}), 403)
        for path in ("/export", "/stats", "/consents"):
            refuse(planner.get(path), 403)


def test_ids_of_others(serving: Serving, ana: httpx.Client) -> None:
    """Another's id, another tenant's and a missing one have the same answers at every endpoint."""
    with serving.client(serving.token(owner="bo")) as bo, serving.client(serving.token(tenant="other")) as other:
        theirs = [keep(client, "I live in Rome")["id"] for client in (bo, other)]
    errors = []
    for id_ in (*theirs, uuid4()):
        requests: list[tuple[str, str, object]] = [
            ("GET", "/memories/{}", None),
            ("PATCH", "/memories/{}", {"pinned": True}),
            ("DELETE", "/memories/{}", None),
            ("PUT", "/memories/{}/pin", None),
            ("DELETE", "/memories/{}/pin", None),
            ("POST", "/memories/{}/restore", None),
            ("GET", "/memory/{}/history", None),
            ("GET", "/memories/{}/history", None),
        ]
        for method, path, body in requests:
            error = refuse(ana.request(method, path.format(id_), json=body), 404)
            errors.append((method, path, {name: error[name] for name in error if name != "request_id"}))
        why = {"agent": "supervisor", "query": "x", "memory_id": str(id_)}
        error = refuse(ana.post("/memory/why-not", json=why), 404)
        errors.append(("POST", "why-not", {name: error[name] for name in error if name != "request_id"}))
        refuse(ana.post("/consents/decisions", json={"ids": [str(id_)], "approve": True}), 404)
    third = len(errors) // 3
    assert errors[:third] == errors[third : 2 * third] == errors[2 * third :]


HOSTILE = {
    "half a character": b'{"agent": "supervisor", "query": "\\ud800"}',
    "bytes of none": b'{"agent": "supervisor", "query": "\xff"}',
    "NUL": b'{"agent": "supervisor", "query": "a\\u0000b"}',
    "NaN": b'{"agent": "supervisor", "query": "x", "threshold": NaN}',
    "infinity": b'{"agent": "supervisor", "query": "x", "threshold": 1e999}',
    "a huge number": b'{"agent": "supervisor", "query": "x", "top_k": ' + b"9" * 5000 + b"}",
    "a negative number": b'{"agent": "supervisor", "query": "x", "top_k": -1}',
    "deep nesting": b'{"query": ' + b"[" * 4_000 + b"]" * 4_000 + b"}",
    "many unknown fields": b"{" + b",".join(b'"%d":1' % number for number in range(4_000)) + b"}",
    "deep filters": b'{"agent": "supervisor", "query": "x", "filters": ' + b'{"a":' * 900 + b"1" + b"}" * 901,
    "a list": b"[]",
    "nothing": b"",
    "half of it": b'{"agent": "supervisor", "query": "x"',
    "an unknown field": b'{"agent": "supervisor", "query": "x", "user_id": "bo"}',
    "another type": b'{"agent": "supervisor", "query": {"$ne": 1}}',
}


def test_hostile_bodies(ana: httpx.Client) -> None:
    """A body that is no request is refused with 422 by whatever takes one."""
    for name, body in HOSTILE.items():
        for path in ("/memory/query", "/memory/why-not", "/memories", "/turns", "/consents/decisions"):
            answer = ana.post(path, content=body, headers={"Content-Type": "application/json"})
            assert answer.status_code == 422, (name, path)
            problems = refuse(answer, 422).get("problems", [])
            assert isinstance(problems, list)
            assert len(problems) <= 20


def test_bodies_of_too_many_values(ana: httpx.Client) -> None:
    """A body of more values than any request needs is refused before it is read; texts may have what they like."""
    unit = b'{"a":[]},'
    bodies = (
        b'{"query":[' + unit * 90_000 + b"0]}",
        b'{"query":"x","categories":[' + b'"\\",' * 150_000 + b'"a"]}',
        b'{"query":' + b"[" * 100_000,
        b"{" + b",".join(b'"%d":1' % number for number in range(60_000)) + b"}",
        b'{"a":"' + b"," * 20_000 + b'","b":[' + unit * 20_000 + b'"' + b'\\"' * 200_000,
    )
    for body in bodies:
        for path in ("/memory/query", "/turns", "/mcp"):
            answer = ana.post(path, content=body, headers={"Content-Type": "application/json"})
            assert refuse(answer, 413)["type"] == "TooLarge"
    text = 'The code is {"a": [1, 2, "\\"]}, '
    turns = [{"key": str(number), "role": "assistant", "text": text * 500} for number in range(40)]
    assert ana.post("/turns", json={"session": "s", "turns": turns}).status_code == 200


def test_imports_that_are_too_large(ana: httpx.Client) -> None:
    """A line of an import is bounded as a body is, its text as that of a turn; the error names the row."""
    first = b'{"text": "User lives in Rome"}\n'
    for row in (
        b'{"text": "' + b"a" * 1_100_000 + b'"}',
        b'{"text": "' + b"a " * 60_000 + b'"}',
        b'{"text": "User has a dog", "tags": [' + b'"a",' * 20_000 + b'"a"]}',
    ):
        error = refuse(ana.post("/import", content=first + row), 413)
        assert error["row"] == 2
    refuse(ana.post("/import", content=b'{"text": "User has a dog"}\n' * 50_001), 413)
    assert ana.get("/memories").json()["total"] == 0


def test_large_bodies(serving: Serving, ana: httpx.Client) -> None:
    """10 MB are refused with 413 before they are read, whether their size is announced or not."""
    large = b'{"query": "' + b"a" * 10_000_000 + b'"}'
    refuse(ana.post("/memory/query", content=large), 413)
    refuse(
        ana.post("/memory/query", content=(large[place : place + 65_536] for place in range(0, len(large), 65_536))),
        413,
    )
    refuse(ana.post("/import", content=b"a" * 16_000_001), 413)
    refuse(ana.post("/turns", json={"session": "s", "turns": [{"key": "1", "text": "a" * 900_000}]}), 413)
    assert ana.get("/memories").status_code == 200


def test_addresses(ana: httpx.Client) -> None:
    """An unknown address is 404 and a wrong method 405, in the one form; parameters with a NUL are 422."""
    refuse(ana.get("/nothing"), 404)
    refuse(ana.get("/memory/query"), 405)
    assert ana.options("/memories/abcd").headers["allow"] == "DELETE, GET, PATCH"
    refuse(ana.get("/memories?contains=%00"), 422)
    refuse(ana.get("/memories/%00"), 422)
    refuse(ana.get("/memories?user=%00"), 422)
    refuse(ana.get("/memories/zz"), 422)


def test_a_canary(own_serving: Serving) -> None:
    """What is sent is in no log, no metric and no error, wherever it is sent."""
    serving = own_serving
    token = serving.token(owner=None)
    with serving.client(token, **{"X-Muniment-User": "ana"}) as client:
        keep(client, f"My dog is called {CANARY}")
        answers = [
            client.post("/memory/query", json={"agent": CANARY, "query": CANARY, "return": CANARY}),
            client.post("/memory/query", json={"agent": "supervisor", "query": CANARY, CANARY: CANARY}),
            client.post("/memory/query", json={"agent": "supervisor", "query": [CANARY], "categories": [CANARY]}),
            client.post("/memory/query", json={"agent": "supervisor", "query": CANARY, "as_of": CANARY}),
            client.post("/memory/query", json={"agent": "supervisor", "query": CANARY, "filters": {CANARY: 1}}),
            client.post(
                "/memory/query", json={"agent": "supervisor", "query": CANARY, "filters": {"updated_after": CANARY}}
            ),
            client.post("/memory/query", content=f'{{"query": "{CANARY}'.encode()),
            client.post("/turns", json={"session": CANARY, "turns": [{"key": CANARY, "role": CANARY, "text": CANARY}]}),
            client.post("/import", content=json.dumps({"text": CANARY, "kind": CANARY})),
            client.post("/import", content=CANARY),
            client.get("/memories", params={"category": CANARY}),
            client.get("/memories", params={"since": CANARY}),
            client.get("/memories", params={"state": CANARY}),
            client.get(f"/{CANARY}"),
            client.get("/memories", headers={"X-Request-Id": f"{CANARY}!"}),
        ]
        assert [answer.status_code for answer in answers if answer.status_code < 400] == [200]
        assert not [answer.text for answer in answers[:-1] if CANARY in answer.text]
        assert CANARY not in client.get("/metrics").text
    assert serving.stop() == 0
    assert CANARY not in serving.log
    assert token not in serving.log
    assert "/memory/query: 422" in serving.log


def test_request_ids(ana: httpx.Client, serving: Serving) -> None:
    """An id that the client gives comes back and is in the log; one that is none is replaced."""
    assert ana.get("/memories", headers={"X-Request-Id": "abc-1"}).headers["x-request-id"] == "abc-1"
    assert ana.get("/memories", headers={"X-Request-Id": "a b"}).headers["x-request-id"] != "a b"
    assert "INFO abc-1 muniment.http: GET /memories: 200" in serving.log
