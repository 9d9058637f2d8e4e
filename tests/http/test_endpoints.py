"""Each endpoint of `muniment serve`, over real HTTP."""

import json
from typing import Any

import httpx

from tests.http.conftest import Serving

STATUSES = {"401", "403", "404", "409", "413", "422", "429", "503"}


def keep(client: httpx.Client, text: str, **more: object) -> dict[str, object]:
    answer = client.post("/memories", json={"text": text, **more})
    assert answer.status_code in (200, 201), answer.text
    (change,) = answer.json()["changes"]
    return dict(change)


def test_health_ready_metrics(own_serving: Serving) -> None:
    """Health, readiness, metrics and the description need no token, and everything else does."""
    with own_serving.client() as anyone:
        assert anyone.get("/health").json()["status"] == "ok"
        assert anyone.get("/ready").json() == {"status": "ready"}
        assert (
            'muniment_requests_total{face="http",operation="/health",status="200"} 1.0' in anyone.get("/metrics").text
        )
        paths = anyone.get("/openapi.json").json()["paths"]
        for path, methods in paths.items():
            for method in methods:
                if path not in ("/health", "/ready", "/metrics"):
                    assert anyone.request(method, path).status_code == 401, (method, path)
                    assert {"401", "403", "404", "409", "413", "422", "429", "503"} <= methods[method][
                        "responses"
                    ].keys()


def test_a_query(ana: httpx.Client) -> None:
    """A query has the fields of `memory.query` and answers with bullets or whole memories, within the allowlist."""
    keep(ana, "I am allergic to peanuts")
    bullets = ana.post("/memory/query", json={"agent": "supervisor", "query": "peanuts"}).json()
    assert [hit["text"] for hit in bullets["results"]] == ["[constraints] The user is allergic to peanuts"]
    whole = ana.post(
        "/memory/query", json={"agent": "supervisor", "query": "peanuts", "return": "full", "explain": True}
    )
    assert whole.json()["results"][0]["category"] == "constraints"
    narrowed = {"agent": "supervisor", "query": "peanuts", "filters": {"pinned": True, "updated_after": None}}
    assert ana.post("/memory/query", json=narrowed).json()["results"] == []
    denied = ana.post("/memory/query", json={"agent": "planner", "query": "x", "categories": ["profile"]})
    assert (denied.status_code, denied.json()["error"]["type"]) == (403, "Denied")
    verdict = ana.post("/memory/why-not", json={**narrowed, "memory_id": bullets["results"][0]["id"]}).json()
    assert verdict["reason"] == "filtered"


def test_the_life_of_a_memory(ana: httpx.Client) -> None:
    """A memory is kept, read, listed, pinned, given other names, forgotten and restored, and its history has it all."""
    id_ = keep(ana, "My sister lives in Rome")["id"]
    assert ana.post("/memories", json={"text": "My sister lives in Rome"}).status_code == 200
    assert ana.get(f"/memories/{id_}").json()["id"] == id_
    assert ana.get(f"/memories/{str(id_)[:8]}").json()["id"] == id_
    assert ana.put(f"/memories/{id_}/pin").status_code == 200
    assert ana.get("/memories", params={"pinned": True}).json()["total"] == 1
    assert ana.delete(f"/memories/{id_}/pin").status_code == 200
    assert ana.patch(f"/memories/{id_}", json={"pinned": True}).status_code == 200
    assert ana.patch(f"/memories/{id_}", json={"aliases": ["Sis"]}).status_code == 200
    assert ana.get(f"/memories/{id_}").json()["aliases"] == ["Sis"]
    assert ana.delete(f"/memories/{id_}").status_code == 200
    assert ana.get("/memories").json()["memories"] == []
    assert ana.get("/memories", params={"state": "soft_deleted"}).json()["total"] == 1
    assert ana.post(f"/memories/{id_}/restore").status_code == 200
    for path in (f"/memory/{id_}/history", f"/memories/{id_}/history"):
        actions = [entry["action"] for entry in ana.get(path).json()["history"]]
        assert (actions[0], actions[-1]) == ("RESTORE", "ADD")
        assert "DELETE" in actions
    assert ana.patch(f"/memories/{id_}", json={}).status_code == 422


def test_a_memory_is_changed_by_hand_and_a_version_comes_back(ana: httpx.Client) -> None:
    """What was seen is what is changed, and the same key changes it once."""
    kept = keep(ana, "I live in Lisbon")
    path, rev = f"/memories/{kept['id']}", ana.get(f"/memories/{kept['id']}").json()["rev"]
    body = {"text": "The user lives in Porto", "importance": 5, "rev": rev}
    for _ in range(2):
        changed = ana.patch(path, json=body, headers={"Idempotency-Key": "edit"})
        assert changed.status_code == 200, changed.text
    assert [change["text"] for change in changed.json()["changes"]] == ["The user lives in Porto"]
    assert ana.patch(path, json=body | {"text": "The user lives in Rome"}).status_code == 409
    assert ana.patch(path, json={"text": "I met you."}).status_code == 422
    assert ana.patch(path, json={"pinned": True, "importance": 1}).status_code == 422
    assert ana.patch(path, json={"category": "no such"}).status_code == 403
    assert ana.post(f"{path}/restore", params={"version": rev}).status_code == 200
    assert ana.get(path).json()["text"] == "The user lives in Lisbon"
    assert ana.get("/memories", params={"session_id": "no such"}).json()["total"] == 0


def test_places_sources_and_ends(ana: httpx.Client) -> None:
    """What holds in a project or a session is found there alone, over every route; filters narrow to it."""
    project, session = {"X-Muniment-Project": "harbour"}, {"session": "s1"}
    body = {"text": "We build with pnpm", "reach": "project", "source": "docs/build.md", "app": "editor"}
    assert ana.post("/memories", json=body).status_code == 422
    assert ana.post("/memories", json=body | {"expires_at": "2999-01-01"}, headers=project).status_code == 201
    kept = ana.post("/memories", json={"text": "pnpm is tried today", "reach": "session", **session})
    assert kept.status_code == 201, kept.text

    def ask(headers: dict[str, str], **more: Any) -> list[str]:
        answer = ana.post("/memory/query", json={"query": "pnpm", "agent": "supervisor", **more}, headers=headers)
        return [hit["text"] for hit in answer.json()["results"]]

    assert ask({}) == []
    [found] = ask(project)
    assert found.endswith("(source: docs/build.md)")
    assert len(ask(project, **session)) == 2
    assert len(ask(project, **session, filters={"reach": "session"})) == 1
    assert ask(project, filters={"app_id": "editor", "source": "docs/build.md"}) != []
    assert ana.get("/memories").json()["total"] == 0
    assert ana.get("/memories", headers=project, params=session).json()["total"] == 2
    [one, two] = ana.get("/memories", params={"everywhere": True}).json()["memories"]
    assert {one["reach"], two["reach"]} == {"project", "session"}
    text = {"text": "How do we build with pnpm?", "agent": "supervisor"}
    assert "pnpm" not in ana.get("/context", params=text).json()["moving"]
    assert "docs/build.md" in ana.get("/context", params=text, headers=project).json()["moving"]
    for wrong in ({"reach": "moon"}, {"expires_at": "soon"}, {"expires_at": "2001-01-01"}, {"source": ""}):
        assert ana.post("/memories", json={"text": "I live in Rome"} | wrong).status_code == 422, wrong


def test_pages(ana: httpx.Client) -> None:
    """A page names the one that follows, and the last names none."""
    for thing in ("Kafka is a queue", "Rust has no garbage collector", "Lima is the capital of Peru"):
        keep(ana, thing, category="knowledge")
    first = ana.get("/memories", params={"limit": 2, "category": "knowledge"}).json()
    assert (first["total"], first["next"], len(first["memories"])) == (3, 2, 2)
    second = ana.get("/memories", params={"limit": 2, "offset": first["next"]}).json()
    assert "next" not in second
    assert ana.get("/memories", params={"limit": 0}).status_code == 422


def test_turns_and_context(ana: httpx.Client) -> None:
    """What the user says is learned once, and goes before a model with what changed since the thread has looked."""
    said = {
        "session": "s1",
        "turns": [{"key": "1", "text": "I am vegetarian."}, {"key": "2", "role": "assistant", "text": "Noted."}],
    }
    (receipt,) = ana.post("/turns", json=said).json()["receipts"]
    assert receipt["changes"]
    assert ana.post("/turns", json=said).json()["receipts"][0]["changes"] == []
    context = ana.get("/context", params={"agent": "supervisor", "text": "what may I eat?", "thread": "t"}).json()
    assert any("vegetarian" in bullet for bullet in [context["stable"], *context["bullets"]])
    assert context["header"].startswith("Memory updates since rev")


def test_consents(ana: httpx.Client) -> None:
    """A change of the profile waits for a yes, is listed, and is decided once."""
    ana.post("/turns", json={"session": "s1", "turns": [{"key": "1", "text": "Call me Annie."}]})
    waiting = ana.get("/consents").json()["requests"]
    assert [(one["field"], one["value"]) for one in waiting] == [("preferred_name", "Annie")]
    decision = {"ids": [waiting[0]["id"]], "approve": True}
    assert ana.post("/consents/decisions", json=decision).status_code == 200
    assert ana.get("/consents").json()["requests"] == []
    assert ana.get("/consents", params={"decided": True}).json()["requests"][0]["decision"] == "approved"
    assert ana.post("/consents/decisions", json=decision).status_code == 404


def test_export_and_import(serving: Serving, ana: httpx.Client) -> None:
    """An export is restored by an import into an empty memory; plain rows go into any."""
    keep(ana, "My sister lives in Rome")
    lines = ana.get("/export")
    assert lines.headers["content-type"].startswith("application/jsonl")
    assert {json.loads(line)["type"] for line in lines.text.splitlines()} >= {"space", "memory", "journal"}
    with serving.client(serving.token(owner=None, scopes=("admin",)), **{"X-Muniment-User": "bo"}) as other:
        assert other.post("/import", content=lines.content).json()["imported"] >= 1
        assert other.get("/memories").json()["total"] == 1
        assert other.get("/export", params={"content": True}).text == ana.get("/export", params={"content": True}).text
        plain = '{"text": "User lives in Oslo"}\n\n{"text": "User has a dog"}'
        assert other.post("/import", content=plain).json()["imported"] == 2
        for wrong in ("nonsense", "[1]", '{"text": "a\\u0000b"}'):
            assert other.post("/import", content=wrong).status_code == 422
    assert ana.get("/stats").json()["status"]


def test_a_user_of_each_request(serving: Serving) -> None:
    """A token of no user acts for the users of its tenant that requests name; one of a user only for that user."""
    with serving.client(serving.token(owner=None)) as program:
        assert program.get("/memories").status_code == 422
        for name, city in (("ana", "Rome"), ("bö", "Oslo")):
            answer = program.post("/memories", params={"user": name}, json={"text": f"I live in {city}"})
            assert answer.status_code == 201
        header = {b"X-Muniment-User": "bö".encode()}
        (memory,) = program.get("/memories", headers=header).json()["memories"]
        assert "Oslo" in memory["text"]
        assert program.get("/memories", params={"user": "ana"}, headers=header).status_code == 422
    with serving.client(serving.token()) as ana:
        assert ana.get("/memories").json()["total"] == 1
        assert ana.get("/memories", params={"user": "ana"}).json()["total"] == 1
        assert ana.get("/memories", params={"user": "bö"}).status_code == 403


def test_a_text_that_is_only_a_secret_is_refused(ana: httpx.Client) -> None:
    """The error has a type of its own, the requests are counted, and nothing of the secret comes back."""
    key = "sk-" + "proj4Hq8Zt2Lw9Xc5Vb7Nm3Kd6Jf1Gs0Pa"
    answer = ana.post("/memories", json={"text": key})
    assert answer.status_code == 422
    assert answer.json()["error"]["type"] == "OnlySecret"
    assert key not in answer.text
    assert 'operation="/memories",status="422"' in ana.get("/metrics").text
