"""The Store over Postgres and pgvector: one object for each port, and the connections that they share."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from muniment.memory.stores.postgres.batch_runs import PostgresBatchRuns
from muniment.memory.stores.postgres.connection.pool import FindAddress, PostgresConnections
from muniment.memory.stores.postgres.console.inbox import PostgresInboxReads
from muniment.memory.stores.postgres.console.live import PostgresLiveReads
from muniment.memory.stores.postgres.console.machines import PostgresMachineReads
from muniment.memory.stores.postgres.console.memories import PostgresMemoryPageReads
from muniment.memory.stores.postgres.console.nights import PostgresNightReads
from muniment.memory.stores.postgres.console.overview import PostgresOverviewReads
from muniment.memory.stores.postgres.console.threads import PostgresThreadReads
from muniment.memory.stores.postgres.console.users import PostgresUserReads
from muniment.memory.stores.postgres.consolidation import PostgresConsolidationRuns
from muniment.memory.stores.postgres.items import PostgresItems
from muniment.memory.stores.postgres.jobs import PostgresJobQueue
from muniment.memory.stores.postgres.layers.bisections import PostgresReplays
from muniment.memory.stores.postgres.layers.chats import PostgresChats
from muniment.memory.stores.postgres.layers.host_items import PostgresHostItems
from muniment.memory.stores.postgres.layers.observations import PostgresObservations
from muniment.memory.stores.postgres.layers.person import PostgresPersonReads
from muniment.memory.stores.postgres.layers.projections import PostgresProjections
from muniment.memory.stores.postgres.layers.resources import PostgresResources
from muniment.memory.stores.postgres.layers.sessions import PostgresSessions
from muniment.memory.stores.postgres.ledger import PostgresLedger, PostgresMessages, PostgresUsage
from muniment.memory.stores.postgres.operation.embedder_switch import PostgresEmbedderSwitch
from muniment.memory.stores.postgres.operation.erasure import PostgresErasure
from muniment.memory.stores.postgres.operation.maintenance import PostgresMaintenance
from muniment.memory.stores.postgres.operation.plugin_accounts import PostgresPluginAccounts
from muniment.memory.stores.postgres.operation.proxy_accounts import PostgresProxyAccounts
from muniment.memory.stores.postgres.operation.settings import PostgresSettings
from muniment.memory.stores.postgres.operation.token_configs import PostgresTokenConfigs
from muniment.memory.stores.postgres.reads import PostgresReads
from muniment.memory.stores.postgres.schema.large_spaces import SpaceIndexes
from muniment.memory.stores.postgres.seals import PostgresSeals
from muniment.memory.stores.postgres.search import PostgresSearches
from muniment.memory.stores.postgres.writes import PostgresWrites


class PostgresStore:
    """A Postgres database of memories. `address` finds the database, and may start and migrate it; `owner` finds the
    address of the login that owns its tables, where that is another one; `model` names the embedder that the vectors
    given to this store come from. The store opens itself on first use."""

    def __init__(
        self,
        address: FindAddress,
        *,
        model: str,
        owner: FindAddress | None = None,
        connections: PostgresConnections | None = None,
    ) -> None:
        self._connections = connections = connections or PostgresConnections(address, model=model, owner=owner)
        self._indexes = indexes = SpaceIndexes(connections)
        self.searches = PostgresSearches(connections, indexes, model)
        self.reads = PostgresReads(connections, self.searches, model)
        self.writes = PostgresWrites(connections, model)
        self.ledger = PostgresLedger(connections)
        self.messages = PostgresMessages(connections)
        self.observations = PostgresObservations(connections)
        self.sessions = PostgresSessions(connections)
        self.chats = PostgresChats(connections)
        self.replays = PostgresReplays(connections)
        self.jobs = PostgresJobQueue(connections)
        self.runs = PostgresConsolidationRuns(connections, model)
        self.batch_runs = PostgresBatchRuns(connections)
        self.erasure = PostgresErasure(connections, indexes)
        self.maintenance = PostgresMaintenance(connections, indexes, model)
        self.items = PostgresItems(connections)
        self.host_items = PostgresHostItems(connections)
        self.person_reads = PostgresPersonReads(connections)
        self.projections = PostgresProjections(connections)
        self.resources = PostgresResources(connections)
        self.seals = PostgresSeals(connections)
        self.settings = PostgresSettings(connections)
        self.token_configs = PostgresTokenConfigs(connections)
        self.plugin_accounts = PostgresPluginAccounts(connections)
        self.proxy_accounts = PostgresProxyAccounts(connections)
        self.usage = PostgresUsage(connections)
        self.inbox_reads = PostgresInboxReads(connections)
        self.live = PostgresLiveReads(connections)
        self.overview = PostgresOverviewReads(connections)
        self.memory_pages = PostgresMemoryPageReads(connections)
        self.threads = PostgresThreadReads(connections)
        self.users = PostgresUserReads(connections)
        self.nights = PostgresNightReads(connections)
        self.machines = PostgresMachineReads(connections)
        self.embedder_switch = PostgresEmbedderSwitch(connections, model)

    def for_model(self, model: str) -> PostgresStore:
        """Return a store of the same connections for the vectors of another embedder."""
        connections = self._connections
        return PostgresStore(connections.find_address, model=model, connections=connections)

    def follow_opening(self, on_open: Callable[[], Awaitable[None]]) -> None:
        """Call this each time that the store was opened, also by its first use."""
        self._connections.on_open = on_open

    async def open(self, *, any_model: bool = False) -> None:
        """Connect, and check that the server answers. Raises StoreDown, and WrongEmbedder unless `any_model`."""
        await self._connections.open(any_model=any_model)

    async def close(self) -> None:
        """Close the connections. The next use opens them again."""
        await self._connections.close()
