"""A proxy for benchmarks: `muniment proxy start` in a folder and on a database of its own, and its tokens."""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
import sys
import tempfile
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic
from typing import Any
from uuid import UUID

import httpx

from benchmarks import harness
from muniment.memory import bootstrap
from muniment.memory.client import Memory
from muniment.memory.config.proxy_folder import load_proxy_settings
from muniment.memory.config.settings import Settings, load_settings
from muniment.memory.domain.tokens.config import ConfiguredToken

PROGRAM = str(Path(sys.executable).with_name("muniment"))
LIMITS = "serve: {requests_per_second: 1000000, burst: 1000000}\n"
PATIENCE_SECONDS = 180.0
CHAT = "/v1/chat/completions"


@dataclass(slots=True)
class Proxied:
    """The folder, the process on a port that stays, and the tokens by name."""

    folder: Path
    environment: dict[str, str]
    port: int
    process: Process | None = None
    tokens: dict[str, tuple[str, ConfiguredToken]] = field(default_factory=dict)

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def settings(self) -> Settings:
        """Those of the folder."""
        return load_proxy_settings(self.folder, self.environment)

    async def run_command(self, *arguments: str) -> None:
        """Run a command of the proxy. Raises OSError where it fails."""
        process = await asyncio.create_subprocess_exec(
            PROGRAM, "proxy", *arguments, env=self.environment, stdout=DEVNULL, stderr=PIPE
        )
        _, complaint = await process.communicate()
        if process.returncode:
            raise OSError(complaint.decode(errors="replace").strip() or "the proxy was not made")

    async def start(self) -> None:
        """Start it, and wait until it answers. Raises OSError where it does not."""
        arguments = ("start", str(self.folder), "--host", "127.0.0.1", "--port", str(self.port))
        with (self.folder / "proxy.log").open("ab") as log:
            self.process = await asyncio.create_subprocess_exec(
                PROGRAM, "proxy", *arguments, env=self.environment, stdout=log, stderr=log
            )
        began = monotonic()
        async with httpx.AsyncClient(base_url=self.url) as client:
            while monotonic() - began < PATIENCE_SECONDS and self.process.returncode is None:
                with suppress(httpx.TransportError):
                    if (await client.get("/health")).status_code == 200:
                        return
                await asyncio.sleep(0.05)
        raise OSError(f"the proxy does not answer: {self.read_log()[-500:]}")

    def read_log(self) -> str:
        """Return what it has written."""
        return (self.folder / "proxy.log").read_text(encoding="utf-8", errors="replace")

    async def kill(self) -> None:
        """Kill it as a crash does."""
        assert self.process is not None
        with suppress(ProcessLookupError):
            self.process.kill()
        await self.process.wait()

    async def register(self, name: str, base_url: str, **fields: Any) -> str:
        """Make a token under a name of ours, and return it."""
        given = {
            "llm_base_url": base_url,
            "llm_api_key": f"key-of-{name}",
            "memory_llm_provider": "rules",
            "embed_provider": "offline",
            "memory_limit": 5,
            "session_window_size": 20,
        } | fields
        async with bootstrap.open_token_configs(self.settings, as_owner=True) as configs:
            secret, token = await configs.register(given)
        self.tokens[name] = secret.get_secret_value(), token
        return secret.get_secret_value()

    async def update(self, id_: UUID, **fields: Any) -> None:
        """Change fields of a token."""
        async with bootstrap.open_token_configs(self.settings, as_owner=True) as configs:
            await configs.update(id_, fields)

    @asynccontextmanager
    async def open_memory(self, name: str) -> AsyncIterator[Memory]:
        """The memory of a token, in this process."""
        own = self.settings
        async with (
            bootstrap.open_memory(own) as memory,
            bootstrap.open_configured_memories(own, memory) as memories,
        ):
            yield await memories.get(self.tokens[name][1])

    def open_client(self, name: str) -> httpx.AsyncClient:
        """A client with a token."""
        headers = {"authorization": f"Bearer {self.tokens[name][0]}"}
        return httpx.AsyncClient(base_url=self.url, headers=headers, timeout=120)


@asynccontextmanager
async def run_proxy(**environment: str) -> AsyncIterator[Proxied]:
    """A proxy that is made and started; at the end it is killed, and its database is dropped."""
    folder = Path(tempfile.mkdtemp(prefix="muniment-proxied-"))
    await asyncio.to_thread(folder.chmod, 0o711)  # the account that runs a root session's Postgres has to pass
    await asyncio.to_thread((folder / "limits.yaml").write_text, LIMITS, encoding="utf-8")
    async with harness.throwaway(load_settings()) as own:
        address = await bootstrap.ensure_database(own)
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("MUNIMENT_", "OPENAI_"))}
        given = {
            "MUNIMENT_DATABASE_URL": address,
            "MUNIMENT_OWNER_URL": address,
            "MUNIMENT_CONFIG": str(folder / "limits.yaml"),
            "MUNIMENT_HOME": str(folder / "home"),
            "LOG_LEVEL": "WARNING",
        }
        with socket.create_server(("127.0.0.1", 0)) as free:
            proxy = Proxied(folder, kept | given | environment, free.getsockname()[1])
        try:
            await proxy.run_command("init", str(folder))
            await proxy.start()
            yield proxy
        finally:
            if proxy.process is not None and proxy.process.returncode is None:
                await proxy.kill()
            shutil.rmtree(folder, ignore_errors=True)


@asynccontextmanager
async def run_upstream() -> AsyncIterator[str]:
    """The upstream that costs little; its base address."""
    process = await asyncio.create_subprocess_exec(sys.executable, "-m", "benchmarks.proxy_upstream", stdout=PIPE)
    try:
        assert process.stdout is not None
        yield f"http://127.0.0.1:{int(await process.stdout.readline())}/v1"
    finally:
        process.kill()
        await process.wait()
