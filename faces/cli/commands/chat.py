"""`chat`: talk to the supervisor graph, a turn at a time."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from muniment.faces.cli import options, session
from muniment.faces.cli.loop import Loop
from muniment.faces.cli.options import ME, AsJson, User
from muniment.faces.cli.output import screen
from muniment.memory.config.settings import Settings, load
from muniment.memory.errors import MunimentError, TooLarge

if TYPE_CHECKING:
    from muniment.faces.cli.conversation import Talk

PROMPT = "you> "
READ_BYTES = 64 * 2**20  # a line without an end is read in parts of this size, so that it cannot fill the memory


def chat(
    user: User = ME,
    thread: Annotated[
        str, typer.Option("--thread", "-t", metavar="NAME", help="The conversation; of this user only.")
    ] = "main",
    as_json: AsJson = False,
) -> None:
    """Talk with the supervisor, who remembers. The conversation goes on where it was left, also after a crash.

    Without --thread it is the one called main; another name begins or continues another conversation of the same
    user. What was said in one is known in all of them.

    In a terminal, leave with Ctrl-D. From a pipe each line is a message, and the first error decides the exit code.
    With --json every turn is one line: reply, rev, header, context, writes.

    For example:

      muniment chat --user ana

      echo "Hi, call me Ana." | muniment chat --user ana --thread first --json
    """
    settings = load()
    scope = session.scope_of(settings, user, options.name(thread, "--thread"))
    # LangGraph takes its time to import, and no other command needs it.
    from muniment.faces.cli.conversation import Talk  # noqa: PLC0415

    talk = Talk(settings, scope)
    with Loop() as loop:
        try:
            with screen.waiting("starting the database…", quiet=as_json):
                unfinished = loop.run(talk.start())
            if unfinished and not as_json:
                screen.whisper("The last turn was cut short; here is the end of it.")
                _show(unfinished, as_json=False, watched=True)
            code = _converse(loop, talk, settings, as_json=as_json)
        finally:
            loop.run(talk.close())
    if code:
        raise typer.Exit(code)


def _converse(loop: Loop, talk: Talk, settings: Settings, *, as_json: bool) -> int:
    """Every line is a turn. An error is told and the next line is read; returned is the code of the first."""
    code = 0
    watched = sys.stdin.isatty() and not as_json
    if watched:
        screen.whisper(f"Talking as {talk.scope.owner}, conversation {talk.scope.thread}. Leave with Ctrl-D.")
    for text in _typed() if watched else _piped():
        try:
            if len(text) > settings.limits.turn_chars:
                raise TooLarge(
                    f"the message has {len(text):,} characters; at most {settings.limits.turn_chars:,} are allowed",
                    size=len(text),
                )
            early: list[dict[str, Any]] = []
            turn = loop.run(talk.say(text, partial(_reply_at_once, early) if watched else None))
        except MunimentError as error:
            failed = screen.fail(error, as_json=as_json)
            code = code or failed
        else:
            _show(turn, as_json=as_json, watched=watched, shown=early[0]["reply"] if early else None)
    return code


def _typed() -> Iterator[str]:
    """Lines from a terminal, with editing and the history of this chat; what was typed is kept nowhere else."""
    with contextlib.suppress(ImportError):
        # Importing it is what gives `input` a history; it would only slow the other commands down.
        import readline  # noqa: F401, PLC0415

    sys.stdin.reconfigure(errors="surrogateescape")  # type: ignore[union-attr]
    while True:
        try:
            line = input(PROMPT)
        except EOFError:
            screen.say("")
            return
        if line.strip():
            yield options.words(line, "message")


def _piped() -> Iterator[str]:
    while line := sys.stdin.buffer.readline(READ_BYTES):
        if text := line.decode("utf-8", "replace").strip():
            yield text


def _reply_at_once(early: list[dict[str, Any]], turn: dict[str, Any]) -> None:
    """Whoever watches need not wait until the turn is recorded."""
    early.append(turn)
    _show_reply(turn)


def _show(turn: dict[str, Any], *, as_json: bool, watched: bool, shown: str | None = None) -> None:
    """The turn; of a reply that was `shown` before, only what came to it since."""
    for warning in turn.pop("warnings"):
        screen.aside(f"muniment: warning: {screen.one_line(warning)}")
    if as_json:
        screen.show_json(turn)
        return
    if shown is None:
        _show_reply(turn)
    elif rest := turn["reply"].removeprefix(shown).strip():
        screen.say("\n".join(map(screen.clean, rest.splitlines())))
    if watched:
        for change in turn["writes"]:
            done = "waits for consent" if change.get("state") == "pending" else change["action"].lower()
            screen.whisper(f"  {done} [{change['category']}] {change['text']}")


def _show_reply(turn: dict[str, Any]) -> None:
    if turn["header"] not in turn["reply"]:
        screen.whisper(turn["header"])
    screen.say("\n".join(map(screen.clean, turn["reply"].splitlines())))
