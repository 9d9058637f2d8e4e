"""What tests of tokens with a configuration share: fields, and memories that are open."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from muniment.memory import bootstrap
from muniment.memory.bootstrap import TokenConfigs
from muniment.memory.client import Memory
from muniment.memory.config.settings import Settings
from muniment.memory.configured import ConfiguredMemories
from muniment.memory.domain.tokens.config import ConfiguredToken
from muniment.testing import ScriptedOpenAI
from tests.engine import settings
from tests.logins import build_login_url

KEYS = {
    "llm_api_key": "sk-upstream-c4nary",
    "memory_llm_api_key": "sk-reader-c4nary",
    "embed_api_key": "sk-vector-c4nary",
}


def make_fields(server: ScriptedOpenAI | None = None, /, **changed: Any) -> dict[str, Any]:
    """All fields of a valid configuration, whose endpoints are those of a scripted server."""
    url = server.base_url if server else "http://127.0.0.1:9/v1"
    return {
        "llm_base_url": url,
        "llm_model": "big",
        "memory_llm_provider": "openai",
        "memory_llm_base_url": url,
        "memory_llm_body": {"model": "reader", "x_seed": 7},
        "embed_provider": "openai",
        "embed_base_url": url,
        "embed_dims": 256,
        "embed_body": {"model": "vectors", "x_user": {"a": [1]}},
        "memory_prompt": "Boats matter.",
        "memory_limit": 5,
        "session_window_size": 20,
        "memory_place": "system",
        **KEYS,
        **changed,
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class Tokens:
    """A database with tokens: what administers them, and the memories of a process."""

    settings: Settings
    admin: TokenConfigs
    memory: Memory
    memories: ConfiguredMemories

    async def register(self, server: ScriptedOpenAI | None = None, /, **changed: Any) -> ConfiguredToken:
        """A new token as a request finds it."""
        token, _ = await self.admin.register(make_fields(server, **changed))
        found = await self.memories.configs.find_token(token)
        assert found is not None
        return found

    async def find(self, token: ConfiguredToken) -> ConfiguredToken:
        """The token as it is now."""
        found = await self.memories.configs.find_by_id(token.grant.id)
        assert found is not None
        return found

    async def work(self) -> None:
        """Perform the jobs that are due."""
        async with bootstrap.open_worker(
            self.settings, self.memory, with_schedule=False, memories=self.memories
        ) as worker:
            await worker.run(drain=True)


@asynccontextmanager
async def open_tokens(url: str, home: Path, **changed: str) -> AsyncIterator[Tokens]:
    """Tokens over a test's own database, in which the engine has its own login."""
    chosen = settings(build_login_url(url), MUNIMENT_OWNER_URL=url, MUNIMENT_HOME=str(home), **changed)
    async with (
        bootstrap.open_token_configs(chosen, as_owner=True) as admin,
        bootstrap.open_memory(chosen) as memory,
        bootstrap.open_configured_memories(chosen, memory) as memories,
    ):
        yield Tokens(settings=chosen, admin=admin, memory=memory, memories=memories)
