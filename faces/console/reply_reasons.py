"""Why a reply says what it says: what memory put before the model in its turn, line by line, and where that comes
from."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias
from uuid import UUID

from muniment.faces.console.visits import Visit
from muniment.memory.domain.ids import MemoryId, Revision, TurnId
from muniment.memory.domain.memory import StoredMemory
from muniment.memory.domain.query import Brief
from muniment.memory.domain.turn import Turn
from muniment.memory.errors import BadConfig, BadInput, Denied, StoreError

if TYPE_CHECKING:
    from muniment.graph.threads.records import ThreadRecords, TurnRecord

_KeyedLine: TypeAlias = tuple[str, bool, MemoryId | None]  # a text, whether it is in the lasting part, its memory
Evidence = Literal["kept", "recognized", "absent", "unknown"]
_BULLET = "- "
_MOST_SOURCES = 3  # turns that are shown of one memory
_AGENT = "supervisor"  # who talks with the user, and by whose allowlist memory comes before a model


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A memory, or a field of the profile, that stood before the model.

    `evidence` says how that is known: the thread keeps it, the reply's fingerprints have it, they do not, or there are
    none. `is_repeated`: the reply says it, too."""

    text: str
    part: Literal["stable", "moving"]
    evidence: Evidence
    is_repeated: bool
    memory: StoredMemory | None = None
    sources: Sequence[Turn] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplyReasons:
    """What stood before the model in a turn: as the thread keeps it, or made again as of the revision of its time."""

    rev: Revision
    stable: str
    moving: str
    is_kept: bool
    lines: Sequence[Line]
    failure: str = ""  # why memory cannot say it any more


async def read_records(
    visit: Visit, turns: Sequence[Turn], fallback: str | None = None
) -> tuple[ThreadRecords | None, str]:
    """Return what the checkpoints of the turns' threads say, or None and why they cannot be read."""
    threads = [*dict.fromkeys(each.thread or fallback or "" for each in turns)]
    times = [each.at for each in turns if each.role == "user"]
    read = await asyncio.to_thread(_load_reader)
    try:
        settings, space = visit.service.settings, visit.caller.scope.space
        return await read(settings, space, [each for each in threads if each], times), ""
    except (StoreError, Denied, BadConfig) as error:
        return None, str(error)


async def explain_reply(
    visit: Visit, message: Turn, reply: Turn | None, rev: Revision, record: TurnRecord | None
) -> ReplyReasons:
    """Return what stood before the model when a message was answered; `rev` is the revision of its time."""
    brief, failure = await _make_brief(visit, message, rev if record is None else record.rev)
    if record is not None:
        lines = await _build_lines(visit, _pair_lines(record, brief), reply, is_kept=True)
        return ReplyReasons(rev=record.rev, stable=record.stable, moving=record.moving, is_kept=True, lines=lines)
    if brief is None:
        return ReplyReasons(rev=rev, stable="", moving="", is_kept=False, lines=(), failure=failure)
    lines = await _build_lines(visit, _list_lines(brief), reply, is_kept=False)
    return ReplyReasons(rev=brief.rev, stable=brief.stable, moving=brief.moving, is_kept=False, lines=lines)


async def _make_brief(visit: Visit, message: Turn, rev: Revision) -> tuple[Brief | None, str]:
    """Return what memory gives for a message as of a revision, or None and why it cannot say it any more."""
    scope = visit.caller.make_scope(session=message.session or None, thread=message.thread)
    agent = visit.caller.choose_agent(_AGENT)
    try:
        return await visit.service.memory.brief(scope, agent, message.text, as_of=rev), ""
    except BadInput as error:  # the revision was erased since
        return None, str(error)


def _list_lines(brief: Brief) -> list[_KeyedLine]:
    """Return the lines of a brief with the ids of their memories."""
    stable = [line.removeprefix(_BULLET) for line in brief.stable.splitlines()]
    return [
        *((text, True, _parse_key(key)) for text, key in zip(stable, brief.stable_keys, strict=False)),
        *((text, False, _parse_key(key)) for text, key in zip(brief.bullets, brief.bullet_keys, strict=False)),
    ]


def _pair_lines(record: TurnRecord, brief: Brief | None) -> list[_KeyedLine]:
    """Return the lines that the thread keeps, with the ids of their memories: where it keeps these, too, in the same
    order, and else those of what memory gives for the message as of the same revision, by the same words."""
    lines = record.lines
    if record.shown:  # a field of the profile, which begins with no category, has none
        ids = iter(record.shown)
        return [(text, is_stable, next(ids, None) if text.startswith("[") else None) for text, is_stable in lines]
    given = {text: id_ for text, _, id_ in _list_lines(brief)} if brief else {}
    return [(text, is_stable, given.get(text)) for text, is_stable in lines]


async def _build_lines(
    visit: Visit, keyed: Sequence[_KeyedLine], reply: Turn | None, *, is_kept: bool
) -> Sequence[Line]:
    """Return the lines with their memories as they are today, where they come from, and what the reply says of them."""
    memory, scope, allowed = visit.service.memory, visit.caller.scope, visit.caller.allowed
    found = await memory.admin.get_many(scope, [id_ for _, _, id_ in keyed if id_ is not None])
    readable = {id_: each for id_, each in found.items() if each.category in allowed}
    turn_ids = [turn for each in readable.values() for turn in each.turns]
    turns = {each.id: each for each in await visit.reads.threads.find_turns(scope, turn_ids)} if turn_ids else {}
    statements = [_drop_category(text) for text, _, _ in keyed]
    recalled = reply.recalled if reply else ()
    shown = memory.sessions.recognize_statements(statements, recalled)
    said = memory.conversation.shingle_hashes(reply.text) if reply else ()
    repeated = memory.sessions.recognize_statements(statements, said)
    return [
        Line(
            text=text,
            part="stable" if is_stable else "moving",
            evidence="kept" if is_kept else "unknown" if not recalled else "recognized" if was_shown else "absent",
            is_repeated=is_repeated,
            memory=None if id_ is None else readable.get(id_),
            sources=_list_sources(readable.get(id_) if id_ else None, turns),
        )
        for (text, is_stable, id_), was_shown, is_repeated in zip(keyed, shown, repeated, strict=True)
        if id_ is None or id_ not in found or id_ in readable
    ]


def _list_sources(memory: StoredMemory | None, turns: Mapping[TurnId, Turn]) -> Sequence[Turn]:
    """Return the turns that support a memory and are still kept, the first ones first."""
    return [turns[id_] for id_ in memory.turns if id_ in turns][:_MOST_SOURCES] if memory else ()


def _drop_category(text: str) -> str:
    """Return a line without the category in brackets at its beginning."""
    return text.partition("] ")[2] if text.startswith("[") and "] " in text else text


def _parse_key(key: str) -> MemoryId | None:
    """Return the id of a memory; None for the name of a field of the profile."""
    try:
        return MemoryId(UUID(key))
    except ValueError:
        return None


def _load_reader() -> Callable[..., Awaitable[ThreadRecords]]:
    # Nothing for the start to wait for, nor for other requests.
    from muniment.graph.threads.records import read_thread_records  # noqa: PLC0415 - LangGraph imports for a second

    return read_thread_records
