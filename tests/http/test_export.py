"""`GET /export`: in bounded memory, whole or seen to be broken, and with nothing held for a slow client."""

import json
import re
import signal
import socket
import time
from pathlib import Path

import httpx
import psycopg
import pytest

from tests.http.conftest import Serving, run_service, wait_until
from tests.http.test_endpoints import keep

MEMORIES = 20_000
MEGABYTE = 2**20
# Copies of the only memory of a user, each with a text of its own.
COPIES = """
    insert into muniment.memories
    select (jsonb_populate_record(m, jsonb_build_object(
      'memory_id', gen_random_uuid(), 'text', repeat('Walked to tower ' || n || ' in the rain. ', 30),
      'stable_key', null))).*
    from muniment.memories m, generate_series(2, %s) n"""
BUSY = """
    select count(*) from pg_stat_activity
    where datname = current_database() and state <> 'idle' and pid <> pg_backend_pid()"""


def count_busy(url: str) -> int:
    """How many connections to the database are in a statement or a transaction."""
    with psycopg.connect(url) as admin:
        row = admin.execute(BUSY).fetchone()
    return row[0] if row else 0


def read_peak(pid: int) -> int:
    """The most memory that a process has had, in bytes."""
    found = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
    assert found
    return int(found[1]) * 1024


def connect(serving: Serving) -> httpx.Client:
    """A client that takes the bytes of an answer as they come."""
    headers = {"Authorization": f"Bearer {serving.token()}", "Accept-Encoding": "identity"}
    return httpx.Client(base_url=serving.url, headers=headers, timeout=120)


def fill(serving: Serving, url: str, count: int) -> None:
    """A user with so many memories of about 900 characters."""
    with connect(serving) as ana:
        keep(ana, "Keeps bees on the roof")
    with psycopg.connect(url, autocommit=True) as admin:
        admin.execute(COPIES, [count])


@pytest.mark.timeout(300)
def test_an_export_takes_bounded_memory_and_no_connection(own_serving: Serving, database_url: str) -> None:
    """20,000 memories: the service grows by a fraction of what it sends; while a client reads slowly, or after it has
    gone away, no connection to the database is held."""
    fill(own_serving, database_url, 10)
    with connect(own_serving) as ana:
        ana.get("/export")  # what the first one loads is not counted
        before = read_peak(own_serving.process.pid)
    fill_more = MEMORIES // 10
    with psycopg.connect(database_url, autocommit=True) as admin:
        admin.execute(COPIES, [fill_more + 1])
    with connect(own_serving) as ana:
        count = size = 0
        with ana.stream("GET", "/export", timeout=240) as answer:
            length = int(answer.headers["content-length"])
            wait_until(lambda: count_busy(database_url) == 0, 10)  # and nearly nothing is sent
            for chunk in answer.iter_raw():
                size += len(chunk)
                count += chunk.count(b"\n")
        assert size == length
        assert size > MEMORIES * 900
        assert count >= MEMORIES
        grown = read_peak(own_serving.process.pid) - before
        assert grown < 40 * MEGABYTE, f"{grown / MEGABYTE:.0f} MB more for {size / MEGABYTE:.0f} MB"
        with pytest.raises(httpx.ReadTimeout), ana.stream("GET", "/export", timeout=0.05):
            pass
        wait_until(lambda: count_busy(database_url) == 0, 10)
        assert ana.get("/stats").status_code == 200


def test_an_export_that_breaks_off_is_seen_to_be_broken(own_serving: Serving, database_url: str) -> None:
    """The length is announced: a client that gets less knows it, whatever ended the service."""
    fill(own_serving, database_url, 12_000)
    token = own_serving.token()
    host, port = own_serving.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), 30) as wire:
        wire.sendall(f"GET /export HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n\r\n".encode())
        got = wire.recv(4096)
        time.sleep(0.5)
        own_serving.process.send_signal(signal.SIGKILL)
        own_serving.process.wait()
        while chunk := _receive(wire):
            got += chunk
    head, _, body = got.partition(b"\r\n\r\n")
    length = re.search(rb"content-length: (\d+)", head.lower())
    assert length
    assert len(body) < int(length[1])


def _receive(wire: socket.socket) -> bytes:
    try:
        return wire.recv(65536)
    except ConnectionResetError:
        return b""


def test_an_answer_that_takes_too_long_is_cut_off(
    environment: dict[str, str], tmp_path: Path, database_url: str
) -> None:
    """A client that takes longer than `serve.transfer_seconds` gets a broken answer, and not one that looks whole."""
    config = tmp_path / "memory.yaml"
    config.write_text("serve:\n  transfer_seconds: 10\n")
    with run_service(environment | {"MUNIMENT_CONFIG": str(config)}, tmp_path / "log") as serving:
        fill(serving, database_url, 12_000)
        with connect(serving) as ana, ana.stream("GET", "/export") as answer:
            assert answer.status_code == 200
            time.sleep(12)
            with pytest.raises(httpx.RemoteProtocolError):
                answer.read()


def test_what_goes_wrong_before_the_first_byte_has_a_status(own_serving: Serving, database_url: str) -> None:
    """A table that cannot be read: an answer with a status, not half an export."""
    with connect(own_serving) as ana:
        keep(ana, "Keeps bees on the roof")
        with psycopg.connect(database_url, autocommit=True) as admin:
            admin.execute("revoke select on muniment.turns from muniment_app")
            refused = ana.get("/export")
            admin.execute("grant select on muniment.turns to muniment_app")
        assert (refused.status_code, refused.json()["error"]["type"]) == (403, "Denied")
        rows = [json.loads(line) for line in ana.get("/export").text.splitlines()]
        assert rows[0]["type"] == "space"
        content = [json.loads(line) for line in ana.get("/export", params={"content": True}).text.splitlines()]
        assert [row["type"] for row in content] == ["memory"]
