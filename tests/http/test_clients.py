"""Many clients at once, clients that go away, and clients that ask too often."""

import asyncio
import runpy
import socket
import time
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

from tests.http.conftest import Serving
from tests.http.test_endpoints import keep
from tests.http.test_refusals import refuse


@pytest.mark.timeout(120)
async def test_no_crosstalk(serving: Serving) -> None:
    """Two users of each of two tenants ask at once with one token of a program each; each finds its own alone."""
    owners = [(tenant, user) for tenant in ("acme", "other") for user in ("ana", "bo")]
    tokens = {tenant: await asyncio.to_thread(serving.token, tenant=tenant, owner=None) for tenant in ("acme", "other")}

    async def live(tenant: str, user: str) -> list[str]:
        headers = {"Authorization": f"Bearer {tokens[tenant]}", "X-Muniment-User": user}
        mark = f"{tenant}-{user}"
        found: list[str] = []
        async with httpx.AsyncClient(base_url=serving.url, headers=headers, timeout=60) as client:
            for number in range(6):
                text = f"The password hint number {number} is {mark}"
                answer = await client.post("/memories", json={"text": text, "category": "knowledge"})
                assert answer.status_code in (200, 201), answer.text
                query = {"agent": "researcher", "query": "password hint", "top_k": 20}
                hits = (await client.post("/memory/query", json=query)).json()["results"]
                found += [hit["text"] for hit in hits]
                page = (await client.get("/memories")).json()["memories"]
                found += [memory["text"] for memory in page]
        assert found
        return [text for text in found if mark not in text]

    foreign = await asyncio.gather(*(live(*owner) for owner in owners for _ in range(3)))
    assert [texts for texts in foreign if texts] == []


def test_a_client_that_goes_away(serving: Serving) -> None:
    """A client that leaves before the answer leaves no request under way."""
    token, address = serving.token(), urlsplit(serving.url)
    with serving.client(token) as ana:
        keep(ana, "I live in Rome")
    body = b'{"agent": "supervisor", "query": "Rome"}'
    head = (
        f"POST /memory/query HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\nContent-Type: application/json\r\n"
    )
    for sent in (len(body), 5):  # whole, and in the middle of the body
        for _ in range(20):
            with socket.create_connection((address.hostname or "", address.port or 0)) as client:
                client.sendall(head.encode() + f"Content-Length: {len(body)}\r\n\r\n".encode() + body[:sent])
    until = time.monotonic() + 20
    with serving.client() as anyone:
        while 'muniment_requests_active{face="http"} 1.0' not in anyone.get("/metrics").text:
            assert time.monotonic() < until
            time.sleep(0.1)


def test_too_often(environment: dict[str, str], tmp_path: Path) -> None:
    """A token that asks too often is told when to come again; another one is not concerned."""
    (tmp_path / "settings.yaml").write_text("serve: {requests_per_second: 1, burst: 3}\n")
    service = Serving(
        environment | {"MUNIMENT_CONFIG": str(tmp_path / "settings.yaml")}, tmp_path / "log", ("--no-worker",)
    )
    service.start()
    with service.client(service.token()) as ana, service.client(service.token(owner="bo")) as bo:
        answers = [ana.get("/memories") for _ in range(12)]
        assert {answer.status_code for answer in answers} == {200, 429}
        error = refuse(next(answer for answer in answers if answer.status_code == 429), 429)
        assert error["type"] == "TooManyRequests"
        assert bo.get("/memories").status_code == 200
    assert service.stop() == 0


def test_the_example(serving: Serving, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """`examples/http_client.py` keeps a memory and finds it."""
    monkeypatch.setenv("MUNIMENT_URL", serving.url)
    monkeypatch.setenv("MUNIMENT_TOKEN", serving.token())
    runpy.run_path(str(Path(__file__).parents[2] / "examples" / "http_client.py"), run_name="__main__")
    assert capsys.readouterr().out == "[constraints] The user is allergic to peanuts\n"
