"""Memory or the upstream is away: a status for each, one attempt upstream or none, and nothing is left behind."""

from __future__ import annotations

import socket
import time
from pathlib import Path

import httpx
import psutil  # type: ignore[import-untyped] # it has no types
import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from muniment.testing import Answer, ScriptedOpenAI
from tests.http.conftest import wait_until
from tests.logins import build_login_url
from tests.proxy.conftest import LOG_LINE
from tests.proxy.hosting import KEY, Host, chat, run_host
from tests.wire import Wire

CHAT = "/v1/chat/completions"
SEARCH_SECONDS = 4.0


def read_error(answer: httpx.Response, status: int) -> dict[str, str]:
    """The error of the proxy's own, in the form that clients read."""
    assert answer.status_code == status, answer.text
    error = answer.json()["error"]
    assert set(error) == {"message", "type", "param", "code"}
    assert KEY not in answer.text
    return error  # type: ignore[no-any-return]


def allow_connections(database_url: str, *, allowed: bool) -> None:
    """Let everybody into the database again, or nobody, and throw out who is in it."""
    name = conninfo_to_dict(database_url)["dbname"]
    with psycopg.connect(make_conninfo(database_url, dbname="postgres"), autocommit=True) as admin:
        admin.execute(
            sql.SQL("alter database {} allow_connections {}").format(sql.Identifier(str(name)), sql.Literal(allowed))
        )
        if not allowed:
            admin.execute("select pg_terminate_backend(pid) from pg_stat_activity where datname = %s", (name,))


@pytest.mark.timeout(180)
def test_the_database_is_away(database_url: str, tmp_path: Path) -> None:
    """Silent, stopped, and back: 502 within the time for memory, nothing goes upstream, then all is as before."""
    with Wire(build_login_url(database_url)) as wire, ScriptedOpenAI("Fine.") as upstream:
        settings = {"MUNIMENT_DATABASE_URL": wire.url, "MEMORY_SEARCH_TIMEOUT": str(SEARCH_SECONDS)}
        with run_host(tmp_path / "proxy", database_url, **settings) as host:
            token = host.register(upstream.base_url)
            with host.open_client(token) as client:
                wait_until(lambda: client.post(CHAT, json=chat("Number 0")).status_code == 200)
                for number in range(1, 20):
                    assert client.post(CHAT, json=chat(f"Number {number}")).status_code == 200
                host.wait_stored(token, 21)  # the answer is one and the same
                process = psutil.Process(host.process.pid)
                descriptors, asked = process.num_fds(), len(upstream.requests)
                wire.stall()
                for _ in range(2):
                    began = time.monotonic()
                    read_error(client.post(CHAT, json=chat("Are you there?")), 502)
                    assert time.monotonic() - began < SEARCH_SECONDS + 2
                assert client.get("/health").status_code == 200
                assert len(upstream.requests) == asked
                wire.heal()
                wait_until(lambda: client.post(CHAT, json=chat("And now?")).status_code == 200)
                assert len(upstream.requests) == asked + 1
                host.wait_stored(token, 22)  # what is not stored yet would be lost with the database
                allow_connections(database_url, allowed=False)
                error = read_error(client.post(CHAT, json=chat("Are you there?")), 502)
                assert error["code"] == "memory_unavailable"
                assert len(upstream.requests) == asked + 1
                allow_connections(database_url, allowed=True)
                wait_until(lambda: client.post(CHAT, json=chat("And at last?")).status_code == 200)
                assert len(upstream.requests) == asked + 2
                said = [one["content"] for one in host.wait_stored(token, 23)]
                assert said[21:] == ["And now?", "And at last?"]
                wait_until(lambda: process.num_fds() <= descriptors + 4)
        check_log(host)


def check_log(host: Host) -> None:
    """Every line has the form, and none has what was said."""
    lines = host.log.splitlines()
    assert lines
    assert [line for line in lines if not LOG_LINE.fullmatch(line)] == []
    assert "Are you there" not in host.log


def test_the_embedder_is_away(host: Host) -> None:
    """502, and the upstream is not asked; when it is back, the next request is answered."""
    with ScriptedOpenAI() as upstream, ScriptedOpenAI() as models:
        token = host.register(
            upstream.base_url,
            embed_provider="openai",
            embed_base_url=models.base_url,
            embed_api_key="embed-key-01",
            embed_dims=256,
            embed_body={"model": "embed-1"},
        )
        with host.open_client(token) as client:
            assert client.post(CHAT, json=chat("What of my cousin?")).status_code == 200
            host.wait_stored(token, 2)
            models.fail_next("server_error")
            error = read_error(client.post(CHAT, json=chat("What of my uncle?")), 502)
            assert error["code"] == "memory_unavailable"
            assert len(upstream.requests) == 1
            models.fail_next(None)
            wait_until(lambda: client.post(CHAT, json=chat("What of my aunt?")).status_code == 200)
            assert len(upstream.requests) == 2


def test_the_upstream_is_away(host: Host) -> None:
    """Unreachable or silent: 502 after one attempt. Its own refusals come as they are, with the time to try again."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        nowhere = f"http://127.0.0.1:{free.getsockname()[1]}/v1"
    down = host.register(nowhere)
    with host.open_client(down) as client:
        answer = client.post(CHAT, json=chat("Hi"))
        assert read_error(answer, 502)["code"] == "upstream_unreachable"
        assert nowhere not in answer.text
    with (
        ScriptedOpenAI(latency=3600) as silent,
        host.open_client(host.register(silent.base_url, http_timeout=0.5)) as client,
    ):
        began = time.monotonic()
        assert read_error(client.post(CHAT, json=chat("Hi")), 502)["code"] == "upstream_timeout"
        assert time.monotonic() - began < 5
        assert len(silent.requests) == 1
    with ScriptedOpenAI(fail="rate_limit", retry_after=7) as busy:
        token = host.register(busy.base_url)
        with host.open_client(token) as client:
            answer = client.post(CHAT, json=chat("Hi"))
            assert (answer.status_code, answer.headers["retry-after"]) == (429, "7")
            assert answer.json()["error"]["type"] == "rate_limit"
            assert len(busy.requests) == 1
    with ScriptedOpenAI(fail="drop") as dropping, host.open_client(host.register(dropping.base_url)) as client:
        read_error(client.post(CHAT, json=chat("Hi")), 502)
        assert len(dropping.requests) == 1


def test_a_stream_falls_silent(host: Host) -> None:
    """After the time for an answer the client sees that the end is missing; who leaves ends the upstream's request."""
    whole = Answer(
        headers=(("content-type", "text/event-stream"),), body=(b"data: 1\n\n", b"data: 2\n\n"), cut=9, silent=True
    )
    with ScriptedOpenAI(whole) as upstream:
        impatient, patient = host.register(upstream.base_url, http_timeout=0.5), host.register(upstream.base_url)
        asked = chat("Hi", stream=True)
        with host.open_client(impatient) as client, client.stream("POST", CHAT, json=asked) as answer:
            parts = answer.iter_raw()
            assert next(parts) == b"data: 1\n\n"
            with pytest.raises(httpx.RemoteProtocolError):
                next(parts)
        wait_until(lambda: upstream.abandoned == 1)
        with host.open_client(patient) as client, client.stream("POST", CHAT, json=asked) as answer:
            assert next(answer.iter_raw()) == b"data: 1\n\n"
        wait_until(lambda: upstream.abandoned == 2)


def test_storing_fails_after_the_answer(own_host: Host) -> None:
    """The client has its answer, the log a line with the request's id, and what comes next is stored."""
    with ScriptedOpenAI("Fine.") as upstream:
        token = own_host.register(upstream.base_url)
        with own_host.open_client(token) as client:
            assert client.post(CHAT, json=chat("One")).status_code == 200
            own_host.wait_stored(token, 2)
            own_host.execute("alter table muniment.turns add constraint broken check (text <> 'Two')")
            answer = client.post(CHAT, json=chat("Two"))
            assert (answer.status_code, answer.json()["choices"][0]["message"]["content"]) == (200, "Fine.")
            id_ = answer.headers["x-muniment-request-id"]
            wait_until(lambda: f"[ERROR] [rid={id_}]" in own_host.log)
            own_host.execute("alter table muniment.turns drop constraint broken")
            assert client.post(CHAT, json=chat("Three")).status_code == 200
            said = [one["content"] for one in own_host.wait_stored(token, 3)]
        assert said == ["One", "Fine.", "Three"]
        lines = [line for line in own_host.log.splitlines() if "[ERROR]" in line]
        assert len(lines) == 1
        check_log(own_host)
        assert own_host.proxy.stop() == 0
