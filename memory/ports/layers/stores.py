"""The ports of the layers, as one database has them."""

from __future__ import annotations

from typing import Protocol

from muniment.memory.ports.console.inbox import InboxReads
from muniment.memory.ports.layers.bisections import ReplayStore
from muniment.memory.ports.layers.chats import ChatStore
from muniment.memory.ports.layers.host_items import HostItemStore
from muniment.memory.ports.layers.messages import MessageStore
from muniment.memory.ports.layers.observations import ObservationStore
from muniment.memory.ports.layers.person import PersonReads
from muniment.memory.ports.layers.projections import ProjectionStore
from muniment.memory.ports.layers.resources import ResourceStore
from muniment.memory.ports.layers.sessions import SessionStore
from muniment.memory.ports.seals import SealStore


class LayerStores(Protocol):
    """What lies beside the memories of a database, a port for each layer."""

    @property
    def chats(self) -> ChatStore: ...

    @property
    def host_items(self) -> HostItemStore: ...

    @property
    def inbox_reads(self) -> InboxReads: ...

    @property
    def messages(self) -> MessageStore: ...

    @property
    def observations(self) -> ObservationStore: ...

    @property
    def person_reads(self) -> PersonReads: ...

    @property
    def projections(self) -> ProjectionStore: ...

    @property
    def replays(self) -> ReplayStore: ...

    @property
    def resources(self) -> ResourceStore: ...

    @property
    def sessions(self) -> SessionStore: ...

    @property
    def seals(self) -> SealStore: ...
