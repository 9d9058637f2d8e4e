"""A yes of the user for each write, asked by the client: in both generations of the protocol, for what is shown."""

from __future__ import annotations

import asyncio
from hashlib import sha256
from typing import Any

from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp_types import (
    MISSING_REQUIRED_CLIENT_CAPABILITY,
    CallToolRequestParams,
    ClientCapabilities,
    ElicitationCapability,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitResult,
    FormElicitationCapability,
    InputRequiredResult,
    MissingRequiredClientCapabilityErrorData,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from muniment.memory.errors import NotReady

_KEY = "consent"
_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"yes": {"type": "boolean", "title": "Yes", "default": False}},
    "required": ["yes"],
}
_CANNOT_ASK = "the client cannot ask its user (elicitation), and nothing is written without a yes"


async def ask_user(
    ctx: ServerRequestContext[Any, Any], params: CallToolRequestParams, question: str, ending: asyncio.Event
) -> bool | InputRequiredResult:
    """Return whether the user says yes to this question.

    From 2026-07-28 on the question goes back as the result, and the client repeats the call with the answer; an answer
    to another question is none. Raises MCPError for a client that cannot ask, NotReady where the server ends before the
    answer."""
    _require_elicitation(ctx)
    if ctx.protocol_version not in MODERN_PROTOCOL_VERSIONS:
        return await _await_answer(ctx, question, ending)
    digest = sha256(question.encode("utf-8", "replace")).hexdigest()
    answer = (params.input_responses or {}).get(_KEY)
    if params.request_state == digest and answer is not None:
        return _is_yes(answer)
    form = ElicitRequestFormParams(message=question, requested_schema=_SCHEMA)
    return InputRequiredResult(input_requests={_KEY: ElicitRequest(params=form)}, request_state=digest)


async def _await_answer(ctx: ServerRequestContext[Any, Any], question: str, ending: asyncio.Event) -> bool:
    """Ask within the session, and wait for the answer until the server ends. Raises NotReady, MCPError."""
    asking = asyncio.ensure_future(ctx.session.elicit_form(question, _SCHEMA, ctx.request_id))
    end = asyncio.create_task(ending.wait())
    try:
        await asyncio.wait({asking, end}, return_when=asyncio.FIRST_COMPLETED)
        if not asking.done():
            raise NotReady("the server ends; nothing was written")
        return _is_yes(asking.result())
    except ValidationError:  # an answer that is none
        return False
    finally:
        end.cancel()
        asking.cancel()
        await asyncio.gather(end, asking, return_exceptions=True)


def quote_text(text: str) -> str:
    """Return a text on one line in quotes, as a question shows it: nothing of it is hidden or looks like our words."""
    shown = "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in " ".join(text.split()))
    inner = shown.replace("“", "'").replace("”", "'")
    return f"“{inner}”"


def _is_yes(answer: object) -> bool:
    if not isinstance(answer, ElicitResult) or answer.action != "accept":
        return False
    return (answer.content or {}).get("yes") is True


def _require_elicitation(ctx: ServerRequestContext[Any, Any]) -> None:
    capabilities = ctx.session.client_capabilities
    elicitation = capabilities.elicitation if capabilities is not None else None
    # One that names no mode knows forms: there was nothing else.
    if elicitation is None or (elicitation.form is None and elicitation.url is not None):
        wanted = ClientCapabilities(elicitation=ElicitationCapability(form=FormElicitationCapability()))
        data = MissingRequiredClientCapabilityErrorData(required_capabilities=wanted)
        raise MCPError(
            MISSING_REQUIRED_CLIENT_CAPABILITY,
            _CANNOT_ASK,
            data.model_dump(by_alias=True, mode="json", exclude_none=True),
        )
