"""What a client may attach by itself: the profile, recent changes, and one memory."""

from __future__ import annotations

from typing import Any

from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS, Resource, ResourceTemplate

from muniment.faces.mcp.caller import Caller
from muniment.faces.mcp.tools import find_memory
from muniment.memory import codec
from muniment.memory.client import Memory

JSON = "application/json"
PROFILE, CHANGES, MEMORY = "memory://profile", "memory://changes", "memory://memory/"
RESOURCES = (
    Resource(
        uri=PROFILE, name="profile", mime_type=JSON, description="What always holds of the user, as an agent gets it."
    ),
    Resource(uri=CHANGES, name="changes", mime_type=JSON, description="The latest changes of the memory."),
)
TEMPLATES = (
    ResourceTemplate(
        uri_template=f"{MEMORY}{{id}}", name="memory", mime_type=JSON, description="One memory, by its id."
    ),
)
_LATEST = 50  # changes


async def read_resource(memory: Memory, caller: Caller, uri: str) -> dict[str, Any]:
    """Return a resource as a JSON value. Raises MCPError for an unknown address, NotFound, BadInput, StoreError."""
    if uri == PROFILE:
        brief = await memory.brief(caller.scope, caller.agent, "")
        return {"rev": brief.rev, "profile": [line.removeprefix("- ") for line in brief.stable.splitlines()]}
    if uri == CHANGES:
        first = await memory.changes(caller.scope, limit=1, agent=caller.agent)
        page = await memory.changes(caller.scope, max(0, first.rev - _LATEST), _LATEST, agent=caller.agent)
        return codec.encode_change_page(page)
    if uri.startswith(MEMORY):
        return codec.encode_record(await find_memory(memory, caller, uri.removeprefix(MEMORY)))
    raise MCPError(INVALID_PARAMS, "There is no such resource.")
