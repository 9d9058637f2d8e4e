"""Turns of a conversation, and what is extracted from them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal
from uuid import uuid5

from muniment.memory.domain.ids import HostItemKey, MemoryId, Revision, TurnId
from muniment.memory.domain.memory import ROLE_TRUST, Fact, Kind, Reach, Role, StoredMemory, Trust, is_note, name_place
from muniment.memory.domain.scope import SPACE_NAMESPACE, Scope

TurnKind = Literal["message", "transcript", "tool", "file", "audit"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """An event of a session, word for word after redaction.

    It is a message, a message that is kept as a transcript alone and from which nothing is learned, a use of a tool, a
    file that was read, written or uploaded, or an entry for an audit, which no search finds."""

    id: TurnId
    role: Role
    text: str
    at: datetime
    session: str | None = None
    thread: str | None = None
    actor: str | None = None
    source: Trust = "user"  # how far its text is trusted
    path: str | None = None  # of the file or page it was read from
    tags: tuple[str, ...] = ()
    recalled: tuple[int, ...] = ()  # shingle hashes of the recalled text that the model had
    kind: TurnKind = "message"
    payload: Mapping[str, Any] | None = field(default=None, hash=False)  # what a program keeps of it, as JSON has it
    visible: bool = True  # a search may find it
    position: int | None = field(default=None, compare=False)  # in its session, from 0; None until it is recorded

    @classmethod
    def make(
        cls,
        *,
        session: str,
        key: str,
        role: Role,
        text: str,
        at: datetime,
        thread: str | None = None,
        actor: str | None = None,
        source: Trust | None = None,
        path: str | None = None,
        tags: tuple[str, ...] = (),
        recalled: tuple[int, ...] = (),
        kind: TurnKind | None = None,
        payload: Mapping[str, Any] | None = None,
        visible: bool = True,
    ) -> Turn:
        """Return a turn whose id is derived from session, key, role and text: the same turn has the same id.

        Its source and its kind are those of its role, unless others are given."""
        digest = hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()
        return cls(
            id=TurnId(uuid5(SPACE_NAMESPACE, f"{session}\x1f{key}\x1f{role}\x1f{digest}")),
            role=role,
            text=text,
            at=at,
            session=session,
            thread=thread,
            actor=actor,
            source=source or ROLE_TRUST[role],
            path=path,
            tags=tags,
            recalled=recalled,
            kind=kind or ("tool" if role == "tool" else "message"),
            payload=payload,
            visible=visible,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A statement that is extracted from a turn and not merged yet."""

    text: str
    category: str
    kind: Kind = "semantic"
    fact: Fact | None = None
    importance: int = 2
    confidence: float = 0.9
    trust: Trust = "user"
    pinned: bool = False
    tags: tuple[str, ...] = ()
    event_time: datetime | None = None
    context: str | None = None
    aliases: tuple[str, ...] = ()  # other names of what it is about
    turns: tuple[TurnId, ...] = ()
    actor: str | None = None
    role: Role | None = "user"
    state: Literal["active", "pending"] = "active"  # pending: kept, but out of every answer until a person approves
    is_correction: bool = False  # it says nothing by itself: kept only where it ends or corrects a known memory
    project: str | None = None  # None: that of the scope
    app: str | None = None  # None: that of the scope
    reach: Reach = "user"
    source: str | None = None  # name or address of what it comes from
    expires_at: datetime | None = None
    item: HostItemKey | None = None  # under which a host keeps it


def make_candidate(memory: StoredMemory) -> Candidate:
    """Return a memory as a candidate, as if it were said now."""
    return Candidate(
        text=memory.text,
        category=memory.category,
        kind=memory.kind,
        fact=memory.fact,
        event_time=memory.event_time,
        turns=memory.turns,
    )


def make_memory(candidate: Candidate, id_: MemoryId, scope: Scope, at: datetime) -> StoredMemory:
    """Return a candidate as a new memory. Raises BadInput for a reach to a place that nothing names."""
    if candidate.reach != "user":
        find_place(candidate, scope)
    return StoredMemory(
        id=id_,
        kind=candidate.kind,
        category=candidate.category,
        text=candidate.text,
        fact=candidate.fact,
        stable_key=candidate.fact.key if candidate.fact else None,
        importance=candidate.importance,
        confidence=candidate.confidence,
        trust=candidate.trust,
        pinned=candidate.pinned,
        state=candidate.state,
        tags=candidate.tags,
        agent_id=scope.agent,
        run_id=scope.run,
        actor_id=candidate.actor or scope.actor,
        role=candidate.role,
        session_id=scope.session,
        thread_id=scope.thread,
        event_time=candidate.event_time,
        created_at=at,
        updated_at=at,
        context=candidate.context,
        turns=candidate.turns,
        aliases=candidate.aliases,
        project_id=candidate.project or scope.project,
        app_id=candidate.app or scope.app,
        reach=candidate.reach,
        source=candidate.source,
        expires_at=candidate.expires_at,
    )


def find_place(candidate: Candidate, scope: Scope) -> str | None:
    """Return the place of the memory that a candidate becomes in a scope. Raises BadInput where nothing names it."""
    return name_place(candidate.reach, candidate.project or scope.project, scope.session)


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """What a caller says of a statement beside its words: where it is found, what it comes from, and its end."""

    reach: Reach = "user"
    source: str | None = None
    expires_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgetRequest:
    """What a person wants forgotten: by the words of a memory, or by an attribute without its value."""

    quote: str
    words: str
    third_person: str = ""  # the words in the third person, where they are about the speaker
    facts: tuple[Fact, ...] = ()  # that the words state
    key_prefixes: tuple[str, ...] = ()  # starts of the stable keys of the attribute that it names
    qualifier: str = ""  # which one of several of a kind: the dog among the pets
    is_single: bool = False  # it names one memory: where several match, none is forgotten
    is_void: bool = False  # it names nothing that can be forgotten
    everything: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Extraction:
    """The statements to keep and the requests to forget in a turn. `unread` is the beginning of what took too long to
    read, of which only a note is kept."""

    candidates: tuple[Candidate, ...] = ()
    forget_requests: tuple[ForgetRequest, ...] = ()
    requested_texts: frozenset[str] = frozenset()  # texts of candidates that the person asked to remember
    unread: str = ""
    refusals: tuple[tuple[Candidate, str], ...] = ()  # finds of which nothing is kept, with the reason
    found_by: str | None = "rules"  # or the version of a prompt; None: nobody has read a turn for it

    @property
    def facts(self) -> tuple[Candidate, ...]:
        """Return the candidates with structure: neither notes nor words that may only correct what is known."""
        return tuple(
            candidate
            for candidate in self.candidates
            if not candidate.is_correction and candidate.fact is not None and not is_note(candidate.fact)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """A turn and its neighbours in the thread, oldest first; `at` is its place among them."""

    turns: tuple[Turn, ...]
    at: int
    extracted_by: frozenset[Source] = frozenset()  # sources that have extracted from the turn

    @property
    def turn(self) -> Turn:
        """Return the turn itself."""
        return self.turns[self.at]


@dataclass(frozen=True, slots=True, kw_only=True)
class RecentConversation:
    """The end of the latest conversation, oldest turn first, and when insights were last looked for."""

    turns: tuple[Turn, ...] = ()
    insights_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class EpisodeSource:
    """The user's turns of a thread that no episode covers, oldest first, and the space's latest episodes, newest
    first."""

    rev: Revision
    turns: tuple[Turn, ...] = ()
    episodes: tuple[StoredMemory, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedToolUse:
    """One use of a tool. `ok` is what the tool itself reports; None when it reports nothing."""

    turn: TurnId
    name: str
    result: str
    at: datetime
    arguments: Mapping[str, Any] = field(default_factory=dict)
    ok: bool | None = None
    agent: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolUse:
    """A use of a tool by an agent, not yet redacted and shortened; `key` is unique in its thread."""

    key: str
    name: str
    arguments: Mapping[str, Any]
    result: str
    at: datetime
    ok: bool | None = None
    agent: str | None = None
    path: str | None = None
    tags: tuple[str, ...] = ()


Source = Literal["rules", "model"]
