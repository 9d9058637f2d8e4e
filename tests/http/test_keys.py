"""Writes with an idempotency key: each is made once, whatever is sent again."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx

from tests.http.conftest import Serving
from tests.http.test_endpoints import keep
from tests.http.test_refusals import refuse

SAID = {
    "session": "s1",
    "turns": [
        {"key": "1", "text": "I am vegetarian."},
        {"key": "2", "role": "assistant", "text": "Noted."},
        {"key": "3", "text": "My sister lives in Rome."},
    ],
}


def write(client: httpx.Client, method: str, path: str, body: object = None, key: str = "k") -> httpx.Response:
    return client.request(method, path, json=body, headers={b"Idempotency-Key": key.encode("latin-1")})


def test_every_write_takes_a_key(serving: Serving, ana: httpx.Client) -> None:
    """A request that is sent again has the first answer to the byte, and the revision of the memory stays."""
    id_ = keep(ana, "I live in Oslo", category="profile")["id"]
    ana.post("/turns", json={"session": "s1", "turns": [{"key": "1", "text": "Call me Annie."}]})
    waiting = ana.get("/consents").json()["requests"][0]["id"]
    writes: list[tuple[str, str, object]] = [
        ("POST", "/memories", {"text": "Kafka is a queue", "category": "knowledge"}),
        ("PATCH", f"/memories/{id_}", {"aliases": ["home"]}),
        ("PATCH", f"/memories/{id_}", {"pinned": True}),
        ("DELETE", f"/memories/{id_}/pin", None),
        ("PUT", f"/memories/{id_}/pin", None),
        ("DELETE", f"/memories/{id_}", None),
        ("POST", f"/memories/{id_}/restore", None),
        ("POST", "/consents/decisions", {"ids": [waiting], "approve": True}),
        ("POST", "/turns", SAID),
    ]
    for number, (method, path, body) in enumerate(writes):
        first = write(ana, method, path, body, f"key {number}")
        assert first.is_success, (path, first.text)
        rev = ana.get("/stats").json()["status"]["rev"]
        again = write(ana, method, path, body, f"key {number}")
        assert (again.status_code, again.json()) == (first.status_code, first.json()), path
        assert ana.get("/stats").json()["status"]["rev"] == rev
    described = ana.get("/openapi.json").json()["paths"]
    for method, path, _ in writes:
        operation = described[path.replace(str(id_), "{memory_id}")][method.lower()]
        assert "Idempotency-Key" in [each["name"] for each in operation["parameters"]], path
    with serving.client(serving.token(owner="bo")) as bo:  # a key is of its user
        assert write(bo, "POST", "/memories", {"text": "I live in Oslo"}, "key 0").status_code == 201


def test_a_key_of_another_request(ana: httpx.Client) -> None:
    """A key that was used for another request, or is none, is refused, and nothing is written."""
    assert write(ana, "POST", "/memories", {"text": "Kafka is a queue"}).status_code == 201
    assert write(ana, "POST", "/turns", SAID, "t").status_code == 200
    others: list[tuple[str, object, str]] = [
        ("/memories", {"text": "Rust has no garbage collector"}, "k"),
        ("/memories", {"text": "Kafka is a queue", "category": "knowledge"}, "k"),
        ("/turns", SAID, "k"),
        ("/turns", {**SAID, "session": "s2"}, "t"),
        ("/turns", {**SAID, "turns": SAID["turns"][:1]}, "t"),
    ]
    rev = ana.get("/stats").json()["status"]["rev"]
    for path, body, key in others:
        error = refuse(write(ana, "POST", path, body, key), 422)
        assert error["type"] == "KeyReused"
    for key in ("", "a" * 201, "a\xa0b"):
        assert refuse(write(ana, "POST", "/memories", {"text": "Kafka is a queue"}, key), 422)["type"] == "BadInput"
    assert ana.get("/stats").json()["status"]["rev"] == rev


def test_a_key_at_once(serving: Serving) -> None:
    """Requests with one key that come together are one write with one answer."""
    token, body = serving.token(), {"text": "Kafka is a queue", "category": "knowledge"}

    def post(_: int) -> tuple[int, Any]:
        with serving.client(token) as client:
            answer = write(client, "POST", "/memories", body)
            return answer.status_code, answer.json()

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(post, range(16)))
    assert answers[0][0] == 201
    assert answers == answers[:1] * 16
    with serving.client(token) as client:
        assert client.get("/memories").json()["total"] == 1
