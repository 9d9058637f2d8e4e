"""`chat`: talk to the supervisor graph, a turn at a time."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from muniment.faces.cli import chat_commands, options, session
from muniment.faces.cli.loop import LoopThread
from muniment.faces.cli.options import DEFAULT_USER, AsJson, User
from muniment.faces.cli.output import screen, terminal
from muniment.memory.config.settings import load_settings
from muniment.memory.errors import MunimentError, TooLarge
from muniment.plugin.commands.parsing import parse_command

if TYPE_CHECKING:
    from muniment.faces.cli.conversation import ChatSession

PROMPT = "you> "
READ_BYTES = 64 * 2**20  # a line without an end is read in parts of this size, so that it cannot fill the memory


def run_chat(
    user: User = DEFAULT_USER,
    thread: Annotated[
        str, typer.Option("--thread", "-t", metavar="NAME", help="The conversation; of this user only.")
    ] = "main",
    as_json: AsJson = False,
) -> None:
    """Talk with the supervisor, who remembers. The conversation goes on where it was left, also after a crash.

    Without --thread it is the one called main; another name begins or continues another conversation of the same
    user. What was said in one is known in all of them.

    /help shows what can be typed besides messages: /memory, /forget ID, and exit. From a pipe each line is a message
    or such a command, and the first error decides the exit code. With --json every line is a message, and every turn
    one line: reply, rev, header, context, writes.

    For example:

      muniment chat --user ana

      echo "Hi, call me Ana." | muniment chat --user ana --thread first --json
    """
    settings = load_settings()
    scope = session.make_scope(settings, user, options.check_name(thread, "--thread"))
    # LangGraph takes its time to import, and no other command needs it.
    from muniment.faces.cli.conversation import ChatSession  # noqa: PLC0415

    chat_session = ChatSession(settings, scope)
    with LoopThread() as loop:
        try:
            with terminal.show_spinner("starting the database…", quiet=as_json):
                unfinished = loop.run(chat_session.start())
            if unfinished and not as_json:
                terminal.print_hint("The last turn was cut short; here is the end of it.")
                _show_turn(unfinished, as_json=False, is_terminal=True)
            code = _run_turns(loop, chat_session, as_json=as_json)
        finally:
            loop.run(chat_session.close())
    if code:
        raise typer.Exit(code)


def _run_turns(loop: LoopThread, chat_session: ChatSession, *, as_json: bool) -> int:
    """Every line is a turn. An error is told and the next line is read; returned is the code of the first."""
    code = 0
    is_terminal = sys.stdin.isatty() and not as_json
    if is_terminal:
        terminal.print_hint(
            f"Talking as {chat_session.scope.owner}, conversation {chat_session.scope.thread}. Leave with Ctrl-D; "
            "/help shows more."
        )
        if hint := loop.run(chat_session.memory.read_status(chat_session.scope)).get("hint"):
            terminal.print_hint(hint)
    for text in read_terminal() if is_terminal else read_pipe():
        if not as_json and chat_commands.is_leaving(text):
            break
        try:
            if not as_json and chat_commands.is_command(text) and not _is_for_plugin(chat_session, text):
                loop.run(chat_commands.run_command(chat_session, text))
            else:
                _take_turn(loop, chat_session, text, as_json=as_json, is_terminal=is_terminal)
        except MunimentError as error:
            exit_code = screen.report_error(error, as_json=as_json)
            code = code or exit_code
    return code


def _is_for_plugin(chat_session: ChatSession, text: str) -> bool:
    """Whether a line is a command that the plugin answers as a turn of the graph."""
    return chat_session.settings.plugin.enabled and parse_command(text) is not None


def _take_turn(loop: LoopThread, chat_session: ChatSession, text: str, *, as_json: bool, is_terminal: bool) -> None:
    """Send a message and show the turn. Raises TooLarge, StoreError."""
    if len(text) > (most := chat_session.settings.limits.turn_chars):
        raise TooLarge(
            f"the message has {len(text):,} characters; at most {most:,} are allowed",
            size=len(text),
        )
    early_replies: list[dict[str, Any]] = []
    turn = loop.run(chat_session.send_message(text, partial(_show_early_reply, early_replies) if is_terminal else None))
    shown_reply = early_replies[0]["reply"] if early_replies else None
    _show_turn(turn, as_json=as_json, is_terminal=is_terminal, shown_reply=shown_reply)


def read_terminal() -> Iterator[str]:
    """Lines from a terminal, with editing and the history of this chat; what was typed is kept nowhere else."""
    with contextlib.suppress(ImportError):
        # Importing it is what gives `input` a history; it would only slow the other commands down.
        import readline  # noqa: F401, PLC0415

    sys.stdin.reconfigure(errors="surrogateescape")  # type: ignore[union-attr]
    while True:
        try:
            line = input(PROMPT)
        except EOFError:
            screen.print_line("")
            return
        if line.strip():
            yield options.check_text(line, "message")


def read_pipe() -> Iterator[str]:
    """Lines from a pipe, without their blanks at both ends; none that is empty."""
    while line := sys.stdin.buffer.readline(READ_BYTES):
        if text := line.decode("utf-8", "replace").strip():
            yield text


def _show_early_reply(early_replies: list[dict[str, Any]], turn: dict[str, Any]) -> None:
    """Whoever watches need not wait until the turn is recorded."""
    early_replies.append(turn)
    _show_reply(turn)


def _show_turn(turn: dict[str, Any], *, as_json: bool, is_terminal: bool, shown_reply: str | None = None) -> None:
    """The turn; of a reply that was `shown` before, only what came to it since."""
    for warning in turn.pop("warnings"):
        screen.print_stderr(f"muniment: warning: {screen.join_lines(warning)}")
    if as_json:
        screen.print_json(turn)
        return
    if shown_reply is None:
        _show_reply(turn)
    elif rest := _find_new_paragraphs(turn["reply"], shown_reply):
        terminal.print_wrapped(rest)
    if is_terminal:
        for change in turn["writes"]:
            action = "waits for consent" if change.get("state") == "pending" else change["action"].lower()
            terminal.print_hint(f"  {action} [{change['category']}] {change['text']}")


def _show_reply(turn: dict[str, Any]) -> None:
    if turn["header"] not in turn["reply"]:
        terminal.print_hint(turn["header"])
    terminal.print_wrapped(turn["reply"])


def _find_new_paragraphs(reply: str, shown: str) -> str:
    """What came to a reply after it was shown."""
    seen = set(shown.split("\n\n"))
    return "\n\n".join(part for part in reply.split("\n\n") if part not in seen).strip()
