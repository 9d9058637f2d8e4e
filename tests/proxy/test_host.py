"""The folder of a proxy, its start and its end."""

import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import httpx
import pytest

from muniment.faces.proxy.host import folder as host_folder
from muniment.memory.bootstrap import open_tokens
from muniment.memory.config.proxy_folder import load_proxy_settings
from muniment.memory.errors import BadConfig, Busy, InitInterrupted, NotInitialized
from muniment.memory.stores.postgres.embedded.server import find_server
from muniment.testing.openai_answers import Answer
from tests.conftest import alone
from tests.http.conftest import PROGRAM, make_environment, wait_until
from tests.proxy.conftest import LOG_LINE, Proxy, Upstream


@pytest.fixture
def environment(database_url: str, tmp_path: Path) -> dict[str, str]:
    """The environment of a proxy on a database of the test's own."""
    return make_environment(database_url, tmp_path / "home")


def run(environment: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [PROGRAM, "proxy", *arguments], env=environment, capture_output=True, text=True, timeout=60, check=False
    )


def test_init(environment: dict[str, str], tmp_path: Path) -> None:
    """It makes the settings, both templates and the markers, shows a token once, and makes no folder twice."""
    folder = tmp_path / "folder"
    made = run(environment, "init", str(folder))
    assert made.returncode == 0
    assert re.fullmatch(r"mun_[\w-]{43}\n", made.stdout)
    assert {each.name for each in folder.iterdir()} == {".env", ".gitignore", ".initialized", "templates"}
    assert {each.name for each in (folder / "templates").iterdir()} == {"memory_template.md", "memory_template_zh.md"}
    assert all("{memories}" in each.read_text() for each in (folder / "templates").iterdir())
    text = (folder / ".env").read_text()
    for line in (
        "LOG_LEVEL=INFO",
        "MEMORY_BRIDGE_HOST=localhost",
        "MEMORY_BRIDGE_PORT=8000",
        "HTTP_TIMEOUT=120",
        "MEMORY_SEARCH_TIMEOUT=30",
        "MEMORY_STORE_TIMEOUT=120",
        "MEMORY_TEMPLATE_PATH=templates/memory_template.md",
    ):
        assert line in text.splitlines()
    assert made.stdout.strip() not in "".join(each.read_text() for each in folder.rglob("*") if each.is_file())
    again = run(environment, "init", str(folder))
    assert (again.returncode, again.stdout) == (2, "")


_KILLER = """
import os, signal, sys
from muniment.faces.cli import main
step = int(sys.argv.pop(1))
def trace(frame, event, _):
    global step
    if event == "call" and "faces/proxy/host" in frame.f_code.co_filename or frame.f_code.co_name in (
        "ensure_database", "issue_token", "add_grant", "revoke_token"
    ):
        step -= 1
        if step < 0:
            os.kill(os.getpid(), signal.SIGKILL)
sys.setprofile(trace)
main()
"""


@pytest.mark.timeout(300)
def test_an_init_that_is_killed(environment: dict[str, str], tmp_path: Path) -> None:
    """Killed at any step it leaves a folder that does not start, with a code of its own; run again it is made, and one
    administrator's token is valid."""
    killed, started = 0, set[bool]()
    for step in (0, 4, 6, 9, 12, 15, 20, 40):
        folder = tmp_path / f"folder{step}"
        ended = subprocess.run(
            [sys.executable, "-c", _KILLER, str(step), "proxy", "init", str(folder)],
            env=environment,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        if ended.returncode == 0:
            break
        assert ended.returncode == -signal.SIGKILL
        killed += 1
        assert not (folder / ".initialized").exists()
        begun = (folder / ".initializing").exists()
        with pytest.raises(InitInterrupted if begun else NotInitialized):
            host_folder.ProxyFolder(folder).require_initialized()
        if begun in started:  # the program has been seen to refuse such a folder
            continue
        started.add(begun)
        start = run(environment, "start", str(folder), "--port", "0")
        assert start.returncode == (8 if begun else 9)
        assert len(start.stderr.splitlines()) == 1
        assert "init" in start.stderr
    assert killed > 4
    before = count_tokens(environment)
    assert run(environment, "init", str(folder.with_name("folder6"))).returncode == 0
    assert count_tokens(environment) == before + 1


def count_tokens(environment: dict[str, str]) -> int:
    """The administrators' tokens that are valid."""

    async def count() -> int:
        async with open_tokens(load_proxy_settings(Path(), environment), as_owner=True) as tokens:
            return sum(grant.revoked_at is None for grant in await tokens.list_grants())

    return alone(count())


def test_a_token_that_an_interrupted_init_has_made(environment: dict[str, str], tmp_path: Path) -> None:
    """The token of a try that was interrupted after it is revoked by the next one."""
    folder = tmp_path / "folder"
    assert run(environment, "init", str(folder)).returncode == 0
    (folder / ".initialized").rename(folder / ".initializing")
    assert run(environment, "start", str(folder)).returncode == 8
    before = count_tokens(environment)
    assert run(environment, "init", str(folder)).returncode == 0
    assert count_tokens(environment) == before


def test_two_inits(tmp_path: Path) -> None:
    """Only one process makes a folder."""
    folder = host_folder.ProxyFolder(tmp_path)
    with folder.begin(), pytest.raises(Busy), folder.begin():
        pass


@pytest.mark.parametrize("fault", ["missing", "no place", "no text"])
def test_the_template(environment: dict[str, str], tmp_path: Path, fault: str) -> None:
    """A template that is missing or has no place for memories ends the start with a code of its own, in one line."""
    folder = tmp_path / "folder"
    assert run(environment, "init", str(folder)).returncode == 0
    path = folder / "templates/memory_template.md"
    if fault == "missing":
        path.unlink()
    else:
        path.write_bytes(b"Known: {memory}" if fault == "no place" else b"\xff{memories}")
    ended = run(environment, "start", str(folder), "--port", "0")
    assert ended.returncode == 10
    (line,) = ended.stderr.splitlines()
    assert "memory_template.md" in line
    chosen = environment | {"MEMORY_TEMPLATE_PATH": "templates/memory_template_zh.md"}
    assert load_proxy_settings(folder, chosen).proxy.template_path == str(folder / "templates/memory_template_zh.md")


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("LOG_LEVEL=loud", "LOG_LEVEL"),
        ("MEMORY_BRIDGE_PORT=70000", "MEMORY_BRIDGE_PORT"),
        ("HTTP_TIMEOUT=0", "HTTP_TIMEOUT"),
        ("HTTP_TIMEOUT=1e3", "HTTP_TIMEOUT"),
        ("MEMORY_SEARCH_TIMEOUT=soon", "MEMORY_SEARCH_TIMEOUT"),
        ("MEMORY_STORE_TIMEOUT=-1", "MEMORY_STORE_TIMEOUT"),
        ("no variable", "line 1"),
    ],
)
def test_a_bad_variable(tmp_path: Path, line: str, says: str) -> None:
    """A variable that is not valid is named, and its value is not shown."""
    (tmp_path / ".env").write_text(f"{line}\n")
    with pytest.raises(BadConfig, match=says) as refused:
        load_proxy_settings(tmp_path, {})
    assert str(refused.value).startswith(("environment: ", f"{tmp_path}"))
    assert line not in str(refused.value)


def test_the_environment_goes_first(tmp_path: Path) -> None:
    """A variable of the process goes before the file, and the file before the default."""
    (tmp_path / ".env").write_text("# a comment\nexport HTTP_TIMEOUT='7' # seven\n\nLOG_LEVEL = warn\n")
    found = load_proxy_settings(tmp_path, {"LOG_LEVEL": "debug"})
    assert (found.proxy.http_timeout, found.proxy.log_level, found.proxy.port) == (7.0, "DEBUG", 8000)
    assert found.home == tmp_path / "data"
    assert load_proxy_settings(tmp_path, {}).proxy.log_level == "WARNING"


@pytest.mark.timeout(120)
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_the_end(own_proxy: Proxy, number: signal.Signals) -> None:
    """At a signal a stream that runs is finished, what it said is stored, and the exit code is 0."""
    with Upstream(latency=0.0) as upstream:
        token = own_proxy.register(upstream)
        texts = [f'data: {{"choices":[{{"index":0,"delta":{{"content":"w{n} "}}}}]}}\n\n'.encode() for n in range(20)]
        end = b'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
        answer = Answer(headers=(("content-type", "text/event-stream"),), body=(*texts, end), pace=0.1)
        upstream.answer_next(answer)
        got: list[bytes] = []

        def follow() -> None:
            got.append(own_proxy.chat(token, "My favorite color is teal.", stream=True).content)

        thread = threading.Thread(target=follow)
        thread.start()
        wait_until(lambda: bool(upstream.requests))
        time.sleep(0.3)
        assert own_proxy.stop(number) == 0
        thread.join()
        assert got == [b"".join((*texts, end))]
        assert own_proxy.log.splitlines()[-1].endswith("ended")
        own_proxy.start()
        own_proxy.chat(token, "What is my favorite color?")
        sent = upstream.requests[-1].raw.decode()
        assert "w19" in sent
        assert "teal" in sent


@pytest.mark.timeout(120)
def test_embedded(tmp_path: Path) -> None:
    """Without a database of its own the proxy has one in its folder, and stops it at its end."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("MUNIMENT_")}
    proxy = Proxy(tmp_path / "folder", kept | {"MUNIMENT_EMBEDDER": "hash-256"})
    assert proxy.init()
    proxy.start()
    home = proxy.folder / "data"  # the server's own files may lie elsewhere, where its account can enter
    assert alone(find_server(home)) is not None
    assert httpx.get(f"{proxy.url}/health").status_code == 200
    assert proxy.stop() == 0
    assert all(LOG_LINE.fullmatch(line) for line in proxy.log.splitlines())
    assert alone(find_server(home)) is None


def test_an_address_that_is_taken(proxy: Proxy) -> None:
    """A port in use is one line and the exit code of usage."""
    port = proxy.url.rpartition(":")[2]
    ended = run(proxy.environment, "start", str(proxy.folder), "--port", port)
    assert ended.returncode == 2
    assert len(ended.stderr.splitlines()) == 1
