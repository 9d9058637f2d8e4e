"""What the proxy does when something it stands on is away, slow, or goes in the middle."""

import os
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import psutil  # type: ignore[import-untyped] # it has no types
import pytest

from muniment.testing.openai_answers import Answer
from tests.http.conftest import make_environment, wait_until
from tests.logins import build_login_url
from tests.proxy.conftest import Proxy, Upstream, run_proxy
from tests.wire import Wire

_EVENTS = (("content-type", "text/event-stream"),)


@pytest.mark.timeout(150)
def test_the_database(database_url: str, tmp_path: Path) -> None:
    """Without the database, or with one that is slow, a request is 502 in its time and the upstream is not asked; the
    health is open; afterwards it goes on."""
    with Wire(build_login_url(database_url)) as wire, Upstream() as upstream:
        (tmp_path / "settings.yaml").write_text("database: {silent_seconds: 2}\n")
        environment = make_environment(database_url, tmp_path / "home") | {
            "MUNIMENT_DATABASE_URL": wire.url,
            "MUNIMENT_CONFIG": str(tmp_path / "settings.yaml"),
            "MEMORY_SEARCH_TIMEOUT": "3",
        }
        with run_proxy(tmp_path / "folder", environment) as proxy:
            direct = Proxy(proxy.folder, environment | {"MUNIMENT_DATABASE_URL": build_login_url(database_url)})
            token = direct.register(upstream)
            assert proxy.chat(token, "Hello").status_code == 200
            wire.stall()
            began, asked = time.monotonic(), len(upstream.requests)
            answer = proxy.chat(token, "What is my favorite color?")
            assert answer.json()["error"]["type"] == "memory_error"
            assert answer.status_code == 502
            assert time.monotonic() - began < 15
            assert len(upstream.requests) == asked
            assert httpx.get(f"{proxy.url}/health").status_code == 200
            wire.heal()
            wait_until(lambda: proxy.chat(token, "What is my favorite color?").status_code == 200)


def test_no_connection_is_held(own_proxy: Proxy) -> None:
    """More requests wait for the upstream at once than there are connections to the database."""
    with Upstream(latency=2.0) as upstream:
        token = own_proxy.register(upstream)
        with ThreadPoolExecutor(40) as pool:
            began = time.monotonic()
            answers = [*pool.map(lambda n: own_proxy.chat(token, f"What is {n}?"), range(40))]
            assert [each.status_code for each in answers] == [200] * 40
            assert time.monotonic() - began < 20


@pytest.mark.timeout(120)
def test_a_client_that_goes(proxy: Proxy, upstream: Upstream) -> None:
    """When the client goes away the upstream's stream is closed, and what was said until then is no answer."""
    token = proxy.register(upstream)
    events = tuple(f'data: {{"choices":[{{"index":0,"delta":{{"content":"w{n}"}}}}]}}\n\n'.encode() for n in range(200))
    upstream.answer_next(Answer(headers=_EVENTS, body=events, pace=0.1))
    body = {"model": "m", "stream": True, "messages": [{"role": "user", "content": "Hello"}]}
    with proxy.client(token) as client, client.stream("POST", "/v1/chat/completions", json=body) as answer:
        next(answer.iter_raw())
    wait_until(lambda: upstream.abandoned == 1, 10)
    proxy.wait_kept(answer.headers)
    proxy.chat(token, "And?")
    assert "w0" not in upstream.requests[-1].raw.decode()


@pytest.mark.timeout(120)
def test_a_client_that_leaves_after_the_last_event(proxy: Proxy, upstream: Upstream) -> None:
    """Clients close a stream at its last event; the upstream ends it later, and the answer is stored all the same."""
    token = proxy.register(upstream)
    said = b'data: {"choices":[{"index":0,"delta":{"content":"A pelican."},"finish_reason":"stop"}]}\n\n'
    upstream.answer_next(Answer(headers=_EVENTS, body=(said + b"data: [DONE]\n\n", b": end\n\n"), pace=1.0))
    body = {"model": "m", "stream": True, "messages": [{"role": "user", "content": "Which bird?"}]}
    with proxy.client(token) as client, client.stream("POST", "/v1/chat/completions", json=body) as answer:
        assert any("[DONE]" in line for line in answer.iter_lines())
    wait_until(lambda: upstream.abandoned == 1, 10)
    proxy.wait_kept(answer.headers)
    proxy.chat(token, "And?")
    assert "A pelican." in upstream.requests[-1].raw.decode()


@pytest.mark.timeout(120)
def test_a_killed_proxy(own_proxy: Proxy) -> None:
    """After kill -9 in the middle of requests the proxy starts, and no message is there twice."""
    with Upstream() as upstream:
        token = own_proxy.register(upstream, session_window_size=100)
        for kill in range(3):
            threads = [
                threading.Thread(target=send_quietly, args=(own_proxy, token, f"This is {kill}-{n}.")) for n in range(6)
            ]
            for thread in threads:
                thread.start()
            time.sleep(0.05 * (kill + 1))
            os.kill(own_proxy.process.pid, signal.SIGKILL)
            own_proxy.process.wait()
            for thread in threads:
                thread.join()
            own_proxy.start()
            for n in range(6):
                own_proxy.wait_kept(own_proxy.chat(token, f"This is {kill}-{n}.").headers)
        own_proxy.chat(token, "And?")
        said = [each["content"] for each in upstream.requests[-1].body["messages"] if each["role"] == "user"]
        assert len(said) == len(set(said))


def send_quietly(proxy: Proxy, token: str, text: str) -> None:
    try:
        proxy.chat(token, text)
    except httpx.TransportError:
        return


@pytest.mark.timeout(180)
def test_memory_stays_level(own_proxy: Proxy) -> None:
    """The memory of the process is level over requests, large ones among them."""
    with Upstream() as upstream:
        token = own_proxy.register(upstream)
        large = {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:," + "A" * 20_000_000}}]}
        process = psutil.Process(own_proxy.process.pid)

        def send_some() -> int:
            for n in range(60):
                own_proxy.chat(token, f"What is {n}?")
            own_proxy.chat(token, large)
            upstream.requests.clear()
            return int(process.memory_info().rss)

        send_some()
        before = send_some()
        for _ in range(3):
            after = send_some()
        assert after < before + 30_000_000
