"""A real `langgraph dev` in a process of its own."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

ROOT = Path(__file__).parents[2]
START_SECONDS = 45
LOG = "server.log"


def free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


@contextmanager
def served(database_url: str, folder: Path, *, host: str = "127.0.0.1", **env: str) -> Iterator[str]:
    """The address of a server that runs in this folder, into which it writes, with these environment variables."""
    config = json.loads((ROOT / "langgraph.json").read_text()) | {"dependencies": [str(ROOT)]}
    (folder / "langgraph.json").write_text(json.dumps(config))
    port = free_port()
    program = str(Path(sys.executable).with_name("langgraph"))
    command = [program, "dev", "--no-browser", "--no-reload", "--host", host, "--port", str(port)]
    usual = {"MUNIMENT_DATABASE_URL": database_url, "MUNIMENT_EMBEDDER": "hash-256",
             "MUNIMENT_HOME": str(folder / "home"), "LANGSMITH_TRACING": "false",
             "LANGGRAPH_CLI_NO_ANALYTICS": "1"}  # fmt: skip
    log = folder / LOG
    with log.open("w") as out:
        server = subprocess.Popen(command, cwd=folder, env=os.environ | usual | env, stdout=out, stderr=out)
    try:
        wait(f"http://127.0.0.1:{port}/ok", server, log)
        yield f"http://127.0.0.1:{port}"
    finally:
        server.terminate()
        try:
            server.wait(15)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()


def wait(url: str, server: subprocess.Popen[bytes], log: Path) -> None:
    for _ in range(START_SECONDS * 10):
        try:
            if httpx.get(url, timeout=1).status_code == 200:
                return
        except httpx.HTTPError:
            pass
        if server.poll() is not None:
            break
        asyncio.run(asyncio.sleep(0.1))
    pytest.fail(f"the server does not answer:\n{log.read_text()[-4000:]}")
