"""What tests do with a running proxy beside asking it: its tokens, and what is in its database and its log."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
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
from tests.http.conftest import make_environment, wait_until
from tests.proxy.conftest import Proxy, run_proxy

KEY = "upstream-key-0123456789"


@dataclass(frozen=True, slots=True)
class Token:
    """A token that is registered."""

    id: str
    secret: str


@dataclass
class Host:
    """A proxy, its tokens, and its database as a superuser sees it."""

    proxy: Proxy

    @property
    def url(self) -> str:
        """Where it listens."""
        return self.proxy.url

    @property
    def log(self) -> str:
        """What it has written so far."""
        return self.proxy.log

    @property
    def process(self) -> subprocess.Popen[str]:
        """The process that runs."""
        return self.proxy.process

    @property
    def database_url(self) -> str:
        """The address for a superuser."""
        return self.proxy.environment["MUNIMENT_OWNER_URL"]

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
        return load_proxy_settings(self.proxy.folder, self.proxy.environment)

    def read_rows(self, query: str, *values: Any) -> list[dict[str, Any]]:
        """Rows as a superuser sees them."""
        with psycopg.connect(self.database_url, row_factory=dict_row) as conn:
            return conn.execute(query, values).fetchall()

    def execute(self, statement: str, *values: Any) -> None:
        """A statement of a superuser."""
        with psycopg.connect(self.database_url) as conn:
            conn.execute(statement, values)

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
                if conn.execute(query, (like, encoded)).fetchone() != (0,):
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


@contextmanager
def run_host(folder: Path, database_url: str, **environment: str) -> Iterator[Host]:
    """A proxy that is made and started in a folder, with this database."""
    settings = make_environment(database_url, folder / "home") | environment
    with run_proxy(folder / "folder", settings) as proxy:
        yield Host(proxy)
    assert "defect" not in proxy.log


def chat(*texts: str, roles: Sequence[str] = ("user", "assistant"), **more: Any) -> dict[str, Any]:
    """The body of a chat whose messages are of the user and the assistant in turns."""
    messages = [{"role": roles[place % len(roles)], "content": text} for place, text in enumerate(texts)]
    return {"model": "tiny-1", "messages": messages} | more
