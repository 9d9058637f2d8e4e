"""The database goes away and comes back: the service says so, and needs no restart."""

import threading
import time
from pathlib import Path

import pytest

from tests.http.conftest import Serving, wait_until
from tests.http.test_changes import follow
from tests.http.test_refusals import refuse
from tests.logins import build_login_url
from tests.wire import Wire

SETTINGS = "database: {silent_seconds: 2}\nserve: {timeout_seconds: 5}\n"


def follow_revisions(service: Serving) -> list[int]:
    """The revisions of a stream of changes, which a thread adds as they come."""
    revisions: list[int] = []
    client = service.client(service.token())

    def read() -> None:
        with client, follow(client) as events:
            revisions.extend(events)

    threading.Thread(target=read, daemon=True).start()
    return revisions


@pytest.mark.timeout(120)
def test_away_and_back(environment: dict[str, str], database_url: str, tmp_path: Path) -> None:
    """Without the database it is alive and not ready, and refuses with 503 and a time to try again; then it goes on."""
    (tmp_path / "settings.yaml").write_text(SETTINGS)
    with Wire(build_login_url(database_url)) as proxy:
        quick = {"MUNIMENT_DATABASE_URL": proxy.url, "MUNIMENT_CONFIG": str(tmp_path / "settings.yaml")}
        service = Serving(environment | quick, tmp_path / "log")
        service.start()
        query = {"agent": "supervisor", "query": "where do I live?"}
        with service.client(service.token()) as ana:
            assert ana.post("/memories", json={"text": "I live in Rome"}).status_code == 201

            def status(path: str) -> int:
                return ana.get(path).status_code

            followed = follow_revisions(service)
            wait_until(lambda: 1 in followed)
            proxy.stall()
            wait_until(lambda: status("/ready") == 503)
            assert status("/health") == 200
            began = time.monotonic()
            error = refuse(ana.post("/memory/query", json=query), 503)
            assert error["type"] in ("StoreDown", "StoreError", "TimedOut")
            assert time.monotonic() - began < 20  # the timeout of the settings, on a busy machine
            proxy.heal()
            wait_until(lambda: status("/ready") == 200)
            wait_until(lambda: ana.post("/memory/query", json=query).status_code == 200)
            assert "Rome" in ana.post("/memory/query", json=query).text
            wait_until(lambda: ana.post("/memories", json={"text": "Kafka is a queue"}).status_code == 201)
            rev = ana.get("/memory/changes").json()["rev"]
            wait_until(lambda: rev in followed)
            assert followed == list(range(1, rev + 1))
        assert service.stop() == 0
        assert "Traceback" not in service.log


def test_no_database(environment: dict[str, str], tmp_path: Path) -> None:
    """A database that is not there at the start is one line and its exit code."""
    nowhere = "postgresql://nobody@127.0.0.1:9/none"
    service = Serving(environment | {"MUNIMENT_DATABASE_URL": nowhere, "MUNIMENT_OWNER_URL": nowhere}, tmp_path / "log")
    with pytest.raises(AssertionError):
        service.start()
    assert service.process.wait(30) == 6
    (line,) = service.log.splitlines()
    assert line.startswith("muniment: error: ")
