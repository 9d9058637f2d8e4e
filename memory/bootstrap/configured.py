"""Opens the tokens that bring their own models, and a memory for each of them."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING

from pydantic import SecretStr

from muniment.memory.bootstrap.databases import make_connections
from muniment.memory.bootstrap.models import make_embedder
from muniment.memory.client import Memory
from muniment.memory.config.settings import DEFAULT_EMBEDDER, HASH_EMBEDDER, MULTILINGUAL_EMBEDDER, Settings
from muniment.memory.configured import ConfiguredMemories, TokenModels
from muniment.memory.domain.tokens.config import EmbedderConfig, TokenConfig
from muniment.memory.flows.token_configs import TokenConfigs
from muniment.memory.models.absent_embedder import AbsentEmbedder
from muniment.memory.models.clock import SystemClock
from muniment.memory.models.preload import load_embedder
from muniment.memory.ports.clock import Clock
from muniment.memory.ports.embedders import Embedder
from muniment.memory.ports.llm import ChatModel
from muniment.memory.ports.operation.token_configs import TokenConfigStore
from muniment.memory.stores.postgres.operation.token_configs import PostgresTokenConfigs
from muniment.memory.stores.postgres.store import PostgresStore
from muniment.memory.stores.token_key import has_token_key, load_token_key

if TYPE_CHECKING:
    import httpx2

_LOCAL = (DEFAULT_EMBEDDER, MULTILINGUAL_EMBEDDER, HASH_EMBEDDER)
_CACHED_VECTORS = 128  # of each token; a vector of 1,536 dimensions has 6 kB


@asynccontextmanager
async def open_token_configs(
    settings: Settings, clock: Clock | None = None, *, as_owner: bool = False
) -> AsyncIterator[TokenConfigs]:
    """Open the tokens with a configuration, under the key of this installation's home. No embedder is loaded.

    To register, list, change and delete them they are opened `as_owner` of the tables: the engine's login may only
    look one up. Raises BadConfig for a key that others may read, StoreDown."""
    store = PostgresTokenConfigs(make_connections(settings, as_owner=as_owner))
    configs = await _make_configs(settings, store, clock or SystemClock())
    try:
        await store.open()
        yield configs
    finally:
        await store.close()


def can_open_configs(settings: Settings) -> bool:
    """Whether this process has what opens the keys of tokens: the key file of the installation, and the library."""
    return has_token_key(settings.home) and find_spec("cryptography") is not None


@asynccontextmanager
async def open_configured_memories(settings: Settings, memory: Memory) -> AsyncIterator[ConfiguredMemories]:
    """Open the memories of tokens over the connections of an open memory, which is closed after them.

    Its `configs` look tokens up over these connections, too. Raises BadConfig for a key that others may read."""
    store = memory.engine.store
    if not isinstance(store, PostgresStore):
        raise TypeError(type(store).__name__)
    configs = await _make_configs(settings, store.token_configs, memory.engine.clock)
    async with ConfiguredMemories(memory, configs, EndpointModels(memory.engine.settings, memory)) as memories:
        yield memories


async def _make_configs(settings: Settings, store: TokenConfigStore, clock: Clock) -> TokenConfigs:
    # The library takes a moment to load, and only these tokens need it.
    from muniment.memory.stores.token_seal import TokenSeal  # noqa: PLC0415 - its library is in an extra

    key = await asyncio.to_thread(load_token_key, settings.home)
    name = _find_local_name(settings)
    return TokenConfigs(store=store, sealer=TokenSeal(key), clock=clock, key=key, offline_embedder=name)


def _find_local_name(settings: Settings) -> str:
    """The embedder of this machine: the installation's where that is one, else the default."""
    return settings.embedder if settings.embedder in _LOCAL else DEFAULT_EMBEDDER


class EndpointModels(TokenModels):
    """The `TokenModels` over endpoints of OpenAI's protocol, which share their connections, and the local embedders."""

    def __init__(self, settings: Settings, memory: Memory) -> None:
        self._settings, self._memory = settings, memory
        self._connections: httpx2.AsyncClient | None = None
        self._local: dict[str, Embedder] = {}
        self._opening = threading.Lock()  # models are made in threads

    async def make_embedder(self, config: EmbedderConfig) -> Embedder:
        """Return the embedder of a token, loaded where it is of this machine. Raises BadConfig, ModelError."""
        if config.is_own:
            return await asyncio.to_thread(self.make_former, config)  # at first it imports the client, a second's work
        embedder = self.make_stored(_find_local_name(self._settings))
        await load_embedder(embedder)
        return embedder

    def make_former(self, config: EmbedderConfig) -> Embedder:
        """Return an embedder of an endpoint, or the one of this machine."""
        if config.api_key is None:
            return self.make_stored(_find_local_name(self._settings))
        from muniment.memory.models.openai.client import EndpointNames  # noqa: PLC0415 - slow to import
        from muniment.memory.models.openai.embedder import OpenAIEmbedder  # noqa: PLC0415 - as above

        return OpenAIEmbedder(
            config.model,
            api_key=config.api_key,
            base_url=config.base_url,
            timeout_seconds=self._settings.model.timeout_seconds,
            max_retries=self._settings.model.max_retries,
            name=config.name,
            dimensions=config.dims,
            options=config.options,
            connections=self._open_connections(),
            cache_size=_CACHED_VECTORS,
            names=EndpointNames("embed_api_key", "embed_base_url", "embed_body"),
        )

    def make_stored(self, name: str) -> Embedder:
        """Return the embedder of this machine that has this name, else one that answers nothing."""
        used = self._memory.engine.embedder
        if name == used.name and name in _LOCAL:
            return used
        if name not in _LOCAL:
            return AbsentEmbedder(name)
        if name not in self._local:
            self._local[name] = make_embedder(self._settings.model_copy(update={"embedder": name}))
        return self._local[name]

    async def make_chat_model(self, config: TokenConfig) -> ChatModel | None:
        """Return the model of a token's endpoint; None for a token of rules."""
        key = config.memory_llm_api_key
        return None if key is None else await asyncio.to_thread(self._make_chat_model, config, key)

    def _make_chat_model(self, config: TokenConfig, key: SecretStr) -> ChatModel:
        from muniment.memory.models.openai.chat import OpenAIChat  # noqa: PLC0415 - as above
        from muniment.memory.models.openai.client import EndpointNames  # noqa: PLC0415 - as above

        body = dict(config.memory_llm_body)
        return OpenAIChat(
            str(body.pop("model")),
            api_key=key,
            base_url=config.memory_llm_base_url,
            timeout_seconds=self._settings.model.timeout_seconds,
            max_retries=0,  # the meter repeats a request and charges each attempt
            max_output_tokens=self._settings.model.max_output_tokens,
            options=body,
            connections=self._open_connections(),
            names=EndpointNames("memory_llm_api_key", "memory_llm_base_url", "memory_llm_body"),
        )

    async def close(self) -> None:
        """Close the connections to endpoints, and the embedders that were made here."""
        local, self._local = list(self._local.values()), {}
        connections, self._connections = self._connections, None
        if connections is not None:
            await connections.aclose()
        for embedder in local:
            await embedder.close()

    def _open_connections(self) -> httpx2.AsyncClient:
        from muniment.memory.models.openai.client import open_connections  # noqa: PLC0415 - as above

        with self._opening:
            if self._connections is None:
                self._connections = open_connections()
            return self._connections
