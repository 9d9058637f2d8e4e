"""`muniment proxy` as an installed program, on a database of its own, before a scripted upstream, over real HTTP."""

import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest

from muniment.faces.proxy.host.init import initialize_folder
from muniment.memory.bootstrap import open_token_configs
from muniment.memory.config.proxy_folder import load_proxy_settings
from muniment.testing import ScriptedOpenAI
from muniment.testing.openai_answers import Answer
from muniment.testing.openai_server import Request
from tests.conftest import Clones, alone
from tests.http.conftest import PROGRAM, START_SECONDS, make_environment, wait_until

LOG_LINE = re.compile(r"\[[\d-]+ [\d:,]+\] \[(DEBUG|INFO|WARNING|ERROR)\] \[rid=(-|[0-9a-f]{8})\] \[[\w.]+\] \S.*")
UPSTREAM_KEY = "upstream-key-5d1c"
TEST_SECONDS = 240
CONFIG: dict[str, Any] = {
    "llm_api_key": UPSTREAM_KEY,
    "memory_llm_provider": "rules",
    "embed_provider": "offline",
    "memory_limit": 5,
    "session_window_size": 10,
    "memory_place": "system",
}


@dataclass
class Proxy:
    """A process of the proxy, and the folder that it was started in."""

    folder: Path
    environment: dict[str, str]
    url: str = ""
    admin_token: str = ""
    process: subprocess.Popen[str] = field(init=False)

    def init(self) -> str:
        """Make the folder as `muniment proxy init` does, in this process, which has loaded all of it; the
        administrator's token."""
        with pytest.MonkeyPatch.context() as patch:
            for name in {name for name in os.environ if name.startswith("MUNIMENT_")} - self.environment.keys():
                patch.delenv(name)
            for name, value in self.environment.items():
                patch.setenv(name, value)
            return alone(initialize_folder(self.folder)).get_secret_value()

    def start(self) -> None:
        self.log_path.unlink(missing_ok=True)
        with self.log_path.open("a") as log:
            self.process = subprocess.Popen(
                [PROGRAM, "proxy", "start", str(self.folder), "--port", "0"],
                env=self.environment,
                stderr=log,
                stdout=log,
                text=True,
            )
        until, self.url = time.monotonic() + START_SECONDS, ""
        while not self.url:
            assert self.process.poll() is None, self.log
            assert time.monotonic() < until, self.log
            found = re.search(r"listening on (http://\S+)", self.log)
            self.url = found[1] if found else ""
            time.sleep(0.05)
        wait_until(self.is_healthy)

    def is_healthy(self) -> bool:
        try:
            return httpx.get(f"{self.url}/health").status_code == 200
        except httpx.TransportError:
            return False

    @property
    def log_path(self) -> Path:
        return self.folder.with_name(f"{self.folder.name}.log")

    @property
    def log(self) -> str:
        return self.log_path.read_text() if self.log_path.exists() else ""

    def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        """End it by a signal, and return the exit code."""
        self.process.send_signal(number)
        return self.process.wait(30)

    def register(self, upstream: ScriptedOpenAI | str, **fields: Any) -> str:
        """A new token for an upstream."""
        base_url = upstream if isinstance(upstream, str) else upstream.base_url
        given = CONFIG | {"llm_base_url": base_url} | fields

        async def register() -> str:
            settings = load_proxy_settings(self.folder, self.environment)
            async with open_token_configs(settings, as_owner=True) as configs:
                token, _ = await configs.register({key: value for key, value in given.items() if value is not None})
                return token.get_secret_value()

        return alone(register())

    def client(self, token: str | None = None, **headers: str) -> httpx.Client:
        given = {"Authorization": f"Bearer {token}"} if token else {}
        return httpx.Client(base_url=self.url, headers=given | headers, timeout=40)

    def chat(self, token: str, *messages: Any, **body: Any) -> httpx.Response:
        """Send a chat of these messages, texts as the user's."""
        said = [{"role": "user", "content": one} if isinstance(one, str) else one for one in messages]
        headers = body.pop("headers", {})
        with self.client(token, **headers) as client:
            return client.post("/v1/chat/completions", json={"model": "m", "messages": said} | body)

    def wait_kept(self, headers: httpx.Headers) -> None:
        """Wait until what follows the answer with these headers is done."""
        wait_until(lambda: any("kept" in line for line in self.read_lines(headers["x-muniment-request-id"])), 20)

    def read_lines(self, request_id: str) -> list[str]:
        return [line for line in self.log.splitlines() if f"[rid={request_id}]" in line]


@contextmanager
def run_proxy(folder: Path, environment: dict[str, str]) -> Iterator[Proxy]:
    """A proxy that runs in a folder that is made."""
    proxy = Proxy(folder, environment)
    try:
        proxy.admin_token = proxy.init()
        proxy.start()
        yield proxy
    finally:
        if hasattr(proxy, "process") and proxy.process.poll() is None:
            proxy.process.terminate()  # what a killed one has entered is counted by nobody
            try:
                proxy.process.wait(30)
            except subprocess.TimeoutExpired:
                proxy.process.kill()
                proxy.process.wait()
    strange = [line for line in proxy.log.splitlines() if not LOG_LINE.fullmatch(line)]
    assert strange == []


@pytest.fixture(scope="session")
def shared_proxy(clones: Clones, template: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxy]:
    """A proxy of many tests."""
    folder = tmp_path_factory.mktemp("proxy")
    with contextmanager(clones.make)(template) as url:
        environment = make_environment(url, folder / "home") | {"LOG_LEVEL": "DEBUG"}
        with run_proxy(folder / "folder", environment) as proxy:
            yield proxy


@pytest.fixture
def proxy(shared_proxy: Proxy) -> Proxy:
    """A proxy that runs."""
    return shared_proxy


@pytest.fixture
def own_proxy(database_url: str, tmp_path: Path) -> Iterator[Proxy]:
    """A proxy of this test's own, which it may end."""
    environment = make_environment(database_url, tmp_path / "home") | {"LOG_LEVEL": "DEBUG"}
    with run_proxy(tmp_path / "folder", environment) as proxy:
        yield proxy


class Upstream(ScriptedOpenAI):
    """An upstream that says OK, or what a test has put before."""

    def __init__(self, **script: Any) -> None:
        super().__init__(**script)
        self._waiting: list[Answer] = []

    def answer_next(self, answer: Answer) -> None:
        """Answer the next request with this, whatever it is."""
        self._waiting.append(answer)

    def answer_request(self, request: Request) -> Answer | None:
        if not self._waiting:
            return super().answer_request(request)
        self.requests.append(request)
        return self._waiting.pop(0)


@pytest.fixture
def upstream() -> Iterator[Upstream]:
    """An upstream of this test."""
    with Upstream() as server:
        yield server


@pytest.fixture
def token(proxy: Proxy, upstream: Upstream) -> str:
    """A token for the upstream."""
    return proxy.register(upstream)


@pytest.fixture
def admin_token(proxy: Proxy) -> str:
    """The token that the proxy's folder was made with."""
    return proxy.admin_token


Teach = Callable[[str, str], None]


@pytest.fixture
def teach(proxy: Proxy, upstream: Upstream) -> Teach:
    """Tell the memory of a token something, and wait until it is known."""

    def teach(token: str, text: str) -> None:
        proxy.chat(token, text)

        def is_known() -> bool:
            answer = proxy.chat(token, text, headers={"x-muniment-memory": "read"})
            found = re.search(r"injected=(\d+)", answer.headers["x-muniment-memory"])
            return bool(found and int(found[1]))

        wait_until(is_known, 20)

    return teach


def read_sent(upstream: ScriptedOpenAI) -> dict[str, Any]:
    """The body of the last request that came upstream."""
    return dict(json.loads(upstream.requests[-1].raw))


@pytest.fixture
def host(shared_proxy: Proxy) -> Any:
    """The proxy of many tests, with a look into its database."""
    from tests.proxy.hosting import Host

    return Host(shared_proxy)


@pytest.fixture
def own_host(own_proxy: Proxy) -> Any:
    """A proxy of this test's own, with a look into its database."""
    from tests.proxy.hosting import Host

    return Host(own_proxy)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give a test that starts processes more time: on a busy machine each takes many seconds to start."""
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents and item.get_closest_marker("timeout") is None:
            item.add_marker(pytest.mark.timeout(TEST_SECONDS))
