"""The write port: plans, bulk writes, export and restore of a space."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Protocol

from muniment.memory.domain.ids import MemoryId, Revision, Vector
from muniment.memory.domain.plan import KeptReceipt, PackedRow, Receipt, SpaceDump, WritePlan
from muniment.memory.domain.scope import RequestKey, Scope


class SpaceRows(Protocol):
    """A whole space as rows of JSON values, which may be too many to hold."""

    @property
    def rev(self) -> Revision:
        """Return its revision."""
        ...

    def read_rows(self, types: Collection[str] | None = None) -> Iterator[dict[str, Any]]:
        """Yield its rows in a fixed order, or those of some types; as often as it is called."""
        ...


class MemoryWrites(Protocol):
    """Writes of one space, each of them one transaction."""

    async def commit(self, plan: WritePlan) -> Receipt:
        """Apply the plan, all or nothing.

        Raises Conflict when the space is no longer at `plan.expected_rev`, BadInput when another active memory has
        the stable key of one of the plan's."""
        ...

    async def commit_group(self, plans: Sequence[WritePlan]) -> Sequence[Receipt]:
        """Apply plans of one space in order and in one transaction: all, or none where one of them fails.

        Each expects the revision that those before it leave. Raises as `commit`, and StoreError for a replay."""
        ...

    async def pack_rows(self, plan: WritePlan) -> tuple[PackedRow, ...]:
        """Encode the plan's changes, new memories only, each with the plan's turns that support it. Writes nothing."""
        ...

    async def insert_packed(self, plan: WritePlan, packed_rows: Sequence[PackedRow]) -> int:
        """Write packed rows in the plan's scope; return how many memories were added.

        A row whose turns are all consumed already is left out. Raises BadInput when another active memory has the
        stable key of one of them."""
        ...

    async def dump_space(self, scope: Scope) -> SpaceDump:
        """Return the whole space as rows of JSON values."""
        ...

    async def read_content(self, scope: Scope) -> tuple[dict[str, Any], ...]:
        """Return memories and relations as rows of JSON values in a fixed order, without revisions.

        Two spaces that hold the same return equal rows."""
        ...

    async def find_given_up_texts(self, scope: Scope, texts: Sequence[str], before: Revision) -> frozenset[str]:
        """Return those of the texts that a memory had before this revision, has not now, and may have again.

        Forgotten memories do not count."""
        ...

    async def load_space(self, scope: Scope, dump: SpaceRows, vectors: Iterable[Vector]) -> None:
        """Restore a dump into an empty space, exactly. `vectors`: one for each row of type memory or version, in order.
        Both are taken in portions.

        Raises Conflict when the space is not empty, BadInput when the rows are no whole space; then none is kept."""
        ...

    async def check_embedder(self, scope: Scope) -> None:
        """Raise WrongEmbedder unless the vectors of the space are of the store's model."""
        ...

    async def advance_cursor(self, scope: Scope, thread: str, rev: Revision) -> None:
        """Move the thread's cursor to `rev`; it never moves back."""
        ...

    async def record_access(self, scope: Scope, counts: Mapping[MemoryId, int], at: datetime) -> frozenset[MemoryId]:
        """Count retrievals of memories. This is no change and waits for no writer.

        Returns the memories that a writer holds: these are not counted."""
        ...

    async def settle_request(
        self, scope: Scope, request: RequestKey, now: datetime, receipt: Receipt | None = None
    ) -> KeptReceipt | None:
        """Keep the receipt of a request, unless another call with its key was first, and return what is kept
        under the key since a day ago; without a receipt only that. A space that does not exist keeps nothing."""
        ...
