"""`ConfiguredMemories`: a memory for each token with a configuration, over the connections of one open memory."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from dataclasses import dataclass
from types import TracebackType
from typing import Protocol, Self
from uuid import UUID

from muniment.memory.client import Memory
from muniment.memory.domain.embedding import SwitchRange
from muniment.memory.domain.jobs import Job, JobName
from muniment.memory.domain.tokens.config import (
    ConfiguredToken,
    EmbedderConfig,
    TokenConfig,
    find_token_id,
)
from muniment.memory.engine import Engine
from muniment.memory.errors import BadInput, NotFound, NotReady, TokenConfigError
from muniment.memory.flows.token_configs import TokenConfigs
from muniment.memory.ports.embedders import Embedder
from muniment.memory.ports.llm import ChatModel

_MAX_MEMORIES = 256  # that are kept ready; the one that was used least recently is made anew at its next use


class TokenModels(Protocol):
    """Makes the models of tokens, and holds their connections to endpoints."""

    async def make_embedder(self, config: EmbedderConfig) -> Embedder:
        """Return the embedder of a token, loaded where it has to be. Raises ModelError, BadConfig."""
        ...

    def make_former(self, config: EmbedderConfig) -> Embedder:
        """Return an embedder that a token had before."""
        ...

    def make_stored(self, name: str) -> Embedder:
        """Return the embedder of this machine that has this name; for any other name one that answers nothing."""
        ...

    async def make_chat_model(self, config: TokenConfig) -> ChatModel | None:
        """Return the model that reads a token's sessions; None where rules alone do."""
        ...

    async def close(self) -> None:
        """Close all connections to endpoints, and the embedders that were made for tokens."""
        ...


@dataclass(frozen=True, slots=True)
class _Ready:
    digest: bytes
    base: Engine  # of the installation, beside which it was made: a change of settings makes another one
    memory: Memory


class ConfiguredMemories:
    """A memory for each token, made at its first use, and anew when the configuration or a setting has changed.

    What goes on with a former one ends as it would: the connections to endpoints are closed together, at the end."""

    def __init__(self, memory: Memory, configs: TokenConfigs, models: TokenModels) -> None:
        self.configs = configs
        self.memory, self._models = memory, models
        self._ready: OrderedDict[UUID, _Ready] = OrderedDict()
        self._making = asyncio.Lock()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close_all()

    async def get(self, token: ConfiguredToken) -> Memory:
        """Return the memory of a token. Raises BadInput for a token without a configuration, ModelError and BadConfig
        for an embedder of this machine that cannot be loaded."""
        config = token.config
        if config is None:
            raise BadInput("the token has no configuration, so it has no memory of its own")
        if (memory := self._find_ready(token.grant.id, config)) is not None:
            return memory
        async with self._making:
            return self._find_ready(token.grant.id, config) or await self._make_memory(token, config)

    async def invalidate(self, token_id: UUID) -> None:
        """Let the next use of a token make its memory anew."""
        self._ready.pop(token_id, None)

    async def close_all(self) -> None:
        """Finish what goes on behind replies, and close all connections to endpoints. Before the memory is closed."""
        self._ready.clear()
        try:
            await self.memory.engine.finish_background()
        finally:
            await self._models.close()

    def list_performable(self) -> tuple[JobName, ...]:
        """Return the jobs that a memory of a token may have."""
        return self.memory.engine.job_registry.list_names()

    async def perform_job(self, job: Job) -> None:
        """Perform a job now: that of a token's space by the token's own memory, any other by the installation's.

        Raises NotReady while the configuration is not valid, NotFound for what the memory has no model for, and as
        `Jobs.perform_job`."""
        id_ = find_token_id(job.scope.tenant)
        if id_ is None:
            await self.memory.jobs.perform_job(job)
            return
        try:
            token = await self.configs.find_by_id(id_)
        except TokenConfigError as error:
            raise NotReady(f"the token's configuration is not valid: {error}") from None
        memory = self._make_gone() if token is None else await self.get(token)
        if job.name not in memory.engine.job_registry.list_performable():
            raise NotFound("the token has no model for this")
        if job.name != "reembed":
            await memory.jobs.perform_job(job)
        elif token is not None:
            await memory.admin.reembed(spaces=SwitchRange(tenant=job.scope.tenant))
            await self.configs.drop_formers(token)

    def _find_ready(self, token_id: UUID, config: TokenConfig) -> Memory | None:
        ready = self._ready.get(token_id)
        if ready is None or ready.digest != config.digest or ready.base is not self.memory.engine:
            return None
        self._ready.move_to_end(token_id)
        return ready.memory

    async def _make_memory(self, token: ConfiguredToken, config: TokenConfig) -> Memory:
        formers = {self.configs.name_embedder(each): each for each in token.formers}

        def make_former(name: str) -> Embedder:
            former = formers.get(name)
            return self._models.make_stored(name) if former is None else self._models.make_former(former)

        embedder = await self._models.make_embedder(config.embedder)
        model = await self._models.make_chat_model(config)
        base = self.memory.engine
        memory = self.memory.configure(
            embedder=embedder,
            model=model,
            prompt=config.memory_prompt,
            make_former=make_former,
        )
        self._ready[token.grant.id] = _Ready(config.digest, base, memory)
        self._ready.move_to_end(token.grant.id)
        if len(self._ready) > _MAX_MEMORIES:
            self._ready.popitem(last=False)
        return memory

    def _make_gone(self) -> Memory:
        """The memory of tokens that are gone: what is kept is tended, and nothing new is read or embedded."""
        stored = self._models.make_stored
        return self.memory.configure(embedder=stored(""), model=None, make_former=stored)
