"""The bodies of answers, as OpenAPI shows them. What is empty or not known is left out of a record."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal, TypeAlias
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

from muniment.memory.config.changes import SettingSource, Stage
from muniment.memory.domain.consent import Consent
from muniment.memory.domain.journal import Action, Band, JournalEntry
from muniment.memory.domain.layers.projections import Projection
from muniment.memory.domain.memory import Kind, Reach, Role, State, StoredMemory, Trust
from muniment.memory.domain.query import Reason, Ruling, StageName
from muniment.memory.domain.scope import OwnerType
from muniment.memory.domain.usage import SpaceActivity

SettingValue: TypeAlias = bool | int | float | str | list[str] | dict[str, Any] | None


class HitAnswer(BaseModel):
    """A memory that answers a query: a bullet has the id and the text alone, a whole one its score and fields, too."""

    id: str = Field(description="The whole id, or of a bullet a beginning that no other memory has.")
    text: str
    of: OwnerType | None = Field(None, description="Whose it is, where that is not the user: somebody shares it.")
    kind: Kind | None = None
    category: str | None = None
    created_at: datetime | None = None
    updated_at: datetime | None = None
    fact: dict[str, Any] | None = None
    importance: int | None = None
    confidence: float | None = None
    trust: Trust | None = None
    pinned: bool | None = None
    state: State | None = None
    tags: list[str] | None = None
    agent_id: str | None = None
    run_id: str | None = None
    actor_id: str | None = None
    role: Role | None = None
    session_id: str | None = None
    thread_id: str | None = None
    project_id: str | None = None
    app_id: str | None = None
    reach: Reach | None = Field(None, description="Where it is found, when that is not everywhere.")
    source: str | None = Field(None, description="Name or address of what it comes from.")
    expires_at: datetime | None = None
    event_time: datetime | None = None
    last_accessed_at: datetime | None = None
    access_count: int | None = None
    purge_at: datetime | None = None
    superseded_by: UUID | None = None
    rev: int | None = None
    score: float | None = None
    relevance: float | None = Field(None, description="This and what follows: with `explain`.")
    parts: dict[str, float] | None = None
    channels: list[str] | None = None
    ranks: dict[str, int] | None = None
    words: list[str] | None = None
    related_to: UUID | None = None


class OmissionAnswer(BaseModel):
    """A candidate that was left out of an answer."""

    id: UUID
    reason: Reason
    score: float


class ReadStageAnswer(BaseModel):
    """A stage of a read with its time; what it counts is beside it."""

    model_config = ConfigDict(extra="allow")

    name: StageName
    ms: float


class QueryAnswer(BaseModel):
    """An answer of `memory.query`."""

    format: int
    rev: int
    results: list[HitAnswer]
    degraded: bool = Field(False, description="The embedder was away: memories were found by their words alone.")
    tokens: int | None = Field(None, description="Of the results; with `explain`.")
    stages: list[ReadStageAnswer] | None = Field(None, description="Of the read, in order; with `explain`.")
    left_out: list[OmissionAnswer] | None = Field(None, description="With `explain`.")


class ExplanationAnswer(BaseModel):
    """Why a memory is not in an answer."""

    id: UUID
    reason: Ruling
    said: str = Field(description="The reason in one sentence.")
    rev: int
    facts: dict[str, Any]
    memory: HitAnswer | None = None


class ChangeAnswer(BaseModel):
    """One revision, with the memory as it was then: null where it was erased or left the categories of the agent."""

    rev: int
    id: UUID
    action: Action
    ts: datetime
    memory: StoredMemory | None


class ChangesAnswer(BaseModel):
    """A page of changes, oldest first. The page after it begins at `next`; at `rev` there is no more."""

    changes: list[ChangeAnswer]
    next: int
    rev: int
    founded_at: datetime | None = Field(description="Another one says that the memory was erased and began anew.")


class MemoriesAnswer(BaseModel):
    """A page of memories. `next` is the offset of the page that follows."""

    rev: int
    total: int
    offset: int
    next: int | None = None
    memories: list[StoredMemory]


class WrittenAnswer(BaseModel):
    """What a write did to one memory."""

    action: Action
    id: UUID
    rev: int
    category: str
    text: str
    importance: int
    band: Band | None = None
    sim: float | None = None
    state: State | None = None


class ReceiptAnswer(BaseModel):
    """What a write did, and why something was not written."""

    rev: int
    changes: list[WrittenAnswer]
    replayed: bool
    skipped: str | None
    refused: list[str]
    left_out: list[str] | None = None
    degraded: bool = False


class TurnReceiptAnswer(ReceiptAnswer):
    """What was learned from a turn."""

    key: str = Field(description="Of the turn.")


class TurnsAnswer(BaseModel):
    """The receipts of the user's turns, in order."""

    receipts: list[TurnReceiptAnswer]


class HistoryAnswer(BaseModel):
    """What happened to a memory, newest first."""

    history: list[JournalEntry]


class ConsentsAnswer(BaseModel):
    """What waits for a yes, or with `decided` also what does not wait any more."""

    requests: list[Consent]
    memories: list[StoredMemory]


class ProjectionsAnswer(BaseModel):
    """A page of what memories say, slot by slot. `next` is the offset of the page that follows."""

    offset: int
    next: int | None = None
    projections: list[Projection]


class ContextAnswer(BaseModel):
    """What goes before a model: a part that seldom changes, and parts for this message, also as one block."""

    rev: int
    stable: str
    header: str
    bullets: list[str]
    moving: str
    degraded: bool = False


class BisectAnswer(BaseModel):
    """How many replies were made, and what made the recorded one; null while the search goes on."""

    replies: int
    result: dict[str, Any] | None = Field(description="As `muniment bisect --json` has it.")


class ImportAnswer(BaseModel):
    """How many memories are new, and the numbers of the rows that changed only others, or nothing."""

    imported: int
    merged: list[int]
    unused: list[int]


class StatusAnswer(BaseModel):
    """What a memory holds, where, and when it was and will be maintained."""

    user: str
    tenant: str
    space: UUID
    rev: int
    active: int
    memories: int
    soft_deleted: int
    unembedded: int
    turns: int
    relations: int
    postgres: str
    embedder: str | None
    tended: datetime | None
    tended_next: datetime | None
    hint: str | None = None


class StatsAnswer(BaseModel):
    """What a memory holds, and its events of some days."""

    status: StatusAnswer
    activity: SpaceActivity


class ErasureAnswer(BaseModel):
    """The receipt of an erasure: numbers of removed rows by table, and none of their content."""

    id: UUID
    what: Literal["memory", "user", "purge"]
    at: datetime
    counts: dict[str, int]


class SettingAnswer(BaseModel):
    """A setting in force. `default` is what Muniment brings."""

    key: str
    stage: Stage
    value: SettingValue
    default: SettingValue
    source: SettingSource = Field(description="The default file, the process's own file or program, or an override.")
    allowed: str
    about: str
    by: str | None = Field(description="Who has brought the override.")
    at: datetime | None


class SettingStageAnswer(BaseModel):
    """The settings of a stage."""

    stage: Stage
    title: str
    settings: list[SettingAnswer]


class SettingsAnswer(BaseModel):
    """The settings in force, and their revision."""

    rev: int
    stages: list[SettingStageAnswer]
    ignored: dict[str, str] = Field(description="Overrides that this process cannot take, and why.")


class SettingChangeAnswer(BaseModel):
    """A change of a setting: the values in force before and after it."""

    rev: int
    key: str
    former: SettingValue
    value: SettingValue
    is_reset: bool
    by: str
    at: datetime


class SettingsChangedAnswer(BaseModel):
    """The new revision of the settings, and what was changed."""

    rev: int
    changes: list[SettingChangeAnswer]


class SettingChangesAnswer(BaseModel):
    """The latest changes, newest first."""

    changes: list[SettingChangeAnswer]


class RebuildAnswer(BaseModel):
    """How many projections there were and are, and how many of them were not as they should have been."""

    spaces: int
    before: int
    after: int
    changed: int


class CleanupAnswer(BaseModel):
    """How many turns and sessions are past their days; they are removed unless it is a dry run."""

    dry_run: bool
    spaces: int
    turns: int
    sessions: int


class HealthAnswer(BaseModel):
    """The process lives."""

    status: Literal["ok"]
    version: str


class ReadyAnswer(BaseModel):
    """Requests are wanted."""

    status: Literal["ready"]
