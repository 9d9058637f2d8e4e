"""What is removed for good over HTTP."""

import httpx

from tests.http.conftest import Serving
from tests.http.test_endpoints import keep
from tests.http.test_refusals import refuse


def test_one_memory(serving: Serving, ana: httpx.Client) -> None:
    """A memory goes with its history and what says it elsewhere, and the receipt has numbers alone."""
    said = {"session": "s1", "turns": [{"key": "1", "text": "My sister lives in Rome."}]}
    (change,) = ana.post("/turns", json=said).json()["receipts"][0]["changes"]
    other = keep(ana, "Kafka is a queue", category="knowledge")["id"]
    path = f"/memories/{change['id']}"
    with serving.client(serving.token(agents=("planner",))) as planner:
        refuse(planner.delete(path, params={"hard": True}), 404)
        goal = keep(ana, "I want to run a marathon", category="goals")["id"]
        refuse(planner.delete(f"/memories/{goal}", params={"hard": True}), 403)
    receipt = ana.delete(path, params={"hard": True})
    assert (receipt.status_code, receipt.json()["what"]) == (200, "memory")
    assert receipt.json()["counts"]["memories"] == 1
    assert "Rome" not in receipt.text
    refuse(ana.get(path), 404)
    refuse(ana.delete(path, params={"hard": True}), 404)
    assert "Rome" not in ana.get("/export").text
    assert ana.get(f"/memories/{other}").status_code == 200


def test_a_user(serving: Serving) -> None:
    """All of a user goes, with the tokens, by a token with `admin` and the user's name once more; others stay."""
    admin = serving.token(owner=None, scopes=("admin",))
    with serving.client(admin, **{"X-Muniment-User": "ana"}) as office, serving.client(serving.token()) as ana:
        keep(ana, "I live in Rome")
        with serving.client(serving.token(owner="bo")) as bo:
            keep(bo, "I live in Oslo")
            refuse(bo.delete("/memories", params={"confirm": "bo"}), 403)
            refuse(office.delete("/memories"), 422)
            refuse(office.delete("/memories", params={"confirm": "bo"}), 422)
            receipt = office.delete("/memories", params={"confirm": "ana"}).json()
            assert (receipt["what"], receipt["counts"]["memories"]) == ("user", 1)
            assert receipt["counts"]["tokens"] >= 1
            assert office.get("/memories").json()["total"] == 0
            assert bo.get("/memories").json()["total"] == 1
            assert office.delete("/memories", params={"confirm": "ana"}).json()["counts"] == {}
