"""`sessions list`, `sessions show` and `sessions search`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from muniment.faces.cli import options, session as cli
from muniment.faces.cli.options import DEFAULT_USER, AsJson, User
from muniment.faces.cli.output import screen, terminal
from muniment.memory import codec
from muniment.memory.config.settings import load_settings
from muniment.memory.domain.layers.session import Session, SessionPage, SessionRecord, SessionRequest, TurnHit
from muniment.memory.domain.turn import Turn
from muniment.memory.payload import FOUND_TURNS, dump_compact, encode_session, encode_turn

_SHOWN_CHARS = 160
SessionId = Annotated[str, typer.Argument(metavar="SESSION", help="The id of a session, as `sessions list` shows it.")]
Limit = Annotated[int, typer.Option("--limit", metavar="N", min=1, help="At most so many.")]


def list_sessions(
    user: User = DEFAULT_USER,
    project: Annotated[str | None, typer.Option(metavar="NAME", help="Only of this project.")] = None,
    app: Annotated[str | None, typer.Option(metavar="NAME", help="Only of this application.")] = None,
    ended: Annotated[
        bool | None, typer.Option("--ended/--open", help="Only what has ended, or goes on.", show_default=False)
    ] = None,
    limit: Limit = 100,
    offset: Annotated[int, typer.Option(metavar="N", min=0, help="Leave out the first so many.")] = 0,
    as_json: AsJson = False,
) -> None:
    """List the sessions of a user, the latest first.

    For example:

      muniment sessions list --open

      muniment sessions list --project atlas --limit 20
    """
    settings = load_settings()
    scope = cli.make_scope(settings, user)
    request = SessionRequest(ended=ended, project=project, app=app, limit=limit, offset=offset)

    async def work() -> SessionPage:
        async with cli.open_memory(settings, quiet=as_json) as memory:
            return await memory.sessions.list(scope, request)

    page = cli.run_async(work())
    if as_json:
        sessions = [encode_session(each) for each in page.sessions]
        screen.print_json({"user": scope.owner, "total": page.total, "offset": offset, "sessions": sessions})
    elif page.sessions:
        rows = [[each.id, f"{each.last_at:%Y-%m-%d %H:%M}", each.turns, _describe_end(each)] for each in page.sessions]
        terminal.print_table(["session", "last turn (UTC)", "turns", "ended"], rows)
    else:
        terminal.print_hint("No session fits." if request != SessionRequest() else "Nothing was said yet.")


def show_session(
    session_id: SessionId,
    user: User = DEFAULT_USER,
    since: Annotated[int, typer.Option(metavar="N", min=0, help="Begin at this position.")] = 0,
    limit: Limit = 100,
    with_audit: Annotated[
        bool, typer.Option("--audit", help="Also the hidden entries for an audit, with what they hold.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Show a session: what was said and done, in order, and what was found in it.

    For example:

      muniment sessions show 3f2a

      muniment sessions show 3f2a --since 40 --limit 20

      muniment sessions show agent:work --audit
    """
    settings = load_settings()
    scope = cli.make_scope(settings, user)

    async def work() -> SessionRecord:
        async with cli.open_memory(settings, quiet=as_json) as memory:
            return await memory.sessions.get(scope, session_id, since=since, limit=limit)

    record = cli.run_async(work())
    shown_turns = [turn for turn in record.turns if with_audit or turn.kind != "audit"]
    if as_json:
        turns = [encode_turn(turn) for turn in shown_turns]
        found = [codec.encode_record(each) for each in record.observations]
        shown = {"session": encode_session(record.session), "turns": turns, "observations": found}
        screen.print_json({"user": scope.owner, **shown})
        return
    screen.print_fields({name: value for name, value in encode_session(record.session).items() if value not in ({}, 0)})
    _print_turns(shown_turns)
    for each in record.observations:
        memory = screen.shorten_id(each.memory) if each.memory else "-"
        places = ",".join(map(str, each.positions))
        statement = screen.join_lines(each.statement)
        screen.print_line(f"{each.type} at {places or '-'}  {memory}  {each.outcome}: {statement}")


def search_sessions(
    text: Annotated[str, typer.Argument(metavar="TEXT", help="Words that were said.")],
    user: User = DEFAULT_USER,
    session_id: Annotated[str | None, typer.Option("--session", metavar="ID", help="Only in this session.")] = None,
    limit: Limit = FOUND_TURNS,
    as_json: AsJson = False,
) -> None:
    """Search what was said, word for word, the best first. It is kept for session_ledger.retention_days.

    For example:

      muniment sessions search "the front end"

      muniment sessions search pnpm --session 3f2a
    """
    settings = load_settings()
    scope, query = cli.make_scope(settings, user), options.check_text(text, "TEXT")

    async def work() -> Sequence[TurnHit]:
        async with cli.open_memory(settings, quiet=as_json) as memory:
            return await memory.sessions.search(scope, query, session=session_id, limit=limit)

    hits = cli.run_async(work())
    if as_json:
        results = [{**encode_turn(hit.turn), "score": round(hit.score, 4)} for hit in hits]
        screen.print_json({"user": scope.owner, "results": results})
    elif hits:
        _print_turns([hit.turn for hit in hits])
    else:
        terminal.print_hint("Nobody said that in what is kept.")


def _describe_end(session: Session) -> str:
    return f"{session.ended_at:%Y-%m-%d %H:%M} ({session.ended_why})" if session.ended_at else ""


def _describe_turn(turn: Turn) -> str:
    """The text of a turn; of an entry for an audit also what it holds."""
    held = "" if turn.kind != "audit" or not turn.payload else f" {dump_compact(turn.payload)}"
    return f"{turn.text}{held}"


def _print_turns(turns: Sequence[Turn]) -> None:
    rows = [
        [
            turn.session or "",
            "" if turn.position is None else turn.position,
            f"{turn.at:%Y-%m-%d %H:%M}",
            turn.role if turn.kind in ("message", "transcript") else turn.kind,
            screen.join_lines(_describe_turn(turn))[:_SHOWN_CHARS],
        ]
        for turn in turns
    ]
    terminal.print_table(["session", "n", "when (UTC)", "by", "text"], rows)
