"""What waits to be sent: functions over a connection, each called within the transaction of its caller."""

from __future__ import annotations

import json
import logging
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import uuid4

from muniment.memory.errors import BadInput
from muniment.plugin.domain.item import ItemOwner, MemoryItem
from muniment.plugin.domain.operation import AsideOperation, Operation, OperationVerb, OutboxStatus
from muniment.plugin.item_codec import decode_item, encode_item
from muniment.plugin.stores.hybrid.pacing import LEAST_CREDIT, MOST_CREDIT, Queue
from muniment.plugin.stores.local.rows import from_microseconds, to_microseconds
from muniment.plugin.stores.local.statements import load_statements

SQL: Mapping[str, str] = load_statements(__package__, "outbox")
KEPT_ASIDE = 1_000  # operations that were refused
SHOWN_ASIDE = 20
UNREADABLE = "unreadable"  # why an operation is set aside whose item this version cannot read
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far an owner's items agree with the server, and how the last request went."""

    revision: int = 0
    credit: float = 0.0
    dropped: int = 0
    failures: int = 0
    next_at: datetime | None = None
    last_error: str | None = None
    sent_at: datetime | None = None


def get_space_owner(owner: ItemOwner) -> ItemOwner:
    """Return the owner of a whole space: without a project or a session."""
    return ItemOwner(user=owner.user, tenant=owner.tenant)


def add_operation(
    connection: sqlite3.Connection,
    owner: ItemOwner,
    verb: OperationVerb,
    item_id: str,
    *,
    at: datetime,
    limit: int,
    item: MemoryItem | None = None,
) -> None:
    """Let an operation wait, in place of those on the same item that it makes needless.

    A forgetting takes all others along. A write and a pin take along only what was never sent: what was may still
    arrive at the server, after this one, and has to arrive under its own id to be told apart."""
    values = {
        "operation": str(uuid4()),
        "tenant": owner.tenant,
        "user": owner.user,
        "project": owner.project,
        "session": owner.session,
        "verb": verb,
        "item": item_id,
        "payload": None if item is None else json.dumps(encode_item(item), ensure_ascii=False),
        "made": to_microseconds(at),
    }
    connection.execute(SQL["remove_forgotten" if verb == "forget" else "remove_overtaken"], values)
    connection.execute(SQL["add_operation"], values)
    _drop_oldest(connection, limit)


def resolve_id(connection: sqlite3.Connection, owner: ItemOwner, item_id: str) -> str:
    """Return the id under which an item stands, here and on the server."""
    row = connection.execute(SQL["find_alias"], (owner.tenant, owner.user, item_id)).fetchone()
    return item_id if row is None else str(row[0])


def list_waiting(connection: sqlite3.Connection, owner: ItemOwner, limit: int) -> list[Operation]:
    """Return the oldest operations of an owner that wait, in their order. What cannot be read is set aside."""
    operations: list[Operation] = []
    revision = read_progress(connection, owner).revision
    values = {"tenant": owner.tenant, "user": owner.user, "limit": limit}
    for _, id_, tenant, user, project, session, verb, item_id, payload, _, _ in connection.execute(
        SQL["list_waiting"], values
    ).fetchall():
        try:
            item = None if payload is None else decode_item(json.loads(payload))
        except (BadInput, ValueError):
            set_aside(connection, id_, UNREADABLE)
            continue
        operations.append(
            Operation(
                id=id_,
                owner=ItemOwner(tenant=tenant, user=user, project=project, session=session),
                verb=verb,
                item_id=item_id,
                item=item,
                base_revision=revision,
            )
        )
    return operations


def note_attempt(connection: sqlite3.Connection, operations: Sequence[Operation]) -> None:
    """Record that operations are about to be sent: from now on the server may have them."""
    connection.executemany(SQL["note_attempt"], [(operation.id,) for operation in operations])


def remove_operation(connection: sqlite3.Connection, operation_id: str) -> None:
    """Let an operation go that is done."""
    connection.execute(SQL["remove_operation"], (operation_id,))


def remove_operations(connection: sqlite3.Connection, owner: ItemOwner, item_id: str) -> None:
    """Let all operations on an item go: it is forgotten."""
    values = {"tenant": owner.tenant, "user": owner.user, "item": item_id}
    connection.execute(SQL["remove_forgotten"], values)


def set_aside(connection: sqlite3.Connection, operation_id: str, reason: str) -> None:
    """Keep an operation from being sent again, and its reason to be shown. Its text goes."""
    connection.execute(SQL["set_aside"], {"operation": operation_id, "refusal": reason})
    connection.execute(SQL["trim_aside"], (KEPT_ASIDE,))


def is_forgetting(connection: sqlite3.Connection, owner: ItemOwner, item_id: str) -> bool:
    """Return whether the forgetting of an item waits to be sent."""
    return connection.execute(SQL["has_forgetting"], (owner.tenant, owner.user, item_id)).fetchone() is not None


def has_waiting(connection: sqlite3.Connection, owner: ItemOwner, item_id: str | None = None) -> bool:
    """Return whether anything of an owner, or of one of its items, waits to be sent."""
    values = {"tenant": owner.tenant, "user": owner.user, "item": item_id}
    return connection.execute(SQL["has_waiting"], values).fetchone() is not None


def move_operations(connection: sqlite3.Connection, owner: ItemOwner, item_id: str, server_id: str) -> None:
    """Let all that waits for an id, and all ids that lead to it, lead to the one that the server has for it."""
    values = {"tenant": owner.tenant, "user": owner.user, "item": item_id, "server": server_id}
    for name in ("move_operations", "move_aliases", "add_alias"):
        connection.execute(SQL[name], values)


def count_waiting(connection: sqlite3.Connection) -> int:
    """Return how many operations wait, of all owners."""
    return int(connection.execute(SQL["count_waiting"]).fetchone()[0])


def list_owners(connection: sqlite3.Connection) -> list[ItemOwner]:
    """Return the owners of what waits."""
    rows = connection.execute(SQL["list_owners"]).fetchall()
    return [ItemOwner(tenant=tenant, user=user) for tenant, user in rows]


def list_known_owners(connection: sqlite3.Connection) -> list[ItemOwner]:
    """Return all owners for whom anything was ever to be sent or was read."""
    rows = connection.execute(SQL["list_known_owners"]).fetchall()
    return [ItemOwner(tenant=tenant, user=user) for tenant, user in rows]


def read_progress(connection: sqlite3.Connection, owner: ItemOwner) -> Progress:
    """Return how far an owner's items agree with the server."""
    row = connection.execute(SQL["read_progress"], (owner.tenant, owner.user)).fetchone()
    if row is None:
        return Progress()
    revision, credit, dropped, failures, next_at, last_error, sent_at = row
    return Progress(
        revision=revision,
        credit=credit,
        dropped=dropped,
        failures=failures,
        next_at=_parse_time(next_at),
        last_error=last_error,
        sent_at=_parse_time(sent_at),
    )


def write_progress(connection: sqlite3.Connection, owner: ItemOwner, progress: Progress) -> None:
    """Keep how far an owner's items agree with the server. What was dropped is counted apart."""
    values = {
        "tenant": owner.tenant,
        "user": owner.user,
        "revision": progress.revision,
        "credit": min(MOST_CREDIT, max(LEAST_CREDIT, progress.credit)),
        "failures": progress.failures,
        "next_at": None if progress.next_at is None else to_microseconds(progress.next_at),
        "last_error": progress.last_error,
        "sent_at": None if progress.sent_at is None else to_microseconds(progress.sent_at),
    }
    connection.execute(SQL["put_progress"], values)


def add_credit(connection: sqlite3.Connection, owner: ItemOwner, credit: float) -> None:
    """Add to the requests that may be made, or take from them."""
    progress = read_progress(connection, owner)
    write_progress(connection, owner, replace(progress, credit=progress.credit + credit))


def read_queue(connection: sqlite3.Connection, owner: ItemOwner) -> Queue:
    """Return what decides whether to send for an owner."""
    waiting, oldest, has_command = connection.execute(SQL["summarize_waiting"], (owner.tenant, owner.user)).fetchone()
    progress = read_progress(connection, owner)
    return Queue(
        waiting=waiting,
        oldest_at=_parse_time(oldest),
        has_command=bool(has_command),
        credit=progress.credit,
        next_at=progress.next_at,
    )


def read_status(connection: sqlite3.Connection) -> OutboxStatus:
    """Return what waits of all owners, and how sending went."""
    waiting, aside, oldest = connection.execute(SQL["summarize_outbox"]).fetchone()
    dropped, next_at, failures, sent_at, revision = connection.execute(SQL["summarize_progress"]).fetchone()
    error = connection.execute(SQL["find_last_error"]).fetchone()
    return OutboxStatus(
        waiting=waiting,
        aside=tuple(
            AsideOperation(id=id_, verb=verb, item_id=item_id, at=from_microseconds(made), reason=reason)
            for id_, verb, item_id, made, reason in connection.execute(SQL["list_aside"], (SHOWN_ASIDE,)).fetchall()
        ),
        aside_count=aside,
        dropped=dropped,
        oldest_at=_parse_time(oldest),
        next_at=_parse_time(next_at),
        failures=failures,
        last_error=None if error is None else error[0],
        sent_at=_parse_time(sent_at),
        revision=revision,
    )


def _drop_oldest(connection: sqlite3.Connection, limit: int) -> None:
    """Keep what waits within its bound, and say what is dropped."""
    excess = count_waiting(connection) - limit
    if excess <= 0:
        return
    rows = connection.execute(SQL["find_droppable"], (excess,)).fetchall()
    for n, tenant, user in rows:
        connection.execute(SQL["drop_operation"], (n,))
        connection.execute(SQL["count_dropped"], (tenant, user))
    if rows:
        _log.warning("the outbox is full (%d): %d of the oldest operations are dropped", limit, len(rows))


def _parse_time(value: int | None) -> datetime | None:
    return None if value is None else from_microseconds(value)
