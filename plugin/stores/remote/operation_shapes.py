"""The bodies of operations and changes, one definition for both ends of the wire."""

from __future__ import annotations

from typing import Annotated, Self
from uuid import UUID

from pydantic import Field

from muniment.plugin.domain.item import ItemOwner
from muniment.plugin.domain.operation import (
    MAX_OPERATIONS,
    ChangePage,
    ItemChange,
    Operation,
    OperationAnswer,
    OperationOutcome,
    OperationVerb,
)
from muniment.plugin.stores.remote.shapes import MAX_PAGE, MAX_REVISION, Flag, ItemShape, PlaceShape, Shape, cut_reason


class OperationShape(PlaceShape):
    """What was done to one item. It is applied once for its id, however often it arrives."""

    op_id: UUID
    verb: OperationVerb
    item_id: UUID
    item: ItemShape | None = Field(None, description="Of an upsert: the whole item as it is to be.")
    base_revision: Annotated[int | None, Field(ge=0, le=MAX_REVISION, strict=True)] = Field(
        None, description="Up to which the device knew the changes here; kept for whoever reads the request."
    )

    @classmethod
    def from_operation(cls, operation: Operation) -> Self:
        """Return the body of an operation. Raises ValueError for what it cannot hold."""
        return cls(
            project=operation.owner.project,
            session=operation.owner.session,
            op_id=UUID(operation.id),
            verb=operation.verb,
            item_id=UUID(operation.item_id),
            item=None if operation.item is None else ItemShape.from_item(operation.item),
            base_revision=operation.base_revision,
        )

    def to_operation(self, owner: ItemOwner) -> Operation:
        """Return the operation of this owner."""
        return Operation(
            id=str(self.op_id),
            owner=owner,
            verb=self.verb,
            item_id=str(self.item_id),
            item=None if self.item is None else self.item.to_item(owner.tenant, owner.user),
            base_revision=self.base_revision,
        )


class OperationsShape(Shape):
    """Operations in the order in which they were done."""

    operations: Annotated[list[OperationShape], Field(min_length=1, max_length=MAX_OPERATIONS)]


class OperationAnswerShape(Shape):
    """What became of an operation. `id` is the item that stands there."""

    op_id: UUID
    outcome: OperationOutcome
    id: UUID
    rev: Annotated[int, Field(ge=0, le=MAX_REVISION, strict=True)] = 0
    reason: Annotated[str, Field(max_length=500)] | None = None

    @classmethod
    def from_answer(cls, answer: OperationAnswer) -> Self:
        """Return the body of an answer."""
        return cls(
            op_id=UUID(answer.operation_id),
            outcome=answer.outcome,
            id=UUID(answer.item_id),
            rev=answer.revision,
            reason=cut_reason(answer.reason),
        )

    def to_answer(self) -> OperationAnswer:
        """Return the answer."""
        return OperationAnswer(
            operation_id=str(self.op_id),
            outcome=self.outcome,
            item_id=str(self.id),
            revision=self.rev,
            reason=self.reason,
        )


class OperationAnswersShape(Shape):
    """What became of the operations, in their order."""

    results: Annotated[list[OperationAnswerShape], Field(max_length=MAX_OPERATIONS)]


class ChangeShape(Shape):
    """An item as it was after a change. Without an item it is gone."""

    rev: Annotated[int, Field(ge=0, le=MAX_REVISION, strict=True)]
    id: UUID
    item: ItemShape | None = None


class ChangesShape(Shape):
    """Changes after a revision, oldest first. The page after begins at `next`."""

    changes: Annotated[list[ChangeShape], Field(max_length=MAX_PAGE)]
    next: Annotated[int, Field(ge=0, le=MAX_REVISION, strict=True)]
    is_last: Flag

    @classmethod
    def from_page(cls, page: ChangePage) -> Self:
        """Return the body of a page."""
        return cls(
            changes=[
                ChangeShape(
                    rev=each.revision,
                    id=UUID(each.item_id),
                    item=None if each.item is None else ItemShape.from_item(each.item),
                )
                for each in page.changes
            ],
            next=page.revision,
            is_last=page.is_last,
        )

    def to_page(self, owner: ItemOwner) -> ChangePage:
        """Return the page, of this owner."""
        changes = tuple(
            ItemChange(
                revision=each.rev,
                item_id=str(each.id),
                item=None if each.item is None else each.item.to_item(owner.tenant, owner.user),
            )
            for each in self.changes
        )
        return ChangePage(changes=changes, revision=self.next, is_last=self.is_last)
