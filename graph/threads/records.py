"""What the checkpoints of a thread say of its turns: what memory put before the model, and what they take."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from muniment.graph import tables
from muniment.graph.checkpointer import open_existing_tables
from muniment.graph.janitor import CheckpointTables, ThreadSize
from muniment.graph.serializer import MessageSerializer
from muniment.graph.turn import make_thread_key
from muniment.memory.config.settings import Settings
from muniment.memory.domain.ids import MemoryId, Revision, SpaceId

_BULLET = "- "


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnRecord:
    """What memory put before the model in a turn, as the thread keeps it: the lasting part, the header of changes, the
    block with both header and bullets, the revision that was read, and the memories that it quotes, where a chain has
    asked for their ids."""

    at: datetime  # the beginning of the turn
    rev: Revision
    stable: str
    header: str
    moving: str
    shown: tuple[MemoryId, ...]

    @property
    def lines(self) -> list[tuple[str, bool]]:
        """Return the texts that memory gave, and of each whether it is in the lasting part."""
        stable = [(line.removeprefix(_BULLET), True) for line in self.stable.splitlines()]
        moving = [line.removeprefix(_BULLET) for line in self.moving.splitlines() if line.startswith(f"{_BULLET}[")]
        return [*stable, *((text, False) for text in moving)]


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadRecords:
    """The records of turns by the times of their beginnings, and the size of the threads."""

    turns: Mapping[datetime, TurnRecord]
    size: ThreadSize | None = None


async def read_thread_records(
    settings: Settings, space: SpaceId, threads: Sequence[str], times: Sequence[datetime]
) -> ThreadRecords:
    """Return what the checkpoints of a space's threads say of the turns that began at these times, and their size.

    Nothing is created: without checkpoints there are no records. A thread of another space counts as none. Raises
    BadConfig, StoreDown, Denied."""
    async with open_existing_tables(settings) as saver:
        if saver is None:
            return ThreadRecords(turns={})
        # LangGraph's server has threads under their own names, the command line under keys of their owner.
        names = dict.fromkeys(name for each in threads for name in (each, make_thread_key(space, each)))
        own = [name for name in names if await _is_of_space(saver, name, space)]
        turns = [record for name in own for record in await _read_turns(saver, name, times)]
        return ThreadRecords(turns={each.at: each for each in turns}, size=await _measure(saver, own))


async def find_turn_checkpoint(
    settings: Settings, space: SpaceId, threads: Sequence[str], at: datetime
) -> tuple[str, str] | None:
    """Return the saver's name of the thread and the last checkpoint of the turn that began at a time; None without one.

    Nothing is created, and a thread of another space counts as none. Raises BadConfig, StoreDown, Denied."""
    async with open_existing_tables(settings) as saver:
        names = dict.fromkeys(name for each in threads for name in (each, make_thread_key(space, each)))
        for name in names if saver is not None else ():
            if saver is None or not await _is_of_space(saver, name, space):
                continue
            async with saver.cursor() as cursor:
                params = {"thread": name, "at": at.astimezone(UTC).isoformat()}
                await cursor.execute(tables.TURN_CHECKPOINT, params)
                row = await cursor.fetchone()
            if row is not None:
                return name, str(row["checkpoint_id"])
    return None


async def _is_of_space(saver: CheckpointTables, thread: str, space: SpaceId) -> bool:
    async with saver.cursor() as cursor:
        await cursor.execute(tables.THREAD_OWNER, {"thread": thread})
        row = await cursor.fetchone()
    return row is not None and row["space"] == str(space)


async def _read_turns(saver: CheckpointTables, thread: str, times: Sequence[datetime]) -> list[TurnRecord]:
    written = [each.astimezone(UTC).isoformat() for each in times]  # as the graph writes them
    async with saver.cursor() as cursor:
        await cursor.execute(tables.TURN_RECORDS, {"thread": thread, "times": written})
        return [_parse_record(row) for row in await cursor.fetchall()]


def _parse_record(row: Mapping[str, Any]) -> TurnRecord:
    shown = [] if row["shown"] is None else MessageSerializer().loads_typed((row["type"], row["shown"]))
    return TurnRecord(
        at=datetime.fromisoformat(row["at"]),
        rev=Revision(row["rev"]),
        stable=row["stable"] or "",
        header=row["header"] or "",
        moving=row["moving"] or "",
        shown=tuple(MemoryId(UUID(each)) for each in shown),
    )


async def _measure(saver: CheckpointTables, threads: Sequence[str]) -> ThreadSize | None:
    if not threads:
        return None
    async with saver.cursor() as cursor:
        await cursor.execute(tables.NAMED_THREAD_SIZES, {"threads": list(threads), "limit": len(threads)})
        found = await cursor.fetchall()
    return ThreadSize(
        thread=", ".join(row["thread"] for row in found),
        checkpoints=sum(row["checkpoints"] for row in found),
        bytes=sum(row["bytes"] for row in found),
        oldest=min((row["oldest"] or "" for row in found), default=""),
        newest=max((row["newest"] or "" for row in found), default=""),
    )
