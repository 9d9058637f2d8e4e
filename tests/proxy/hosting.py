"""A proxy as it is installed: `muniment proxy init` and `start` in a folder of the test's own, and its tokens."""

from __future__ import annotations

import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx
import psycopg
from psycopg.rows import dict_row

from muniment.memory.bootstrap import open_token_configs
from muniment.memory.config.proxy_folder import load_proxy_settings
from muniment.memory.config.settings import Settings
from tests.conftest import alone
from tests.http.conftest import make_environment

PROGRAM = str(Path(sys.executable).with_name("muniment"))
PATIENCE_SECONDS = 30.0
KEY = "upstream-key-0123456789"


@dataclass(frozen=True, slots=True)
class Token:
    """A token that is registered."""

    id: str
    secret: str


@dataclass
class Host:
    """A folder of a proxy and its process."""

    folder: Path
    environment: dict[str, str]
    database_url: str  # of a superuser, who sees all rows
    admin: str = ""
    port: int = 0
    process: subprocess.Popen[bytes] = field(init=False)

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def log(self) -> str:
        """What it has written so far."""
        path = self.folder / "proxy.log"
        return path.read_text(encoding="utf-8") if path.exists() else ""

    def init(self) -> None:
        """Make the folder, and keep the token that is shown once."""
        done = self.run_command("init", str(self.folder))
        match = re.search(r"mun_[\w-]+", done.stdout)
        assert match, done.stderr
        self.admin = match[0]

    def run_command(self, *arguments: str, typed: str | None = None) -> subprocess.CompletedProcess[str]:
        """A command of the proxy, which must succeed."""
        command = [PROGRAM, "proxy", *arguments]
        done = subprocess.run(
            command,
            env=self.environment,
            input=typed,
            capture_output=True,
            text=True,
            check=False,
            cwd=self.folder.parent,
        )
        assert done.returncode == 0, done.stderr
        return done

    def start(self) -> None:
        """Start the process, and wait until it answers."""
        if not self.port:
            with socket.create_server(("127.0.0.1", 0)) as free:
                self.port = free.getsockname()[1]
        with (self.folder / "proxy.log").open("ab") as log:
            command = [PROGRAM, "proxy", "start", str(self.folder), "--host", "127.0.0.1", "--port", str(self.port)]
            self.process = subprocess.Popen(command, env=self.environment, stderr=log, stdout=log)
        wait_until(self._is_up)

    def _is_up(self) -> bool:
        assert self.process.poll() is None, self.log
        try:
            return httpx.get(f"{self.url}/health").status_code == 200
        except httpx.TransportError:
            return False

    def stop(self) -> int:
        """SIGTERM, and the exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(PATIENCE_SECONDS)

    def kill(self) -> None:
        """SIGKILL, whatever it does."""
        self.process.kill()
        self.process.wait()

    def open_client(self, token: Token | str, **more: Any) -> httpx.Client:
        """A client with a token."""
        secret = token if isinstance(token, str) else token.secret
        headers = {"authorization": f"Bearer {secret}"} | more.pop("headers", {})
        return httpx.Client(base_url=self.url, headers=headers, timeout=30, **more)

    def register(self, base_url: str, **fields: Any) -> Token:
        """A new token, whose upstream is at this address."""

        async def make() -> Token:
            async with open_token_configs(self.settings, as_owner=True) as tokens:
                secret, token = await tokens.register(make_fields(base_url, **fields))
                return Token(str(token.grant.id), secret.get_secret_value())

        return alone(make())

    def update(self, token: Token, **fields: Any) -> None:
        """Change fields of a token."""

        async def change() -> None:
            async with open_token_configs(self.settings, as_owner=True) as tokens:
                await tokens.update(UUID(token.id), fields)

        alone(change())

    def delete(self, token: Token) -> None:
        """Delete a token."""

        async def remove() -> None:
            async with open_token_configs(self.settings, as_owner=True) as tokens:
                await tokens.delete(UUID(token.id))

        alone(remove())

    @property
    def settings(self) -> Settings:
        """Those of the folder."""
        return load_proxy_settings(self.folder, self.environment)

    def read_rows(self, query: str, *values: Any) -> list[dict[str, Any]]:
        """Rows as a superuser sees them."""
        with psycopg.connect(self.database_url, row_factory=dict_row) as conn:
            return conn.execute(query, values).fetchall()  # type: ignore[call-overload, no-any-return]

    def execute(self, statement: str, *values: Any) -> None:
        """A statement of a superuser."""
        with psycopg.connect(self.database_url) as conn:
            conn.execute(statement, values)  # type: ignore[call-overload]

    def find_word(self, word: str) -> list[str]:
        """The tables in which a text stands, as it is or in bytes."""
        found = []
        with psycopg.connect(self.database_url) as conn:
            tables = conn.execute(
                "select format('%I.%I', schemaname, tablename) from pg_tables where schemaname !~ '^(pg_|information_)'"
            ).fetchall()
            for (table,) in tables:
                like, encoded = f"%{word}%", f"%{word.encode().hex()}%"
                query = f"select count(*) from {table} t where t::text ilike %s or t::text ilike %s"
                if conn.execute(query, (like, encoded)).fetchone() != (0,):  # type: ignore[call-overload]
                    found.append(table)
        return found

    def read_messages(self, token: Token) -> list[dict[str, Any]]:
        """What is stored of a token's session, oldest first."""
        return self.read_rows("select * from muniment.messages where token_id = %s order by id", token.id)

    def wait_stored(self, token: Token, count: int) -> list[dict[str, Any]]:
        """Wait until so many messages are stored, and return them."""
        wait_until(lambda: len(self.read_messages(token)) >= count)
        return self.read_messages(token)


def make_fields(base_url: str, **fields: Any) -> dict[str, Any]:
    """The fields of a token that needs no model for its memory."""
    return {
        "llm_base_url": base_url,
        "llm_api_key": KEY,
        "memory_llm_provider": "rules",
        "embed_provider": "offline",
        "memory_limit": 5,
        "session_window_size": 20,
    } | fields


def make_host(folder: Path, database_url: str, **environment: str) -> Host:
    """A proxy in a folder, whose database is this one."""
    return Host(folder, make_environment(database_url, folder / "data") | environment, database_url)


@contextmanager
def run_host(folder: Path, database_url: str, **environment: str) -> Iterator[Host]:
    """A proxy that is made and started; at the end it is killed where the test has not stopped it."""
    host = make_host(folder, database_url, **environment)
    host.init()
    try:
        host.start()
        yield host
    finally:
        if host.process.poll() is None:
            host.kill()
    assert "Traceback" not in host.log
    assert "defect" not in host.log


def wait_until(holds: Callable[[], bool], seconds: float = PATIENCE_SECONDS) -> None:
    """Wait until something holds."""
    until = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < until, "it took too long"
        time.sleep(0.05)


def chat(*texts: str, roles: Sequence[str] = ("user", "assistant"), **more: Any) -> dict[str, Any]:
    """The body of a chat whose messages are of the user and the assistant in turns."""
    messages = [{"role": roles[place % len(roles)], "content": text} for place, text in enumerate(texts)]
    return {"model": "tiny-1", "messages": messages} | more
