"""What becomes of errors: one sentence for the client, and in the log the class and the place, never a text."""

from __future__ import annotations

import logging
import traceback
from typing import Any, NoReturn

from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp_types import INTERNAL_ERROR, INVALID_PARAMS, METHOD_NOT_FOUND
from pydantic import ValidationError

from muniment.memory.client import Memory
from muniment.memory.errors import BadInput, Denied, MunimentError, NotFound, NotReady

LOG = logging.getLogger("muniment.mcp")
_MAX_CHARS = 1_000


def describe_failure(memory: Memory, error: MunimentError) -> str:
    """Return one sentence that begins with the class of the error.

    A memory that is not found has always the same words, whether it is another's or nobody's; what the caller cannot
    mend has no words of the error."""
    kind = type(error).__name__
    if isinstance(error, NotFound):
        return f"{NotFound.__name__}: {NotFound()}"
    if isinstance(error, BadInput | Denied | NotReady):
        # Redacted before it is cut: half a secret is not recognized as one.
        return f"{kind}: {memory.conversation.redact(' '.join(str(error).split()))[:_MAX_CHARS]}"
    LOG.warning("memory failed: %s", locate_error(error))
    return f"{kind}: memory is unavailable at the moment; try again"


def raise_failure(memory: Memory, error: MunimentError) -> NoReturn:
    """Raise the error as one of the protocol: invalid parameters, or an internal error."""
    is_input = isinstance(error, NotFound | BadInput | Denied)
    raise MCPError(INVALID_PARAMS if is_input else INTERNAL_ERROR, describe_failure(memory, error)) from None


async def contain_defects(ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
    """Answer a request; of a defect the client learns that there was one, and the log where."""
    try:
        return await call_next(ctx)
    except MCPError as error:
        if error.code == METHOD_NOT_FOUND:  # the library's has the name that was sent
            raise MCPError(METHOD_NOT_FOUND, "Method not found") from None
        raise
    except ValidationError:  # of what was sent; the library tells the client nothing of it
        raise
    except Exception as error:  # noqa: BLE001 - a defect in one request must neither end the others nor say its text
        LOG.error("defect: %s", locate_error(error))  # noqa: TRY400 - a traceback ends with the text of the error
        raise MCPError(INTERNAL_ERROR, "Something went wrong here; the log has its place.") from None


def locate_error(error: BaseException) -> str:
    """Return the class of an error and where it was raised, without its text, which may be of a memory."""
    frames = traceback.extract_tb(error.__traceback__)[-4:]
    places = " < ".join(f"{frame.filename.rpartition('muniment/')[2]}:{frame.lineno}" for frame in reversed(frames))
    return f"{type(error).__name__} at {places}"
