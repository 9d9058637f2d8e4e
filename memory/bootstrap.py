"""Joins the adapters and the engine. Only this module names an adapter."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, TypeVar

from pydantic import SecretStr

from muniment.memory.client import Memory
from muniment.memory.config.overrides import lay_over_valid
from muniment.memory.config.settings import (
    DEFAULT_EMBEDDER,
    HASH_EMBEDDER,
    MULTILINGUAL_EMBEDDER,
    OPENAI,
    Settings,
    format_embedder_setting,
    load_settings,
)
from muniment.memory.domain.erasure import ScrubResult
from muniment.memory.engine import Engine
from muniment.memory.errors import BadConfig, Denied
from muniment.memory.flows.background.maintenance import Schedule, list_enqueueings
from muniment.memory.flows.background.worker import OnOutcome, Worker
from muniment.memory.flows.live_settings import LiveSettings
from muniment.memory.flows.shares import Shares as Shares  # noqa: PLC0414 - for faces
from muniment.memory.flows.tokens import Tokens as Tokens  # noqa: PLC0414 - for faces and the graph
from muniment.memory.flows.writing.write import load_reader
from muniment.memory.models.clock import SystemClock
from muniment.memory.models.preload import load_embedder
from muniment.memory.models.reader_process import READER
from muniment.memory.ports.clock import Clock
from muniment.memory.ports.embedders import Embedder
from muniment.memory.ports.llm import BatchModel, ChatModel
from muniment.memory.ports.readers import VERY_LONG_TEXT
from muniment.memory.ports.store import Store
from muniment.memory.rules.redaction.redact import Redactor
from muniment.memory.stores.postgres.connection import keepalive
from muniment.memory.stores.postgres.connection.pool import PostgresConnections
from muniment.memory.stores.postgres.embedded import login, server
from muniment.memory.stores.postgres.operation.shares import PostgresShares
from muniment.memory.stores.postgres.operation.tokens import PostgresTokens
from muniment.memory.stores.postgres.schema import grants, scrub
from muniment.memory.stores.postgres.schema.migrate import apply_migrations
from muniment.memory.stores.postgres.store import PostgresStore
from muniment.memory.stores.token_key import load_token_key

_Store = TypeVar("_Store", PostgresTokens, PostgresShares)
_NO_KEY = SecretStr("none")  # a local endpoint needs no key, but the client does
_MIGRATE_AS_OWNER = (
    "the login that owns the tables migrates them (MUNIMENT_OWNER_URL=… muniment migrate), and `muniment grant` gives "
    "another login what the engine needs"
)
read_grant_script = grants.read_grant_script
# For connections that are not a store's: the checkpointer has a pool of its own.
enable_keepalive, read_silence_limit = keepalive.enable_keepalive, keepalive.read_silence_limit


def create_memory(
    settings: Settings,
    *,
    embedder: Embedder | Sequence[Embedder] | None = None,
    clock: Clock | None = None,
    model: ChatModel | None = None,
) -> Memory:
    """Return a memory that opens itself on first use; no I/O happens here.

    A given `embedder`, `clock` or `model` replaces the one that the settings name. Of several embedders the first is
    the database's, and the others are for spaces that have them; those of other spaces are made by their names. Raises
    BadConfig for an unknown embedder."""
    settings = settings.model_copy()  # these follow what an operator changes
    given = embedder if isinstance(embedder, Sequence) else (embedder or make_embedder(settings),)
    chosen, *others = given
    others_by_name = {each.name: each for each in others}

    def make_other(name: str) -> tuple[Store, Embedder]:
        return store.for_model(name), others_by_name.get(name) or make_stored_embedder(settings, name)

    READER.load_first(load_reader)
    store = _make_store(settings, chosen.name)
    chat = model or make_chat_model(settings)
    timer = clock or SystemClock()
    live = LiveSettings(store.settings, timer, settings)
    memory = Memory(
        Engine.build(
            store=store,
            item_store=store.items,
            layer_stores=store,
            embedder=chosen,
            clock=timer,
            settings=settings,
            live_settings=live,
            model=chat,
            batches=make_batch_model(chat),
            text_reader=READER,
            make_adapters=make_other,
        )
    )
    is_own = model is None

    def follow_change() -> None:
        memory.engine = memory.engine.follow_settings()
        if is_own and chat is not None:
            _follow_limits(chat, settings)

    live.call_after(follow_change)
    store.follow_opening(live.start)
    return memory


def _follow_limits(chat: ChatModel, settings: Settings) -> None:
    """Let a model of ours be asked within the limits of the settings as they are now."""
    from muniment.memory.models.openai.chat import OpenAIChat  # noqa: PLC0415 - the client is slow to import

    if isinstance(chat, OpenAIChat):
        chat.limit_requests(settings.model.timeout_seconds, settings.model.max_output_tokens)


async def read_settings_in_force(settings: Settings) -> Settings:
    """Return the settings with what an operator has changed in the database. No embedder is loaded. Raises
    StoreDown."""
    store = _make_store(settings, settings.embedder)
    try:
        await store.open(any_model=True)
        return lay_over_valid(settings, (await store.settings.read_overrides()).values)[0]
    finally:
        await store.close()


@asynccontextmanager
async def open_memory(
    settings: Settings | None = None,
    *,
    embedder: Embedder | Sequence[Embedder] | None = None,
    model: ChatModel | None = None,
    agents: Mapping[str, Sequence[str]] | None = None,
) -> AsyncIterator[Memory]:
    """Open a memory by the settings of this process, or by those given, load its embedder, and close it at the end.

    A given `embedder` or `model` replaces the one that the settings name, and is closed at the end, too. Of several
    embedders the first is the database's, and the others are for spaces that have them. `agents` are your own, with the
    categories that each may read. Raises BadConfig, StoreDown, WrongEmbedder."""
    chosen = (settings or load_settings()).add_agents(agents or {})
    async with create_memory(chosen, embedder=embedder, model=model) as memory:
        await load_embedder(memory.engine.embedder)
        yield memory


@asynccontextmanager
async def open_worker(
    settings: Settings, memory: Memory, on_outcome: OnOutcome | None = None, *, with_schedule: bool = True
) -> AsyncIterator[Worker]:
    """Open a worker for the jobs that this memory can perform; the caller runs it. `on_outcome` is called after each
    attempt.

    Without a schedule it enqueues neither maintenance nor the indexes of large spaces. It has its own
    connections, so that no reply waits for a worker's."""
    queue = _make_store(settings, memory.engine.embedder.name)
    try:
        yield Worker(
            queue.jobs,
            memory.jobs.perform_job,
            names=memory.engine.job_registry.list_performable(),
            clock=memory.engine.clock,
            rules=settings.jobs,
            find_first_wait=lambda: memory.engine.settings.model.backoff_seconds,
            on_outcome=on_outcome,
            periodic=(
                Schedule(queue.maintenance, memory.engine.clock, lambda: memory.engine.settings.session_ledger),
                *list_enqueueings(memory.jobs.enqueue_overgrown, memory.jobs.enqueue_idle, settings.session_ledger),
            )
            if with_schedule
            else (),
        )
    finally:
        await queue.close()


@asynccontextmanager
async def run_worker(settings: Settings, memory: Memory) -> AsyncIterator[asyncio.Task[None]]:
    """Run a worker, whose task this is, while the context is open; then its jobs go back to the queue at once."""
    async with open_worker(settings, memory) as worker:
        running = asyncio.create_task(worker.run())
        try:
            yield running
        finally:
            running.cancel()
            (result,) = await asyncio.gather(running, return_exceptions=True)
            if isinstance(result, Exception):
                raise result


@asynccontextmanager
async def open_tokens(
    settings: Settings, clock: Clock | None = None, *, as_owner: bool = False
) -> AsyncIterator[Tokens]:
    """Open the tokens of this installation: those of its database, under the key of its home. No embedder is loaded.

    To make, list and revoke tokens they are opened `as_owner` of the tables: the engine's login may only look one up.
    Raises BadConfig for a key that others may read, StoreDown."""
    key = await asyncio.to_thread(load_token_key, settings.home)
    async with _open_store(PostgresTokens(_connect(settings, as_owner=as_owner))) as store:
        yield Tokens(store=store, clock=clock or SystemClock(), key=key)


@asynccontextmanager
async def open_shares(settings: Settings, clock: Clock | None = None) -> AsyncIterator[Shares]:
    """Open the shares of this database, as the owner of its tables. No embedder is loaded. Raises StoreDown."""
    async with _open_store(PostgresShares(_connect(settings, as_owner=True))) as store:
        yield Shares(store=store, clock=clock or SystemClock())


def _connect(settings: Settings, *, as_owner: bool) -> PostgresConnections:
    async def find_address() -> str:
        address = await ensure_database(settings)
        return await find_owner_address(settings) if as_owner else address

    return PostgresConnections(find_address, model=settings.embedder)


@asynccontextmanager
async def _open_store(store: _Store) -> AsyncIterator[_Store]:
    try:
        await store.open()
        yield store
    finally:
        await store.close()


def make_embedder(settings: Settings) -> Embedder:
    """Return the embedder that the settings name. Raises BadConfig that names the allowed ones."""
    name = settings.embedder
    if name == DEFAULT_EMBEDDER:
        from muniment.memory.models.onnx.embedder import OnnxEmbedder  # noqa: PLC0415 - onnxruntime is slow to import

        return OnnxEmbedder(settings.embedder_folder)
    if name == MULTILINGUAL_EMBEDDER:
        from muniment.memory.models.e5.embedder import E5Embedder  # noqa: PLC0415 - not part of a usual process

        return E5Embedder()
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
        f"MUNIMENT_EMBEDDER: unknown embedder {name!r}; "
        f"allowed: {DEFAULT_EMBEDDER}, {MULTILINGUAL_EMBEDDER}, {OPENAI}MODEL, {HASH_EMBEDDER}"
    )


def make_stored_embedder(settings: Settings, model: str) -> Embedder:
    """Return the embedder that a database knows by its model's name. Raises BadConfig where this process cannot have
    it."""
    setting = format_embedder_setting(model)
    if setting.startswith(OPENAI) and settings.api_key is None and settings.base_url is None:
        raise BadConfig(f"{setting} needs OPENAI_API_KEY, or OPENAI_BASE_URL for an endpoint of your own")
    return make_embedder(settings.model_copy(update={"embedder": setting}))


def make_chat_model(settings: Settings) -> ChatModel | None:
    """Return the configured model, or None: then only the rules work."""
    if settings.chat_model is None:
        return None
    from muniment.memory.models.openai.chat import OpenAIChat  # noqa: PLC0415 - the client is slow to import

    return OpenAIChat(
        settings.chat_model,
        api_key=settings.api_key or _NO_KEY,
        base_url=settings.base_url,
        timeout_seconds=settings.model.timeout_seconds,
        max_retries=0,  # the meter repeats a request and charges each attempt
        max_output_tokens=settings.model.max_output_tokens,
    )


def make_batch_model(model: ChatModel | None) -> BatchModel | None:
    """Return the batch endpoint of a model, or None for a model without one."""
    if model is None:
        return None
    from muniment.memory.models.openai.batches import OpenAIBatches  # noqa: PLC0415 - the client is slow to import
    from muniment.memory.models.openai.chat import OpenAIChat  # noqa: PLC0415 - as above

    return OpenAIBatches(model) if isinstance(model, OpenAIChat) else None


def make_redactor(settings: Settings | None = None) -> Callable[[str], str]:
    """Return a function that redacts a text by these settings, or by the rules that always hold. It returns a text
    without a secret unchanged, to the byte. Call it from a thread for a long text."""
    redactor = Redactor(settings.redact if settings else None)

    def redact(text: str) -> str:
        is_very_long = len(text) > VERY_LONG_TEXT
        return READER.call_function(redactor.redact_text, text) if is_very_long else redactor.redact_uncached(text)

    return redact


async def ensure_database(settings: Settings) -> str:
    """Return the address of the migrated database. Starts the embedded server when none is named. Raises StoreDown."""
    await _migrate_database(settings, check=True)
    return await _find_login_address(settings)


async def find_owner_address(settings: Settings) -> str:
    """Return the address of the login that owns the tables of the memory. Starts the embedded server when no database
    is named. Raises StoreDown.

    Without MUNIMENT_OWNER_URL a server of one's own has one login for everything."""
    url = settings.owner_url or settings.database_url
    dsn = url.get_secret_value() if url else await server.ensure_server(settings.home)
    return keepalive.add_keepalive(dsn, settings.database.silent_seconds)


async def ensure_checkpoint_database(settings: Settings) -> str:
    """Return the address of the database with the checkpoints of threads. Raises StoreDown."""
    url = settings.checkpoints_url
    if url is None:
        return await ensure_database(settings)
    threads = keepalive.add_keepalive(url.get_secret_value(), settings.database.silent_seconds)
    await scrub.restore_settings(threads)
    return threads


async def scrub_database(settings: Settings, on_table: Callable[[int], None] | None = None) -> ScrubResult:
    """Rewrite the files of the database, and of that of the checkpoints, without deleted rows. May be repeated. After
    each table `on_table` is called with the number of those done. Raises Denied, Conflict, StoreDown, StoreError."""
    dsn, threads = await ensure_database(settings), await ensure_checkpoint_database(settings)
    done = await scrub.scrub_database(await find_owner_address(settings), on_table)
    return done if await is_same_database(dsn, threads) else done + await scrub.scrub_database(threads, on_table)


async def is_same_database(dsn: str, other: str) -> bool:
    """Whether two addresses lead to one database. Raises StoreDown."""
    return dsn == other or await scrub.is_same_database(dsn, other)


async def migrate_database(settings: Settings) -> list[str]:
    """Apply the migrations that are not applied yet, and return their names. Raises Denied, with the way out, for a
    login that may not."""
    return await _migrate_database(settings)


async def _migrate_database(settings: Settings, *, check: bool = False) -> list[str]:
    owner = await find_owner_address(settings)
    if settings.is_embedded:
        await login.ensure_login(settings.home)
        return await apply_migrations(owner, then=partial(grants.ensure_grants, login=login.LOGIN))
    then = partial(grants.check_grants, address=await _find_login_address(settings)) if check else None
    try:
        return await apply_migrations(owner, then=then)
    except Denied as error:
        raise Denied(f"{error}: {_MIGRATE_AS_OWNER}", **error.data) from None


async def grant_login(settings: Settings, name: str) -> None:
    """Give a login of a server of one's own what the engine needs, and nothing else. May be repeated.

    Raises NotFound, BadInput, Denied; BadConfig for the embedded server, whose login has what it needs."""
    if settings.is_embedded:
        raise BadConfig(
            "the embedded Postgres has its login already: set MUNIMENT_OWNER_URL to grant on another server"
        )
    await migrate_database(settings)
    await grants.grant_login(await find_owner_address(settings), name)


async def stop_server(settings: Settings) -> bool:
    """Stop the embedded server. Returns False when none was running."""
    return await server.stop_server(settings.home)


async def get_server_status(settings: Settings) -> dict[str, Any] | None:
    """Return the state of the embedded server, or None when it does not run or another database is named."""
    return await server.find_server(settings.home) if settings.is_embedded else None


async def _find_login_address(settings: Settings) -> str:
    url = settings.database_url or settings.owner_url
    dsn = url.get_secret_value() if url else await login.ensure_login(settings.home)
    return keepalive.add_keepalive(dsn, settings.database.silent_seconds)


def _make_store(settings: Settings, model: str) -> PostgresStore:
    owner = partial(find_owner_address, settings)
    return PostgresStore(partial(ensure_database, settings), model=model, owner=owner)
