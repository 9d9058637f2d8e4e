"""The stores that simulated users have: a file, or a file with a server over a throw-away database."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from benchmarks import harness
from benchmarks.counted_store import CountedStore
from muniment.memory import bootstrap
from muniment.memory.config.settings import Settings
from muniment.memory.ports.embedders import Embedder
from muniment.plugin.ports import OperationStore
from muniment.plugin.stores.engine.store import EngineStore
from muniment.plugin.stores.hybrid.migrations import OUTBOX
from muniment.plugin.stores.hybrid.mirror import MirrorStore
from muniment.plugin.stores.hybrid.pacing import Pace
from muniment.plugin.stores.hybrid.sender import SendOptions
from muniment.plugin.stores.hybrid.store import HybridOptions, HybridStore
from muniment.plugin.stores.local.store import LocalOptions, open_local_store

REMOTE_SECONDS = 10.0  # what is measured is how often the server is asked


@dataclass(frozen=True, kw_only=True)
class Stores:
    """Opens the store of a session. `settings` enable the plugin; with a `server` each file is that of a hybrid."""

    settings: Settings
    embedder: Embedder | None
    server: OperationStore | None

    def open_store(self, file: Path, clock: Callable[[], datetime]) -> CountedStore | HybridStore:
        """Return the store over a person's file."""
        if self.server is None:
            return CountedStore(open_local_store(self.choose_file(file), self.embedder))
        profile = self.settings.find_profile(self.embedder.name) if self.embedder else None
        options = LocalOptions(profile=profile, parts=(OUTBOX,))
        local = MirrorStore(file, embedder=self.embedder, options=options, now=clock)
        gates = self.settings.plugin.gates
        sending = SendOptions(pace=Pace(writes_per_100_turns=gates.remote_writes_per_100_turns))
        given = HybridOptions(gates=gates, remote_seconds=REMOTE_SECONDS, sending=sending)
        return HybridStore(local, self.server, given, now=clock)

    def choose_file(self, file: Path) -> Settings:
        """Return the settings of a person's plugin."""
        plugin = self.settings.plugin.model_copy(update={"enabled": True, "store": "local", "file": str(file)})
        return self.settings.model_copy(update={"plugin": plugin})


@asynccontextmanager
async def open_stores(base: Settings, *, with_server: bool) -> AsyncIterator[Stores]:
    """Give what opens the stores of sessions; the database of the server is dropped at the end."""
    embedder = bootstrap.make_embedder(base) if base.plugin.vectors else None
    if not with_server:
        yield Stores(settings=base, embedder=embedder, server=None)
        return
    async with harness.throwaway(base) as own, bootstrap.open_memory(own) as memory:
        yield Stores(settings=own, embedder=embedder, server=EngineStore(memory, own.plugin))
