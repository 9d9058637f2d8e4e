"""Opens a memory: the engine over the adapters that the settings name."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager

from muniment.memory.bootstrap.databases import make_store
from muniment.memory.bootstrap.models import (
    follow_limits,
    make_batch_model,
    make_chat_model,
    make_embedder,
    make_stored_embedder,
)
from muniment.memory.client import Memory
from muniment.memory.config.overrides import lay_over_valid
from muniment.memory.config.settings import Settings, load_settings
from muniment.memory.engine import Engine
from muniment.memory.flows.live_settings import LiveSettings
from muniment.memory.flows.writing.write import load_reader
from muniment.memory.models.clock import SystemClock
from muniment.memory.models.preload import load_embedder
from muniment.memory.models.reader_process import READER
from muniment.memory.ports.clock import Clock
from muniment.memory.ports.embedders import Embedder
from muniment.memory.ports.llm import ChatModel
from muniment.memory.stores.token_key import KeyFile


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

    def make_other(name: str) -> Embedder:
        return others_by_name.get(name) or make_stored_embedder(settings, name)

    READER.load_first(load_reader)
    store = make_store(settings, chosen.name)
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
            installation_key=KeyFile(settings.home),
            settings=settings,
            live_settings=live,
            model=chat,
            batches=make_batch_model(chat),
            text_reader=READER,
            make_store=store.for_model,
            make_embedder=make_other,
        )
    )
    is_own = model is None

    def follow_change() -> None:
        memory.engine = memory.engine.follow_settings()
        if is_own and chat is not None:
            follow_limits(chat, settings)

    live.call_after(follow_change)
    store.follow_opening(live.start)
    return memory


async def read_settings_in_force(settings: Settings) -> Settings:
    """Return the settings with what an operator has changed in the database. No embedder is loaded. Raises
    StoreDown."""
    store = make_store(settings, settings.embedder)
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
