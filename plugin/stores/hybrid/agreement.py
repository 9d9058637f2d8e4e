"""How a file takes over what the server says: answers to operations, changes, and finds. Each function is called within
one transaction of the file, and leaves it whole."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from muniment.plugin.domain.item import ItemOwner, MemoryHit, MemoryItem
from muniment.plugin.domain.operation import ERASED, UNKNOWN, ChangePage, Operation, OperationAnswer
from muniment.plugin.stores.hybrid import outbox
from muniment.plugin.stores.hybrid.mirror import MirrorWriter

_REFUSED = "refused"  # of a refusal without a reason


def apply_answers(
    writer: MirrorWriter,
    owner: ItemOwner,
    operations: Sequence[Operation],
    answers: Sequence[OperationAnswer],
    standing_ids: frozenset[str],
) -> None:
    """Let go of the operations that are done, and set those aside that are refused.

    Where the server knew the same fact, its id takes the place of the one that was given here, also in what still
    waits. What it has forgotten is forgotten here. An item that it still has, by `standing_ids`, was only to say
    something forgotten: it is not changed."""
    for operation, answer in zip(operations, answers, strict=True):
        if answer.outcome == "refused" and answer.reason != ERASED:
            _take_refusal(writer, operation, answer)
            continue
        if answer.outcome == "forgotten" and operation.verb == "upsert" and answer.item_id in standing_ids:
            pass  # the caller puts in its place what the server has
        elif answer.outcome in ("forgotten", "refused"):
            _take_forgetting(writer, owner, operation)
        elif operation.verb == "upsert" and answer.item_id != operation.item_id:
            adopt_id(writer, owner, operation.item_id, answer.item_id)
        outbox.remove_operation(writer.connection, operation.id)


def adopt_id(writer: MirrorWriter, owner: ItemOwner, item_id: str, server_id: str) -> None:
    """Let the server's id stand for an item of this file, for ever."""
    outbox.move_operations(writer.connection, owner, item_id, server_id)
    writer.rename_item(owner, item_id, server_id)


def apply_page(
    writer: MirrorWriter, owner: ItemOwner, page: ChangePage, since: int, *, at: datetime, limit: int
) -> bool:
    """Take over a page of changes with the revision that it reaches, and return whether it was done.

    It is not while anything waits to be sent, since the server does not know that yet, nor where another process has
    gone on meanwhile. What was forgotten here stays so; and where the server has it under another id, it is told."""
    connection = writer.connection
    progress = outbox.read_progress(connection, owner)
    if progress.revision != since or outbox.has_waiting(connection, owner):
        return False
    for change in page.changes:
        if change.item is None:
            writer.remove_item(owner, change.item_id)
        elif writer.place_item(change.item) == "forgotten" and not writer.is_forgotten(owner, change.item_id):
            outbox.add_operation(connection, owner, "forget", change.item_id, at=at, limit=limit)
    outbox.write_progress(connection, owner, replace(progress, revision=page.revision))
    return True


def keep_finds(
    writer: MirrorWriter, owner: ItemOwner, hits: Sequence[MemoryHit], since: int, at: datetime
) -> list[MemoryHit]:
    """Keep what a server has found with its age, and return the hits that may be shown, each with what stands here.

    `since` is the revision up to which the file had the server's changes when the search began: had it gone on
    meanwhile, an old find could overwrite a later change, and is shown without being kept. Nothing is shown that was
    forgotten here."""
    is_current = outbox.read_progress(writer.connection, owner).revision == since
    shown = []
    for hit in hits:
        if outbox.is_forgetting(writer.connection, owner, hit.item.id):
            continue
        standing = writer.find_standing(hit.item)
        if standing is not None and (standing.fetched_at is None or not is_current):
            item: MemoryItem | None = None if standing.item.deleted else standing.item
        elif is_current:
            item = None if writer.place_item(hit.item) == "forgotten" else hit.item
        else:
            item = None if writer.is_content_forgotten(hit.item) else hit.item
        if item is not None:
            shown.append(replace(hit, item=item, fetched_at=at))
    return shown


def _take_forgetting(writer: MirrorWriter, owner: ItemOwner, operation: Operation) -> None:
    """Forget here what the server has forgotten. What was done to it since is done to nothing."""
    outbox.remove_operations(writer.connection, owner, operation.item_id)
    if operation.verb != "forget":
        writer.remove_item(owner, operation.item_id)
        writer.leave_tombstone(owner, operation.item_id)


def _take_refusal(writer: MirrorWriter, operation: Operation, answer: OperationAnswer) -> None:
    if operation.verb != "upsert" and answer.reason == UNKNOWN:  # it is gone there, as the changes will say
        outbox.remove_operation(writer.connection, operation.id)
    else:
        outbox.set_aside(writer.connection, operation.id, answer.reason or _REFUSED)
