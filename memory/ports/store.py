"""The store: one database behind ten ports."""

from __future__ import annotations

from typing import Protocol

from muniment.memory.ports.consolidation import BatchRuns, ConsolidationRuns
from muniment.memory.ports.embedders import EmbedderSwitchStore
from muniment.memory.ports.jobs import JobQueue
from muniment.memory.ports.ledger import TurnLedger
from muniment.memory.ports.operation.erasure import ErasureStore
from muniment.memory.ports.operation.maintenance import MaintenanceStore
from muniment.memory.ports.operation.usage import UsageStore
from muniment.memory.ports.reads import MemoryReads
from muniment.memory.ports.writes import MemoryWrites


class Store(Protocol):
    """A database of memories. Every method of a port is one transaction, and opens the store when it is not open."""

    async def open(self, *, any_model: bool = False) -> None:
        """Connect. Raises StoreDown, and WrongEmbedder when the vectors come from another model, unless `any_model`."""
        ...

    async def close(self) -> None:
        """Close the connections. The next use opens them again."""
        ...

    @property
    def reads(self) -> MemoryReads: ...

    @property
    def writes(self) -> MemoryWrites: ...

    @property
    def ledger(self) -> TurnLedger: ...

    @property
    def jobs(self) -> JobQueue: ...

    @property
    def runs(self) -> ConsolidationRuns: ...

    @property
    def batch_runs(self) -> BatchRuns: ...

    @property
    def erasure(self) -> ErasureStore: ...

    @property
    def maintenance(self) -> MaintenanceStore: ...

    @property
    def usage(self) -> UsageStore: ...

    @property
    def embedder_switch(self) -> EmbedderSwitchStore: ...
