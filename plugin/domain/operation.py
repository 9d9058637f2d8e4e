"""What travels between a local file and a server: operations one way, changes the other way.

Rows are never compared: an operation says what a person or a host wanted, and the server decides, in its own order."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal, TypeAlias, get_args

from muniment.plugin.domain.item import ItemOwner, MemoryItem

OperationVerb: TypeAlias = Literal["upsert", "forget", "pin", "unpin"]
OperationOutcome: TypeAlias = Literal["applied", "replayed", "merged", "refused", "forgotten"]
OPERATION_VERBS: tuple[OperationVerb, ...] = get_args(OperationVerb)
OPERATION_OUTCOMES: tuple[OperationOutcome, ...] = get_args(OperationOutcome)
MAX_OPERATIONS = 100  # of one request
UNKNOWN, ERASED = "unknown", "erased"  # reasons of a refusal: no such item is there; it was erased for good


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """What was done to one item. The server applies it once for its `id`, however often it arrives; one that it has
    declined is decided anew."""

    id: str  # a UUID in its usual form, made with the operation
    owner: ItemOwner  # whose item it is, and the project and session in which it was done
    verb: OperationVerb
    item_id: str
    item: MemoryItem | None = None  # of an upsert: the whole item as it is to be
    base_revision: int | None = None  # up to which revision of the server the device knew its changes


@dataclass(frozen=True, slots=True, kw_only=True)
class OperationAnswer:
    """What became of an operation on the server.

    `item_id` is the item that stands there: another than that of the operation where the server knew the same fact
    (`merged`). Of a `replayed` operation it is the one that the first answer named."""

    operation_id: str
    outcome: OperationOutcome
    item_id: str
    revision: int = 0  # of the server's space, once the operation was applied
    reason: str | None = None  # of a refusal


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemChange:
    """How an item is after a change on the server. Without an item it is gone, and stays so."""

    revision: int
    item_id: str
    item: MemoryItem | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangePage:
    """The changes after a revision, oldest first."""

    changes: tuple[ItemChange, ...]
    revision: int  # from which on the next page is asked for
    is_last: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class AsideOperation:
    """An operation that the server has refused: it is not sent again, and shown to whoever looks after the host."""

    id: str
    verb: OperationVerb
    item_id: str
    at: datetime  # when it was done
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OutboxStatus:
    """What waits to be sent, and how sending went. Times are None where nothing was done yet."""

    waiting: int = 0
    aside: tuple[AsideOperation, ...] = ()  # the newest of them
    aside_count: int = 0
    dropped: int = 0  # for want of room, since the file was made
    oldest_at: datetime | None = None  # of what waits
    next_at: datetime | None = None  # before which nothing is sent, after a failure
    failures: int = 0  # in a row
    last_error: str | None = None  # the class of the last failure
    sent_at: datetime | None = None  # when the server answered last
    revision: int = 0  # up to which the server's changes are here
