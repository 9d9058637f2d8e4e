"""`agent`: talk with an agent that has curated files and a gateway, a message at a time."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from uuid import uuid4

import typer

from muniment.faces.cli import chat_commands, options
from muniment.faces.cli.commands.chat import read_pipe, read_terminal
from muniment.faces.cli.loop import LoopThread
from muniment.faces.cli.options import AsJson
from muniment.faces.cli.output import screen, terminal
from muniment.memory.config.settings import load_settings
from muniment.memory.errors import BadInput, MunimentError, TooLarge

if TYPE_CHECKING:
    from muniment.faces.cli.agent_session import AgentSession

_HELP = """\
/help          shows this
exit           leaves, as do quit and Ctrl-D
Everything else is a message."""
Config = Annotated[
    Path | None,
    typer.Option("--config", "-c", metavar="FILE", help="The JSON file of the agent; else MUNIMENT_AGENT_CONFIG."),
]


def run_agent(
    context: typer.Context,
    config: Config = None,
    session: Annotated[
        str | None,
        typer.Option("--session", "-s", metavar="NAME", help="Begin or continue this session; else a new one."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Talk with an agent that has curated files, and a memory gateway beside them.

    The files, MEMORY.md and USER.md, are always read; the gateway is asked before each answer where the file of the
    agent names one and it is well. `muniment agent status` shows which. From a pipe each line is a message, and the
    first error decides the exit code. With --json every answer is one line: session, reply.

    For example:

      muniment agent --config agent.json --session work

      echo "Which region do I deploy to?" | muniment agent --config agent.json --json
    """
    if context.invoked_subcommand is not None:
        return
    settings = load_settings()
    name = uuid4().hex[:12] if session is None else options.check_name(session, "--session")
    # LangGraph takes its time to import, and no other command needs it.
    from muniment.faces.cli.agent_session import AgentSession  # noqa: PLC0415
    from muniment.graph.hybrid.runtime import create_runtime  # noqa: PLC0415

    runtime = create_runtime(settings, config)
    for warning in runtime.warnings:
        screen.print_stderr(f"muniment: warning: {screen.join_lines(warning)}")
    agent = AgentSession(runtime, settings, name)
    with LoopThread() as loop:
        try:
            with terminal.show_spinner("starting the database…", quiet=as_json):
                loop.run(agent.start())
            code = _run_messages(loop, agent, as_json=as_json)
        finally:
            loop.run(agent.close())
    if code:
        raise typer.Exit(code)


def _run_messages(loop: LoopThread, agent: AgentSession, *, as_json: bool) -> int:
    """Every line is a message. An error is told and the next line is read; returned is the code of the first."""
    code = 0
    is_terminal = sys.stdin.isatty() and not as_json
    if is_terminal:
        terminal.print_hint(f"Session {agent.session}. Leave with Ctrl-D; /help shows more.")
    for text in read_terminal() if is_terminal else read_pipe():
        if not as_json and chat_commands.is_leaving(text):
            break
        try:
            if not as_json and chat_commands.is_command(text):
                _run_command(text)
            else:
                _send_message(loop, agent, text, as_json=as_json, is_terminal=is_terminal)
        except MunimentError as error:
            exit_code = screen.report_error(error, as_json=as_json)
            code = code or exit_code
    return code


def _run_command(line: str) -> None:
    if line.strip() != "/help":
        raise BadInput("there is no such command; /help shows those that there are")
    terminal.print_wrapped(_HELP)


def _send_message(loop: LoopThread, agent: AgentSession, text: str, *, as_json: bool, is_terminal: bool) -> None:
    """Send a message and show the answer, on a terminal as it comes. Raises TooLarge, StoreError, ModelError."""
    if len(text) > (most := agent.settings.limits.turn_chars):
        raise TooLarge(f"the message has {len(text):,} characters; at most {most:,} are allowed", size=len(text))
    shown: list[str] = []

    def show_part(part: str) -> None:
        shown.append(part)
        sys.stdout.write(screen.replace_controls(part))
        sys.stdout.flush()

    reply = loop.run(agent.send_message(text, show_part if is_terminal else None))
    if as_json:
        screen.print_json({"session": agent.session, "reply": reply})
        return
    if shown:
        screen.print_line("")
    if not "".join(shown).endswith(reply):  # what was shown is of an answer that another text has replaced
        terminal.print_wrapped(reply)
