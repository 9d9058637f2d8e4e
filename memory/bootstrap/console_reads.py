"""Makes what the pages of the console read, over the connections of an open memory."""

from __future__ import annotations

from dataclasses import dataclass

from muniment.memory.client import Memory
from muniment.memory.ports.console.live import LiveReads
from muniment.memory.ports.console.machines import MachineReads
from muniment.memory.ports.console.memories import MemoryPageReads
from muniment.memory.ports.console.nights import NightReads
from muniment.memory.ports.console.overview import OverviewReads
from muniment.memory.ports.console.threads import ThreadReads
from muniment.memory.ports.console.users import UserReads
from muniment.memory.ports.ledger import TurnLedger
from muniment.memory.stores.postgres.store import PostgresStore

__all__ = ["ConsoleReads", "make_console_reads"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsoleReads:
    """What the pages read: a port for each area."""

    overview: OverviewReads
    memories: MemoryPageReads
    ledger: TurnLedger
    threads: ThreadReads
    live: LiveReads
    users: UserReads
    nights: NightReads
    machines: MachineReads


def make_console_reads(memory: Memory) -> ConsoleReads:
    """Return what the pages read over the connections of a memory, which has to be open while it is used."""
    store = memory.engine.store
    if not isinstance(store, PostgresStore):
        raise TypeError(type(store).__name__)
    return ConsoleReads(
        overview=store.overview,
        memories=store.memory_pages,
        ledger=store.ledger,
        users=store.users,
        threads=store.threads,
        nights=store.nights,
        machines=store.machines,
        live=store.live,
    )
