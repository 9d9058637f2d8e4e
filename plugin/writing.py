"""What a turn leaves behind: finds that pass the gates become items, and what they replace or end goes."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING

from muniment.memory.domain.turn import Turn
from muniment.memory.rules.language.tokens import get_lexeme_set
from muniment.plugin.domain.book import AuditLine
from muniment.plugin.domain.item import ItemOwner, ListQuery, MemoryItem, Outcome, SearchQuery
from muniment.plugin.gates.write import DUPLICATE, WriteSignals, decide_write
from muniment.plugin.reading.completions import find_done, list_done
from muniment.plugin.reading.finds import (
    GENERATIONS,
    Find,
    TurnFinds,
    find_unwanted,
    is_replaced,
    is_same,
    list_ids,
    make_item,
    read_finds,
)
from muniment.plugin.recall import Stopwatch

if TYPE_CHECKING:
    from muniment.memory.config.plugin import GateSettings
    from muniment.memory.config.settings import Settings
    from muniment.memory.rules.extraction.turn_reader import TurnReader
    from muniment.plugin.ports import MemoryStore, PluginBook

FORGOTTEN, REFUSED = "forgotten before", "refused by the store"
_NEIGHBOURS = 8
_TODOS = 50


@dataclass(slots=True, kw_only=True)
class WriteResult:
    """What a turn has written. `changed` are the ids of items that say something else since, or are gone."""

    written: int = 0
    duplicates: int = 0
    refusals: Counter[str] = field(default_factory=Counter)
    changed: set[str] = field(default_factory=set)
    milliseconds: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteRequest:
    """What is to be written: whose it is, and by which gates.

    `is_leaving`: its messages leave the thread, so that facts are kept, too, and the limit of a day does not hold.
    `is_shadow`: all is decided, and nothing is written."""

    owner: ItemOwner
    at: datetime
    gates: GateSettings
    keywords: tuple[str, ...] = ()
    is_leaving: bool = False
    is_shadow: bool = False


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ItemWriter:
    """Writes what turns say into a store."""

    store: MemoryStore
    book: PluginBook
    reader: TurnReader
    settings: Settings

    async def write_turn(
        self, request: WriteRequest, turn: Turn, previous: Sequence[Turn], fixes: Sequence[Find] = ()
    ) -> WriteResult:
        """Read a turn of a person, and write what passes the gates, beside the fixes that its tools have verified.

        Raises what the store raises."""
        result = WriteResult()
        with Stopwatch(result.milliseconds, "extract"):
            found = await asyncio.to_thread(read_finds, turn, previous, self.reader, self.settings)
        result.refusals.update(found.refusals)
        with Stopwatch(result.milliseconds, f"{self.settings.plugin.store} write"):
            await self._end_items(request, turn, found, result)
            await self._write_finds(request, (*fixes, *found.finds), result)
        return result

    async def _write_finds(self, request: WriteRequest, finds: Sequence[Find], result: WriteResult) -> None:
        if not finds:
            return
        day = request.at.replace(hour=0, minute=0, second=0, microsecond=0)
        today = 0 if request.is_leaving else await self.book.count_writes(request.owner, day)
        chosen: list[tuple[Find, MemoryItem]] = []
        for find in finds:
            item = await self._choose_item(request, find, today, len(chosen), result)
            if item is not None:
                chosen.append((find, item))
        if not chosen or request.is_shadow:
            return
        items = [item for _, item in chosen]
        for find, item, stored in zip((find for find, _ in chosen), items, await self.store.upsert(items), strict=True):
            outcome = stored.outcome
            if outcome == "forgotten" and not request.is_leaving:
                outcome = await self._write_again(request, find, item)
            self._count(outcome, stored.id, result)

    async def _choose_item(
        self, request: WriteRequest, find: Find, today: int, in_turn: int, result: WriteResult
    ) -> MemoryItem | None:
        """The item that a find becomes, or None where a gate refuses it: of one that it replaces it takes the place."""
        query = SearchQuery(owner=request.owner, text=find.content, at=request.at, top_k=_NEIGHBOURS, min_score=0.0)
        near = [hit.item for hit in await self.store.search(query)]
        days = self.settings.plugin.days
        own_ids = list_ids(find, request.owner, request.at, days)
        same = next((item for item in near if is_same(find, item)), None)
        replaced = [
            item for item in near if item.id not in own_ids and not is_same(find, item) and is_replaced(find, item)
        ]
        signals = WriteSignals(
            said=find.said,
            is_requested=find.is_requested or request.is_leaving,
            is_verified=find.is_verified,
            is_standing=find.is_standing,
            written_in_turn=in_turn,
            written_today=today + in_turn,
            duplicate_similarity=None if same is None else 1.0,
        )
        decision = decide_write(find.candidate, signals, request.gates)
        if find.candidate.is_correction and not replaced:
            decision = replace(decision, allowed=False, reason="corrects nothing")
        if not decision.allowed and not (replaced and find.candidate.is_correction and same is None):
            if decision.reason == DUPLICATE:
                result.duplicates += 1
            result.refusals[decision.reason] += 1
            return None
        item = make_item(find, request.owner, request.at, days, keywords=request.keywords)
        if not replaced:
            return item
        if replaced[1:]:
            await self._forget(request, [each.id for each in replaced[1:]], result)
        old = replaced[0]
        result.changed.add(old.id)
        return replace(
            item,
            id=old.id,
            type=item.type if item.type != "fact" else old.type,
            created_at=old.created_at,
            updated_at=request.at,
            pinned=old.pinned,
            scope=old.scope,
            project_id=old.project_id,
            session_id=old.session_id,
        )

    async def _write_again(self, request: WriteRequest, find: Find, item: MemoryItem) -> Outcome:
        """Write another value of a forgotten fact under the next id. The same words stay forgotten under any id."""
        for generation in range(1, GENERATIONS):
            other = make_item(find, request.owner, request.at, self.settings.plugin.days, generation=generation)
            (stored,) = await self.store.upsert([replace(item, id=other.id)])
            if stored.outcome != "forgotten":
                return stored.outcome
        return "forgotten"

    async def _end_items(self, request: WriteRequest, turn: Turn, found: TurnFinds, result: WriteResult) -> None:
        """Forget what is said to be done, and what its person wants forgotten."""
        if request.is_shadow:
            return
        if list_done(turn):
            query = ListQuery(owner=request.owner, at=request.at, types=("todo",), limit=_TODOS)
            done = find_done(turn, await self.store.list(query))
            await self._forget(request, [item.id for item in done], result)
        for wish in found.forget_requests:
            if not get_lexeme_set(wish.words):
                continue
            search = SearchQuery(owner=request.owner, text=wish.words, at=request.at, top_k=_NEIGHBOURS, min_score=0.0)
            unwanted = find_unwanted(wish, [hit.item for hit in await self.store.search(search)])
            gone = await self._forget(request, [item.id for item in unwanted], result)
            for id_ in gone:
                await self.book.record_audit(
                    AuditLine(owner=request.owner, at=request.at, action="forget", item_id=id_)
                )

    async def _forget(self, request: WriteRequest, ids: Iterable[str], result: WriteResult) -> Sequence[str]:
        wanted = list(ids)
        gone = await self.store.forget(request.owner, wanted) if wanted and not request.is_shadow else ()
        result.changed.update(gone)
        return gone

    def _count(self, outcome: Outcome, id_: str, result: WriteResult) -> None:
        match outcome:
            case "added":
                result.written += 1
            case "updated":
                result.written += 1
                result.changed.add(id_)
            case "known" | "merged":
                result.duplicates += 1
            case "forgotten":
                result.refusals[FORGOTTEN] += 1
            case _:
                result.refusals[REFUSED] += 1
