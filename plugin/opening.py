"""Opens the plugin of a host with the store and the book that the settings name.

What it needs is imported when a plugin is opened: a host that imports it, and one whose plugin is off, pay nothing."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING

from muniment.memory.errors import BadConfig

if TYPE_CHECKING:
    from muniment.memory.client import Memory
    from muniment.memory.config.settings import Settings
    from muniment.memory.ports.embedders import Embedder
    from muniment.plugin.compaction import RecordLeaving
    from muniment.plugin.embedding import TextEmbedder
    from muniment.plugin.plugin import MemoryPlugin
    from muniment.plugin.ports import MemoryStore, PluginBook
    from muniment.plugin.stores.remote.store import RemoteStore

_SEND_SECONDS = 30.0  # for a request that nobody waits for
_WARM_UP_SECONDS = 20.0  # for what reads messages and for the embedder: a second or two on an idle machine


@asynccontextmanager
async def open_plugin(
    settings: Settings,
    *,
    store: MemoryStore | None = None,
    book: PluginBook | None = None,
    embedder: Embedder | None = None,
    memory: Memory | None = None,
) -> AsyncIterator[MemoryPlugin]:
    """Give the plugin of a host, open until the block ends: put it into the host's chain.

    What is given is used as it is and stays open; what is not is opened as the settings say. With `plugin.enabled` off
    nothing is opened, and the plugin does nothing. `memory` is an open engine, for the store `engine`. Raises
    BadConfig, and what the store raises that cannot be opened."""
    from muniment.plugin.embedding import guard_embedder  # noqa: PLC0415 - the module's docstring says why
    from muniment.plugin.plugin import MemoryPlugin  # noqa: PLC0415 - as above

    if not settings.plugin.enabled:
        yield MemoryPlugin.make_inactive(settings)
        return
    async with AsyncExitStack() as stack:
        found = embedder if embedder is not None else _make_embedder(settings, stack)
        chosen = None if found is None else guard_embedder(found)
        if store is None:
            store = _open_store(settings, chosen, memory)
            stack.push_async_callback(store.close)
        if book is None:
            book = _open_book(settings, memory)
            stack.push_async_callback(book.close)
        recorder = _make_recorder(settings, memory)
        plugin = MemoryPlugin.make(settings, store, book, embedder=chosen, record_leaving=recorder)
        stack.push_async_callback(plugin.close)
        await plugin.warm_up(_WARM_UP_SECONDS)
        yield plugin


def _make_embedder(settings: Settings, stack: AsyncExitStack) -> Embedder | None:
    """The embedder of the settings, which loads its model when it is first asked; None where words are to do."""
    if not settings.plugin.vectors or settings.plugin.store not in ("local", "hybrid"):
        return None
    from muniment.memory.bootstrap import make_embedder  # noqa: PLC0415 - as above
    from muniment.memory.config.settings import OPENAI  # noqa: PLC0415 - as above
    from muniment.plugin.service_embedder import ServiceEmbedder  # noqa: PLC0415 - as above

    embedder = make_embedder(settings)
    stack.push_async_callback(embedder.close)
    return ServiceEmbedder(embedder) if settings.embedder.startswith(OPENAI) else embedder


def _open_store(settings: Settings, embedder: TextEmbedder | None, memory: Memory | None) -> MemoryStore:
    match settings.plugin.store:
        case "local":
            from muniment.plugin.stores.local.store import open_local_store  # noqa: PLC0415 - as above

            return open_local_store(settings, embedder)
        case "engine":
            from muniment.plugin.stores.engine.store import EngineStore  # noqa: PLC0415 - as above

            if memory is None:
                raise BadConfig("plugin.store: engine; open_plugin needs the open memory of this database")
            return EngineStore(memory, settings.plugin)
        case "remote":
            from muniment.plugin.stores.counting import CountingStore  # noqa: PLC0415 - as above

            return CountingStore(_make_remote(settings))
        case "hybrid":
            from muniment.plugin.stores.hybrid.opening import open_hybrid_store  # noqa: PLC0415 - as above

            return open_hybrid_store(settings, embedder)


def _make_recorder(settings: Settings, memory: Memory | None) -> RecordLeaving | None:
    """What keeps the messages that leave a thread: the engine has a ledger for them, a file has not."""
    if settings.plugin.store != "engine" or memory is None:
        return None
    from muniment.plugin.stores.engine.leaving import make_recorder  # noqa: PLC0415 - as above

    return make_recorder(memory)


def _make_remote(settings: Settings) -> RemoteStore:
    from muniment.plugin.stores.remote.store import RemoteStore  # noqa: PLC0415 - as above

    if settings.plugin.url is None:
        raise BadConfig(
            f"plugin.url: is missing; allowed: the address of the service, with store: {settings.plugin.store}"
        )
    if settings.plugin_token is None:
        raise BadConfig("MUNIMENT_PLUGIN_TOKEN: is missing; allowed: a token of the service that plugin.url names")
    return RemoteStore(
        settings.plugin.url, settings.plugin_token, timeout_seconds=max(settings.plugin.remote_seconds, _SEND_SECONDS)
    )


def _open_book(settings: Settings, memory: Memory | None) -> PluginBook:
    if settings.plugin.store == "engine" and memory is not None:
        from muniment.memory.bootstrap.plugin_accounts import make_plugin_accounts  # noqa: PLC0415 - as above
        from muniment.plugin.book.engine_book import EngineBook  # noqa: PLC0415 - as above

        return EngineBook(make_plugin_accounts(memory))
    from muniment.plugin.book.opening import make_file_book  # noqa: PLC0415 - as above

    return make_file_book(settings)
