"""The memory as a tool of the Model Context Protocol: a client starts `muniment mcp`, keeps a text and finds it.

Before each write the server asks the user, by the client. Needs `pip install "muniment[embedded,mcp]"`."""

from __future__ import annotations

import asyncio
import os
import sys

from mcp import Client, StdioServerParameters
from mcp.client import ClientRequestContext
from mcp.client.stdio import stdio_client
from mcp_types import ElicitRequestParams, ElicitResult

ARGUMENTS = ["-m", "muniment", "mcp", "--user", "example", "--agent", "supervisor", "--write"]


async def say_yes(context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult:
    """Show the question. A person's program would let its user answer."""
    print(f"? {params.message} yes")
    return ElicitResult(action="accept", content={"yes": True})


async def main() -> None:
    """List the tools, keep a text, and ask for it."""
    server = StdioServerParameters(command=sys.executable, args=ARGUMENTS, env=dict(os.environ))
    async with Client(stdio_client(server), elicitation_callback=say_yes) as client:
        print("tools:", ", ".join(tool.name for tool in (await client.list_tools()).tools))
        await client.call_tool("memory.remember", {"text": "I am allergic to peanuts"})
        answer = await client.call_tool("memory.query", {"query": "what must I not eat?"})
        for hit in (answer.structured_content or {})["results"]:
            print(hit["text"])


if __name__ == "__main__":
    asyncio.run(main())
