"""Keys and tokens are nowhere but where they have to be: in no table, log, error, argument, or file of the proxy."""

from __future__ import annotations

import resource
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil  # type: ignore[import-untyped] # it has no types
import pytest

from muniment.testing import ScriptedOpenAI, structured
from tests.proxy.hosting import Host, chat, run_host

CHAT = "/v1/chat/completions"
KEYS = {
    name: f"canary-{name.replace('_', '-')}-4c0ffee5" for name in ("llm_api_key", "memory_llm_api_key", "embed_api_key")
}
SAID = "my heron nests beside the turquoise harbour"


@pytest.mark.timeout(120)
def test_canaries(database_url: str, tmp_path: Path) -> None:
    """Every path that has a key or a token in its hands is walked, its failures too."""
    with (
        ScriptedOpenAI() as upstream,
        ScriptedOpenAI(structured({"facts": []})) as models,
        wish_core_files(),
        run_host(tmp_path / "proxy", database_url, LOG_LEVEL="DEBUG") as host,
    ):
        token = host.register(
            upstream.base_url,
            **KEYS,
            memory_llm_provider="openai",
            memory_llm_base_url=models.base_url,
            memory_llm_body={"model": "tiny-1"},
            embed_provider="openai",
            embed_base_url=models.base_url,
            embed_dims=256,
            embed_body={"model": "embed-1"},
        )
        wrong = f"{token.secret[:-4]}0000"
        twice = {"x-api-key": token.secret}  # some clients send it in a header of their own, too
        with host.open_client(token, headers=twice) as client, host.open_client(wrong) as stranger:
            seen = [client.post(CHAT, json=chat(f"Look, {SAID}.")), stranger.post(CHAT, json=chat("Hi"))]
            seen.append(client.post(CHAT, json={"messages": SAID}))
            seen.append(client.post(CHAT, content=SAID))
            seen.append(client.post(f"/v1/{token.secret}", json={}))
            models.fail_next("server_error")
            seen.append(client.post(CHAT, json=chat("What of my uncle?")))
            models.fail_next(None)
            host.execute("update muniment.token_configs set memory_limit = 0 where token_id = %s", token.id)
            seen.append(client.post(CHAT, json=chat("Hi")))
            host.update(token, memory_limit=5)
        assert [answer.status_code for answer in seen] == [200, 401, 422, 422, 404, 502, 401]
        host.wait_stored(token, 2)
        assert {request.headers["authorization"] for request in upstream.requests} == {f"Bearer {KEYS['llm_api_key']}"}
        folder = Path(psutil.Process(host.process.pid).cwd())
        sent = [repr((dict(request.headers), request.raw)) for request in upstream.requests]
        assert not any(token.secret in request for request in sent)
        arguments = " ".join(psutil.Process(host.process.pid).cmdline())
        host.process.send_signal(signal.SIGABRT)  # dies as of a defect, and would leave its memory in a core file
        assert host.process.wait(30) == -signal.SIGABRT
        assert not [*folder.glob(f"core*{host.process.pid}"), *folder.glob("core")]
        written = host.log + arguments + "".join(answer.text for answer in seen) + read_files(tmp_path)
        secrets = [*KEYS.values(), token.secret, wrong]
        assert [secret for secret in secrets if secret in written] == []
        assert [secret for secret in secrets if host.find_word(secret)] == []
        assert SAID not in host.log
        check_rows(host)


@contextmanager
def wish_core_files() -> Iterator[None]:
    """What is started here writes a core file when it dies, unless it forbids it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_CORE)
    resource.setrlimit(resource.RLIMIT_CORE, (hard, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_CORE, (soft, hard))


def read_files(folder: Path) -> str:
    """All that is in the files of a folder, but the key file, which is random."""
    return "".join(path.read_bytes().decode("latin-1") for path in folder.rglob("*") if path.is_file())


def check_rows(host: Host) -> None:
    """The sealed keys are no text, and no two rows have one and the same."""
    rows = host.read_rows("select sealed_keys from muniment.token_configs")
    assert rows
    assert not [row for row in rows if b"canary" in bytes(row["sealed_keys"])]
