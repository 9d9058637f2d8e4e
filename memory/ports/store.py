"""The store port."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from datetime import date, datetime, timedelta
from typing import Any, Protocol

from muniment.memory.domain.consent import Consent, Decision
from muniment.memory.domain.ids import MemoryId, Revision, TurnId, Vector
from muniment.memory.domain.jobs import Job
from muniment.memory.domain.journal import JournalEntry, Node
from muniment.memory.domain.maintenance import IndexingResult
from muniment.memory.domain.memory import Kind, Memory, Neighbour
from muniment.memory.domain.plan import PackedRow, Receipt, SpaceDump, WritePlan
from muniment.memory.domain.query import ListRequest, MemoryPage
from muniment.memory.domain.scope import Reader, Scope
from muniment.memory.domain.search import NeighbourProbe, Search, SearchSnapshot
from muniment.memory.domain.turn import EpisodeSource, Passage, RecentConversation, Turn
from muniment.memory.domain.usage import Charge, OpsEvent, Settlement, SpaceActivity, UsageReport
from muniment.memory.ports.consolidation import BatchRunStore, ConsolidationStore
from muniment.memory.ports.embedders import EmbedderSwitchStore
from muniment.memory.ports.erasure import ErasureStore
from muniment.memory.ports.jobs import JobQueue
from muniment.memory.ports.ledger import WorkLedger
from muniment.memory.ports.maintenance import MaintenanceStore


class Store(
    JobQueue,
    EmbedderSwitchStore,
    ConsolidationStore,
    BatchRunStore,
    ErasureStore,
    WorkLedger,
    MaintenanceStore,
    Protocol,
):
    """Everything the engine asks of a database. Every method is one transaction."""

    async def open(self, *, any_model: bool = False) -> None:
        """Connect. WrongEmbedder when the vectors come from another model, unless `any_model`."""
        ...

    async def close(self) -> None: ...

    async def commit(self, plan: WritePlan) -> Receipt:
        """Apply the plan, all or nothing. `Conflict` if the space is no longer at `plan.expects`."""
        ...

    async def pack_rows(self, plan: WritePlan) -> tuple[PackedRow, ...]:
        """The plan's changes, new memories only, each with those of the plan's turns that support it. Writes nothing."""
        ...

    async def insert_packed(self, plan: WritePlan, packed_rows: Sequence[PackedRow]) -> int:
        """Commit what was packed in the plan's scope and name, but for what has no turn left to consume; how many."""
        ...

    async def find_neighbours(
        self, scope: Scope, probes: Sequence[NeighbourProbe], limit: int
    ) -> tuple[Revision, list[tuple[Neighbour, ...]]]:
        """The space's revision and, for each probe, its active neighbours of the same kind, closest first."""
        ...

    async def find_neighbours_by_words(
        self, scope: Scope, probes: Sequence[tuple[Kind, str]], limit: int
    ) -> list[tuple[Neighbour, ...]]:
        """For each kind and text the active memories of that kind that share most of its words; their `sim` is 0.0."""
        ...

    async def read_snapshot(
        self,
        reader: Reader,
        search: Search | None,
        *,
        stable: Sequence[str] = (),
        stable_limit: int = 100,
        thread: str | None = None,
        horizon: datetime | None = None,
        as_of: Revision | None = None,
    ) -> SearchSnapshot:
        """Search, stable memories of the named categories, and the thread's unseen changes - of very many memories those
        of the most important, then of the last -, at one revision: the last, or that of `as_of`, with the values of the profile that were approved by then.

        `horizon`: a thread that never looked sees the changes since then."""
        ...

    async def find_revision_at(self, scope: Scope, moment: datetime) -> Revision:
        """The revision that the space had at this time; 0 before its first change."""
        ...

    async def advance_cursor(self, scope: Scope, thread: str, rev: Revision) -> None:
        """Advance the thread's cursor to `rev`; never back."""
        ...

    async def get_memory(self, reader: Reader, memory_id: MemoryId, *, as_of: Revision | None = None) -> Memory | None:
        """The memory in any state, as it is or as it was at a revision; None when it is not there."""
        ...

    async def find_related(self, reader: Reader, memory_id: MemoryId, limit: int) -> list[Neighbour]:
        """The active memories with an edge to this one, strongest first; `sim` is the strength."""
        ...

    async def list_memories(self, reader: Reader, listing: ListRequest, *, as_of: Revision | None = None) -> MemoryPage:
        """Memories as they are, or as they were at a revision."""
        ...

    async def read_history(self, reader: Reader, memory_id: MemoryId | None, limit: int) -> list[JournalEntry]:
        """Journal lines of a memory, or of the whole space, newest first."""
        ...

    async def record_turns(
        self, scope: Scope, turns: Sequence[Turn], jobs: Sequence[Job] = (), *, retention: timedelta | None = None
    ) -> None:
        """Append turns to the ledger and jobs to the queue, in one transaction; a turn that is there stays as it is.

        `keep`: after so long they are due to go."""
        ...

    async def list_consents(self, scope: Scope, decisions: Sequence[Decision], limit: int) -> list[Consent]:
        """Requests for consent with one of these decisions, or all when none is named; the newest first."""
        ...

    async def find_consumed_turns(self, scope: Scope, turns: Sequence[TurnId]) -> set[TurnId]:
        """Which of these turns are consumed."""
        ...

    async def get_passage(self, scope: Scope, turn: TurnId, *, before: int, after: int) -> Passage | None:
        """A turn of the ledger among those of its thread, and who looked at it; None when it is not there."""
        ...

    async def count_changes(self, scope: Scope, since: datetime, nodes: Sequence[Node]) -> int:
        """How many changes these nodes made in the space since then."""
        ...

    async def find_supported(self, scope: Scope, turn: TurnId) -> frozenset[MemoryId]:
        """The active memories that the turn supports."""
        ...

    async def find_given_up_texts(self, scope: Scope, texts: Sequence[str], before: Revision) -> frozenset[str]:
        """Which of these texts a memory that is not forgotten has given up by then, and may have again."""
        ...

    async def read_latest_turns(self, scope: Scope, *, turns: int) -> RecentConversation:
        """The last turns of the thread that was spoken in last, and when insights were last looked for."""
        ...

    async def read_thread_events(
        self, scope: Scope, *, tag: str, category: str, since: datetime, limit: int
    ) -> EpisodeSource:
        """What happened in the scope's thread since then; episodes are the episodic memories with the tag."""
        ...

    async def record_events(
        self, scope: Scope, events: Sequence[OpsEvent], *, retention: timedelta | None = None
    ) -> None:
        """Write operational events; after `keep` they are due to go."""
        ...

    async def reserve(self, scope: Scope, day: date, charge: Charge, tokens: int | None, micros: int | None) -> bool:
        """Charge the tenant's day before a request, unless it is at its budget of tokens or micros already."""
        ...

    async def settle(self, scope: Scope, settlements: Sequence[Settlement]) -> None:
        """Replace what was reserved of the tenant's days by what was used."""
        ...

    async def read_usage(self, scope: Scope, since: date) -> UsageReport:
        """What the scope's tenant spent since a day, all its spaces together."""
        ...

    async def read_activity(self, reader: Reader, since: date, changes: int) -> SpaceActivity:
        """What the space did since a day, and its latest changes."""
        ...

    async def dump_space(self, scope: Scope) -> SpaceDump: ...

    async def read_content(self, scope: Scope) -> tuple[dict[str, Any], ...]:
        """The memories and relations of a space as rows of JSON values in a fixed order, without their revisions: equal
        for two moments at which the same is known."""
        ...

    async def load_space(self, scope: Scope, dump: SpaceDump, vectors: Sequence[Vector]) -> None:
        """Restore a dump into an empty space, exactly. `Conflict` if the space is not empty.

        `vectors`: one for each row of type memory or version, in order."""
        ...

    async def index_space(self, scope: Scope, min_memories: int, *, force: bool = False) -> IndexingResult:
        """Make the indexes of a space of at least so many active memories, or drop those of a smaller one; with `anew`
        after any change, else after many. Conflict while another process makes one, or a switch of the embedder is not over.
        """
        ...

    async def unindex_space(self, scope: Scope) -> IndexingResult:
        """Drop the indexes of a space: it is searched as a small one."""
        ...

    async def find_spaces_to_index(self, min_memories: int) -> list[Scope]:
        """The spaces that may want their indexes made, made anew or dropped; maintenance only."""
        ...

    async def read_status(self, scope: Scope) -> dict[str, Any]: ...

    def list_spaces(self) -> AsyncIterator[Scope]:
        """The scope of every space of the database; maintenance only."""
        ...
