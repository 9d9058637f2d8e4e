"""`bisect`: which remembered statements made a reply, or would have made it."""

from __future__ import annotations

from typing import Annotated

import typer

from muniment.faces.cli import options, session
from muniment.faces.cli.options import DEFAULT_USER, AsJson, User
from muniment.faces.cli.output import screen, terminal
from muniment.memory.config.settings import Settings, load_settings
from muniment.memory.domain.layers.bisection import MOST_RUNS, Bisection, BisectOutcome, BisectRequest, Cause
from muniment.memory.domain.scope import Scope
from muniment.memory.payload import encode_bisection

_SHOWN_CHARS = 200
_OUTCOMES: dict[BisectOutcome, str] = {
    "found": "What made the reply:",
    "unaided": "No memory made it: the reply has it without any statement, too.",
    "not reproduced": "Made again with all that stood before the model, the reply does not have it.",
    "not said": "The recorded reply does not have it. With --missing you see what would have to be shown.",
    "not certain": "Not certain: the replies differ too much. More --runs may decide it.",
    "known": "The reply has it as it is.",
    "none would do": "No memory that was found as of that revision would do.",
}
_MISSING_FOUND = "What would have to be shown:"


Thread = Annotated[str, typer.Option("--thread", "-t", metavar="NAME", help="The conversation.")]
Turn = Annotated[
    int, typer.Option("--turn", metavar="N", min=0, help="The turn, as `muniment sessions show` numbers it.")
]
Expect = Annotated[
    str | None,
    typer.Option(metavar="PATTERN", help="What the reply says: words, * for any text, | between alternatives."),
]
Judge = Annotated[
    str | None, typer.Option(metavar="QUESTION", help="Or a question about the reply, for the model: yes or no.")
]
Runs = Annotated[
    int,
    typer.Option(metavar="K", min=1, max=MOST_RUNS, help="Above 1 for a model that answers the same differently."),
]
Missing = Annotated[bool, typer.Option("--missing", help="Which memory was not shown, and would have made it.")]
Fresh = Annotated[bool, typer.Option("--fresh", help="Make all replies anew, also those that are kept.")]


def bisect_reply(
    thread: Thread,
    turn: Turn,
    expect: Expect = None,
    judge: Judge = None,
    runs: Runs = 1,
    missing: Missing = False,
    fresh: Fresh = False,
    user: User = DEFAULT_USER,
    as_json: AsJson = False,
) -> None:
    """Find which remembered statements made a reply: make it again with fewer and fewer of them.

    The turn is made again as of its revision, with the same messages, prompt and tools; nothing is learned or recorded.
    Shown are the fewest statements with which the reply still has what you look for, where each comes from, and the
    reply without them. Each reply is kept: the same command goes on where it was, also after Ctrl-C or when the day's
    budget was used up.

    For example:

      muniment bisect --thread main --turn 7 --expect "lactose*free"

      muniment bisect --thread main --turn 7 --judge "Does it advise against milk?" --runs 5

      muniment bisect --thread main --turn 7 --expect Porto --missing
    """
    settings = load_settings()
    name = options.check_name(thread, "--thread")
    scope = session.make_scope(settings, user, name, session=name)
    request = BisectRequest(
        expect=None if expect is None else options.check_text(expect, "--expect"),
        judge=None if judge is None else options.check_text(judge, "--judge"),
        runs=runs,
        missing=missing,
    )
    found = session.run_async(_search_causes(settings, scope, turn, request, fresh=fresh, quiet=as_json))
    if as_json:
        screen.print_json({"user": scope.owner, **encode_bisection(found)})
    else:
        _print_bisection(found)


async def _search_causes(
    settings: Settings, scope: Scope, turn: int, request: BisectRequest, *, fresh: bool, quiet: bool
) -> Bisection:
    # LangGraph takes its time to import, and no other command needs it.
    from muniment.graph.replay.turns import open_turn  # noqa: PLC0415

    async with session.open_memory(settings, quiet=quiet) as memory:
        replay = await open_turn(memory, scope, turn)
        if fresh:
            await memory.replays.forget(scope, replay, request)
        with terminal.show_progress("making replies", None, quiet=quiet) as advance:
            return await memory.bisect(
                scope,
                replay,
                expect=request.expect,
                judge=request.judge,
                runs=request.runs,
                missing=request.missing,
                on_reply=lambda _: advance(1),
            )


def _print_bisection(found: Bisection) -> None:
    turn = found.turn
    how = "as the thread keeps it" if turn.is_kept else "made again from memory as it was"
    terminal.print_hint(
        f"turn {turn.position} of {turn.thread}, revision {turn.rev}, {how}: "
        f"{screen.format_count(len(turn.shown), 'statement')} shown, "
        f"{found.replies:,} {'reply' if found.replies == 1 else 'replies'}, {found.reused:,} kept from before"
    )
    if found.strayed:
        terminal.print_hint(
            f"{found.strayed} of the replies called a tool as the turn did not: no tool runs again, and such a reply "
            "counts as one that does not have it"
        )
    is_missing = found.request.missing and found.outcome == "found"
    terminal.print_wrapped(_MISSING_FOUND if is_missing else _OUTCOMES[found.outcome])
    for number, causes in enumerate(found.sets):
        if number:
            terminal.print_wrapped("or, each by itself:" if number == 1 else "or:")
        for cause in causes:
            _print_cause(cause)
    parts = {"with": found.reply_with, "without": found.reply_without} if found.sets else {}
    for word, reply in parts.items():
        if reply is not None:
            terminal.print_wrapped(f"The reply {word} {'them' if len(found.sets[0]) > 1 else 'it'}:")
            terminal.print_wrapped(reply)


def _print_cause(cause: Cause) -> None:
    named = cause.memory.id if cause.memory else cause.statement.memory
    id_ = screen.shorten_id(named) if named else "profile"
    terminal.print_wrapped(f"  {id_}  {screen.join_lines(cause.statement.text)}")
    for turn in cause.sources:
        where = f"{turn.session or 'no session'}{'' if turn.position is None else f', turn {turn.position}'}"
        text = screen.join_lines(turn.text)[:_SHOWN_CHARS]
        terminal.print_wrapped(f"    from {turn.role}, {where}, {turn.at:%Y-%m-%d %H:%M}: {text}")
    if not cause.sources:
        terminal.print_wrapped(f"    {_describe_origin(cause)}")
    if cause.reason:
        terminal.print_wrapped(f"    not shown: {screen.join_lines(cause.reason)}")


def _describe_origin(cause: Cause) -> str:
    """Return where a statement comes from of which no turn is kept."""
    memory = cause.memory
    if memory is None:
        return "no memory says it any more, and no turn of it is known"
    source = f"from {screen.join_lines(memory.source)}, " if memory.source else ""
    return f"{source}kept since {memory.created_at:%Y-%m-%d %H:%M}; no turn of it is kept"
