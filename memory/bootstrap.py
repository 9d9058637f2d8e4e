"""Where the adapters meet the engine: the only place that names one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from pydantic import SecretStr

from muniment.memory.client import Memory
from muniment.memory.config.settings import DEFAULT_EMBEDDER, HASH_EMBEDDER, OPENAI, Settings, load_settings
from muniment.memory.domain.erasure import ScrubResult
from muniment.memory.engine import Engine
from muniment.memory.errors import BadConfig
from muniment.memory.flows.background.maintenance import Schedule
from muniment.memory.flows.background.worker import OnOutcome, Worker
from muniment.memory.flows.redactor import build_redactor
from muniment.memory.models.clock import SystemClock
from muniment.memory.ports.clock import Clock
from muniment.memory.ports.embedders import Embedder
from muniment.memory.ports.llm import BatchModel, ChatModel
from muniment.memory.stores.postgres.connection import keepalive
from muniment.memory.stores.postgres.embedded import server
from muniment.memory.stores.postgres.schema import scrub
from muniment.memory.stores.postgres.schema.migrate import apply_migrations
from muniment.memory.stores.postgres.store import PostgresStore

_NO_KEY = SecretStr("none")  # local endpoints want no key, the client wants one

# For connections that are not a store's: the checkpointer has a pool of its own.
enable_keepalive, read_silence_limit = keepalive.enable_keepalive, keepalive.read_silence_limit


def create_memory(
    settings: Settings,
    *,
    embedder: Embedder | None = None,
    clock: Clock | None = None,
    model: ChatModel | None = None,
) -> Memory:
    """Return a memory that opens itself on first use; no I/O happens here.

    An `embedder`, `clock` or `model` of one's own takes the place of the one that the settings name. Raises BadConfig for an
    unknown embedder."""
    chosen = embedder or make_embedder(settings)

    async def address() -> str:
        return await ensure_database(settings)

    store = PostgresStore(address, model=chosen.name)
    chat = model or make_chat_model(settings)
    return Memory(
        Engine.build(
            store=store,
            embedder=chosen,
            clock=clock or SystemClock(),
            settings=settings,
            model=chat,
            batches=make_batch_model(chat),
        )
    )


@asynccontextmanager
async def open_memory(
    settings: Settings | None = None, *, embedder: Embedder | None = None, model: ChatModel | None = None
) -> AsyncIterator[Memory]:
    """Open a memory by the settings of this process, or by those given, and close it at the end.

    An `embedder` or a `model` of one's own takes the place of the one that the settings name; it is closed at the end, too.
    Raises BadConfig, StoreDown, WrongEmbedder."""
    async with create_memory(settings or load_settings(), embedder=embedder, model=model) as memory:
        yield memory


@asynccontextmanager
async def open_worker(
    settings: Settings, memory: Memory, on_outcome: OnOutcome | None = None, *, with_schedule: bool = True
) -> AsyncIterator[Worker]:
    """Open a worker for the jobs that this memory can perform; `run` it. `on_outcome` is called after every attempt. Without
    a schedule it does not look for spaces that are due for maintenance.

    It has connections of its own, so that no reply waits behind a worker that waits for the database."""

    async def address() -> str:
        return await ensure_database(settings)

    queue = PostgresStore(address, model=memory.engine.embedder.name)
    try:
        yield Worker(
            queue.jobs,
            memory.jobs.perform_job,
            names=memory.engine.job_registry.list_performable(),
            clock=memory.engine.clock,
            rules=settings.jobs,
            on_outcome=on_outcome,
            schedule=Schedule(queue.maintenance, memory.engine.clock, settings.session_ledger)
            if with_schedule
            else None,
        )
    finally:
        await queue.close()


@asynccontextmanager
async def run_worker(settings: Settings, memory: Memory) -> AsyncIterator[None]:
    """A worker beside what happens inside. At the end it lets go at once: what it was doing goes back to the queue."""
    async with open_worker(settings, memory) as hired:
        running = asyncio.create_task(hired.run())
        try:
            yield
        finally:
            running.cancel()
            (end,) = await asyncio.gather(running, return_exceptions=True)
            if isinstance(end, Exception):
                raise end


def make_embedder(settings: Settings) -> Embedder:
    """The embedder that the settings name. Raises BadConfig naming what is allowed."""
    name = settings.embedder
    if name == DEFAULT_EMBEDDER:
        from muniment.memory.models.onnx.embedder import OnnxEmbedder  # noqa: PLC0415 - onnxruntime is slow to import

        return OnnxEmbedder(settings.embedder_folder)
    if name.startswith(OPENAI):
        from muniment.memory.models.openai.embedder import OpenAIEmbedder  # noqa: PLC0415 - as is the openai client

        return OpenAIEmbedder(
            name.removeprefix(OPENAI),
            api_key=settings.api_key or _NO_KEY,
            base_url=settings.base_url,
            timeout_seconds=settings.model.timeout_seconds,
            max_retries=settings.model.max_retries,
        )
    if name == HASH_EMBEDDER:
        from muniment.memory.models.hash_embedder import HashEmbedder  # noqa: PLC0415 - not part of a usual process

        return HashEmbedder()
    raise BadConfig(
        f"MUNIMENT_EMBEDDER: unknown embedder {name!r}; allowed: {DEFAULT_EMBEDDER}, {OPENAI}MODEL, {HASH_EMBEDDER}"
    )


def make_chat_model(settings: Settings) -> ChatModel | None:
    """The configured model, or None: then the deterministic rules answer."""
    if settings.chat_model is None:
        return None
    from muniment.memory.models.openai.chat import OpenAIChat  # noqa: PLC0415 - the client is slow to import

    return OpenAIChat(
        settings.chat_model,
        api_key=settings.api_key or _NO_KEY,
        base_url=settings.base_url,
        timeout_seconds=settings.model.timeout_seconds,
        max_retries=0,  # an attempt that the budget does not know of would be paid for by nobody
        max_output_tokens=settings.model.max_output_tokens,
    )


def make_batch_model(model: ChatModel | None) -> BatchModel | None:
    """The batch endpoint beside a model; None for one that has none."""
    if model is None:
        return None
    from muniment.memory.models.openai.batches import OpenAIBatches  # noqa: PLC0415 - the client is slow to import
    from muniment.memory.models.openai.chat import OpenAIChat  # noqa: PLC0415 - as above

    return OpenAIBatches(model) if isinstance(model, OpenAIChat) else None


def make_redactor(settings: Settings | None = None) -> Callable[[str], str]:
    """What takes the secrets out of a text, by these settings' rules or by those that always hold.

    A text without a secret stays as it is, to the byte."""
    return build_redactor(settings.redact if settings else None)


async def ensure_database(settings: Settings) -> str:
    """The address of the migrated database; starts the embedded server when no other is named. Raises StoreDown."""
    dsn = await _resolve_address(settings)
    await apply_migrations(dsn)
    return dsn


async def ensure_checkpoint_database(settings: Settings) -> str:
    """The address of the database that has the checkpoints of threads: the same, unless another is named. Raises StoreDown."""
    url = settings.checkpoints_url
    if url is None:
        return await ensure_database(settings)
    threads = keepalive.add_keepalive(url.get_secret_value(), settings.database.silent_seconds)
    await scrub.restore_settings(threads)
    return threads


async def scrub_database(settings: Settings, on_table: Callable[[int], None] | None = None) -> ScrubResult:
    """Rewrite the files of the database, and of that of the checkpoints where it is another, without the rows that are gone;
    `told` hears of each table. May be repeated. Raises Denied, Conflict, StoreDown, StoreError."""
    dsn, threads = await ensure_database(settings), await ensure_checkpoint_database(settings)
    done = await scrub.scrub_database(dsn, on_table)
    return done if await is_same_database(dsn, threads) else done + await scrub.scrub_database(threads, on_table)


async def is_same_database(dsn: str, other: str) -> bool:
    """Whether two addresses are of one database. Raises StoreDown."""
    return dsn == other or await scrub.is_same_database(dsn, other)


async def migrate_database(settings: Settings) -> list[str]:
    """Apply the migrations that are not applied yet; their names."""
    return await apply_migrations(await _resolve_address(settings))


async def stop_server(settings: Settings) -> bool:
    """Stop the embedded server; False when none was running."""
    return await server.stop_server(settings.home)


async def get_server_status(settings: Settings) -> dict[str, Any] | None:
    """The embedded server's process, or None when it does not run or another database is named."""
    return None if settings.database_url is not None else await server.find_server(settings.home)


async def _resolve_address(settings: Settings) -> str:
    url = settings.database_url
    dsn = url.get_secret_value() if url else await server.ensure_server(settings.home)
    return keepalive.add_keepalive(dsn, settings.database.silent_seconds)
