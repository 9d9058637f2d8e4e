"""The process of `muniment serve`: its socket, its end, its database."""

import asyncio
import socket
import subprocess
import threading
from pathlib import Path

import httpx
import pytest

from muniment.faces.http.server import create_service
from muniment.memory.bootstrap import open_memory, open_tokens, run_worker
from muniment.memory.config.settings import load_settings
from tests.http.conftest import PROGRAM, Serving


def test_a_port_in_use(environment: dict[str, str]) -> None:
    """A port that is taken is one line and the exit code of usage, before anything is opened."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        ended = subprocess.run(
            [PROGRAM, "serve", "--port", port], env=environment, capture_output=True, text=True, timeout=30, check=False
        )
    assert (ended.returncode, ended.stdout) == (2, "")
    (line,) = ended.stderr.splitlines()
    assert line == f"muniment: error: --host 127.0.0.1 --port {port}: another process listens there; give another"


@pytest.mark.timeout(120)
def test_sigterm_under_load(own_serving: Serving) -> None:
    """At SIGTERM what is under way is answered and kept, nothing is answered half, and the exit code is 0."""
    serving = own_serving
    token, kept, lock, stop = serving.token(), list[str](), threading.Lock(), threading.Event()
    bad: list[str] = []

    def write(number: int) -> None:
        count = 0
        with serving.client(token) as client:
            while not stop.is_set():
                count += 1
                text = f"The code of room {number}-{count} is blue"
                try:
                    answer = client.post("/memories", json={"text": text, "category": "knowledge"})
                except httpx.TransportError:
                    return  # refused or closed after the end
                if answer.status_code in (200, 201):
                    with lock:
                        kept.extend(change["id"] for change in answer.json()["changes"])
                elif answer.status_code not in (409, 429, 503):
                    bad.append(answer.text)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    serving.wait(2)
    assert serving.stop() == 0
    stop.set()
    for thread in threads:
        thread.join()
    assert kept
    assert bad == []
    serving.url = ""
    serving.log_path = serving.log_path.with_name("log2")
    serving.start()
    with serving.client(token) as client:
        there = {one["id"] for one in client.get("/memories", params={"limit": 1000}).json()["memories"]}
    assert set(kept) <= there


def test_with_a_worker(environment: dict[str, str], tmp_path: Path) -> None:
    """The worker inside ends with the service; Ctrl-C and SIGTERM are the same."""
    service = Serving(environment, tmp_path / "log")
    service.start()
    with service.client(service.token()) as ana:
        assert ana.post("/memories", json={"text": "I live in Rome"}).status_code == 201
    assert service.stop() == 0
    assert "Traceback" not in service.log


async def test_a_worker_that_ends(environment: dict[str, str]) -> None:
    """Without the worker that it began with, the service is not ready."""
    settings = load_settings(environment)
    async with open_memory(settings) as memory, open_tokens(settings) as tokens, run_worker(settings, memory) as worker:
        service = create_service(settings, memory, tokens, worker)
        assert await service.is_ready()
        worker.cancel()
        await asyncio.wait([worker])
        assert not await service.is_ready()
