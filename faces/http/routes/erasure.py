"""Erasure of a user's whole memory, and what an erasure of one memory has in common with it."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from types import ModuleType
from typing import Annotated

from fastapi import APIRouter, Query, Response

from muniment.faces.http.access import Caller, Eraser
from muniment.faces.http.answers import ErasureAnswer
from muniment.faces.http.bodies import StrictRoute
from muniment.faces.http.errors import ERROR_RESPONSES, make_response
from muniment.memory import codec
from muniment.memory.domain.erasure import ErasureReceipt
from muniment.memory.domain.ids import MemoryId
from muniment.memory.errors import BadInput

router = APIRouter(tags=["memories"], route_class=StrictRoute, responses=ERROR_RESPONSES)


@router.delete("/memories", response_model=ErasureAnswer)
async def erase_user(
    caller: Eraser,
    confirm: Annotated[str, Query(description="The name of the user once more.")],
) -> Response:
    """Erase a user for good: memories, history, what was said, jobs, tokens, and the checkpoints of every thread.

    Wants a token with the permission `admin`. The receipt has numbers alone. May be sent again after an error."""
    if confirm != caller.scope.owner:
        raise BadInput("confirm: is not the name of the user whose memory this erases")
    return await erase_for_good(caller)


async def erase_for_good(caller: Caller, memory_id: MemoryId | None = None) -> Response:
    """Erase a memory, or for None all of the user's, and answer with the receipt. Raises as `erase_with_receipt`."""
    receipt = await erase_with_receipt(caller, memory_id)
    answer = {"id": receipt.id, "what": receipt.what, "at": receipt.at, "counts": receipt.counts}
    return make_response(codec.encode_value(answer))


async def erase_with_receipt(caller: Caller, memory_id: MemoryId | None = None) -> ErasureReceipt:
    """Erase a memory, or for None all of the user's, with all traces, and return the receipt, checkpoints included.

    Raises Denied for a token of some agents: traces are in every category. Raises NotFound, Conflict, StoreError."""
    caller.check_unlimited()
    service = caller.service
    checkpointer, erasure = await asyncio.to_thread(_load_modules)
    async with (
        service.erasing,  # one at a time: each reads the whole space and has connections of its own
        checkpointer.open_savers(service.settings, service.memory.conversation.redact) as savers,
    ):
        result = await erasure.erase_with_checkpoints(service.memory, savers, caller.scope, memory_id)
    receipt: ErasureReceipt = result.receipt
    return replace(receipt, counts=receipt.counts | result.checkpoints)


def _load_modules() -> tuple[ModuleType, ModuleType]:
    # LangGraph takes a second to import: nothing for the start to wait for, nor for other requests.
    from muniment.graph import checkpointer, erasure  # noqa: PLC0415

    return checkpointer, erasure
