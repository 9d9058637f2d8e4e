"""The service on this machine for clients that have no token: each request gets one of the user ana and the planner.

Run it as `python -m tests.mcp.loopback`; it prints the address of MCP, and ends with its standard input. With `suite`
it serves what the conformance suite calls by name, through the same endpoint, in place of the memory."""

import asyncio
import sys

import uvicorn
from mcp.server.request_state import RequestStateBoundary
from starlette.types import Receive, Scope, Send

from muniment.faces.http.app import create_app
from muniment.faces.http.server import create_service
from muniment.faces.mcp.endpoint import McpEndpoint
from muniment.memory.bootstrap import open_memory, open_tokens
from muniment.memory.config.settings import load_settings
from tests.mcp.conformance.suite_server import create_suite_server


async def serve() -> None:
    """Serve until standard input is closed."""
    settings = load_settings()
    async with open_memory(settings) as memory, open_tokens(settings, as_owner=True) as tokens:
        token, _ = await tokens.issue_token(tenant="acme", owner="ana", agents=("planner",))
        header = (b"authorization", f"Bearer {token.get_secret_value()}".encode())
        service = create_service(settings, memory, tokens)
        endpoint = McpEndpoint(memory, tokens.key, service.ending)
        if "suite" in sys.argv[1:]:
            (boundary,) = (each for each in endpoint._manager.app.middleware if isinstance(each, RequestStateBoundary))
            endpoint._manager.app = create_suite_server(boundary)
        app = create_app(service, endpoint)

        async def answer(scope: Scope, receive: Receive, send: Send) -> None:
            await app({**scope, "headers": [*scope["headers"], header]}, receive, send)

        server = uvicorn.Server(uvicorn.Config(answer, port=0, log_level="warning", lifespan="off", ws="none"))
        async with endpoint.run():
            serving = asyncio.create_task(server.serve())
            while not server.started:
                await asyncio.sleep(0.05)
            port = server.servers[0].sockets[0].getsockname()[1]
            sys.stdout.write(f"http://127.0.0.1:{port}/mcp\n")
            sys.stdout.flush()
            await asyncio.to_thread(sys.stdin.read)
            server.should_exit = True
            await serving


if __name__ == "__main__":
    asyncio.run(serve())
