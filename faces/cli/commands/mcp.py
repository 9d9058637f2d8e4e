"""`mcp`: the memory for a program that speaks the Model Context Protocol."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from muniment.faces.cli import session
from muniment.faces.cli.options import DEFAULT_USER, Project, User, check_agent
from muniment.faces.cli.output import screen
from muniment.memory.config.settings import load_settings
from muniment.memory.errors import BadConfig

_HINT = "muniment: waiting for a client of MCP on standard input; Ctrl-D ends it (see `muniment mcp --help`)"


def serve_mcp(
    agent: Annotated[
        str, typer.Option("--agent", "-a", metavar="A", help="Who asks; its allowlist says what the client may read.")
    ] = "supervisor",
    user: User = DEFAULT_USER,
    project: Project = None,
    write: Annotated[
        bool, typer.Option("--write", help="Also memory.remember and memory.forget; you are asked before each.")
    ] = False,
) -> None:
    """Give your memory to a program that speaks MCP, which starts this command and talks over its input and output.

    It gets the tool memory.query, and your profile, recent changes and single memories to attach. Whose memory it is
    and what the agent may read is said here, and nothing that a model writes changes it. With --write the program asks
    you before anything is kept or forgotten; one that cannot ask cannot write.

    Put this into the configuration of the program:

      {"mcpServers": {"memory":

      {"command": "muniment", "args": ["mcp"]}}}

    Many users, or another machine: `muniment serve` has the same at /mcp, behind tokens.

    For example:

      muniment mcp

      muniment mcp --user ana --agent planner --write
    """
    settings = load_settings()
    scope = session.make_scope(settings, user, project=project)
    check_agent(settings, agent)
    try:
        # The extra brings the protocol: nothing for the other commands to wait for, or to need.
        from muniment.faces.mcp import caller, stdio  # noqa: PLC0415
    except ModuleNotFoundError as error:
        raise BadConfig(f"mcp needs {error.name}: install muniment[mcp]") from None
    who = caller.create_caller(settings, scope, agent, may_write=write)

    async def work() -> None:
        async with session.open_memory(settings, quiet=True) as memory:
            await stdio.serve_stdio(memory, who)

    if sys.stdin.isatty():
        screen.print_stderr(_HINT)
    session.run_async(work())
