"""The service is killed under load: what it has acknowledged is there once."""

import threading
import time
from collections import Counter
from urllib.parse import urlsplit

import httpx
import pytest

from tests.http.conftest import Serving

KILLS, WRITERS = 3, 4
NAMES = ("Bela", "Cleo", "Dora", "Enzo", "Filo", "Gala", "Hedi", "Iggy", "Juna", "Kaya", "Lior", "Mila")


@pytest.mark.timeout(180)
def test_killed_under_load(own_serving: Serving) -> None:
    """Clients that send a write with its key until it is acknowledged find each once, under the acknowledged id."""
    serving, token, is_over = own_serving, own_serving.token(), threading.Event()
    serving.arguments = (*serving.arguments, "--port", str(urlsplit(serving.url).port))
    kept: dict[str, str] = {}

    def write(number: int) -> None:
        count = 0
        with httpx.Client(base_url=serving.url, headers={"Authorization": f"Bearer {token}"}, timeout=30) as client:
            while not is_over.is_set():
                name = NAMES[count % len(NAMES)] + "abcdefghij"[count // len(NAMES) % 10] + "klmnopqrst"[number]
                sent = {"text": f"My friend {name} plays the cello."}
                answer = None
                while answer is None or not answer.is_success:
                    try:
                        answer = client.post("/memories", json=sent, headers={"Idempotency-Key": f"{number} {count}"})
                    except httpx.TransportError:
                        time.sleep(0.1)
                kept[name] = answer.json()["changes"][0]["id"]
                count += 1

    threads = [threading.Thread(target=write, args=(number,)) for number in range(WRITERS)]
    for thread in threads:
        thread.start()
    for number in range(KILLS):
        before = len(kept)
        while len(kept) < before + 3 + 4 * number:
            serving.wait(0.01)
        serving.process.kill()
        serving.process.wait()
        serving.start()
    is_over.set()
    for thread in threads:
        thread.join()
    with serving.client(token) as client:
        memories = client.get("/memories", params={"limit": 1000}).json()["memories"]
        changes = client.get("/memory/changes", params={"limit": 1000}).json()["changes"]
    there = {memory["text"].split()[3]: memory["id"] for memory in memories}
    assert {name: there.get(name) for name in kept} == kept
    assert len(memories) == len(kept)
    added = Counter(change["id"] for change in changes if change["action"] == "ADD")
    assert set(added.values()) == {1}
