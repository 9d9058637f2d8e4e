"""MCP over standard input and output: one client, one user, one agent."""

from __future__ import annotations

import asyncio

from mcp.server.request_state import RequestStateSecurity
from mcp.server.stdio import stdio_server

from muniment.faces.mcp.caller import Caller
from muniment.faces.mcp.server import create_server
from muniment.memory.client import Memory


async def serve_stdio(memory: Memory, caller: Caller) -> None:
    """Answer the client that has started this process, until it closes standard input."""
    server = create_server(memory, lambda _: caller, RequestStateSecurity.ephemeral(), asyncio.Event())
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())
