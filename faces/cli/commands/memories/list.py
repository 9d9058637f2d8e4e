"""`list`: the memories of a user, newest change first."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any

import typer

from muniment.faces.cli import session
from muniment.faces.cli.options import (
    DEFAULT_USER,
    AsJson,
    AsOf,
    Categories,
    Project,
    Session,
    User,
    parse_as_of,
    split_list,
)
from muniment.faces.cli.output import memories as view, screen, terminal
from muniment.memory import query_codec
from muniment.memory.config.settings import Settings, load_settings
from muniment.memory.domain.ids import Revision
from muniment.memory.domain.memory import KINDS, STATES, TRUSTS
from muniment.memory.domain.query import ListRequest, MemoryPage
from muniment.memory.domain.scope import Scope
from muniment.memory.errors import BadInput

Kinds = Annotated[list[str] | None, typer.Option("--kind", metavar="a,b", help=f"Of {', '.join(KINDS)}.")]
States = Annotated[
    list[str] | None, typer.Option("--state", metavar="a,b", help=f"Of {', '.join(STATES)}; or all. Else active.")
]
Trusts = Annotated[
    list[str] | None, typer.Option("--trust", metavar="a,b", help=f"Where it comes from, of {', '.join(TRUSTS)}.")
]
Pinned = Annotated[
    bool | None, typer.Option("--pinned/--not-pinned", help="Only what is pinned, or is not.", show_default=False)
]
Contains = Annotated[
    str | None, typer.Option("--contains", metavar="TEXT", help="Only what has this in its text, whatever the case.")
]
Since = Annotated[
    str | None, typer.Option("--since", metavar="TIME", help="Changed then or later: an ISO date or time in UTC.")
]
Until = Annotated[
    str | None, typer.Option("--until", metavar="TIME", help="Changed then or earlier; a date means its end.")
]
Everywhere = Annotated[
    bool, typer.Option("--everywhere", help="Also of all projects and sessions, and what has expired.")
]


def list_memories(
    user: User = DEFAULT_USER,
    categories: Categories = None,
    kinds: Kinds = None,
    states: States = None,
    trusts: Trusts = None,
    pinned: Pinned = None,
    tag: Annotated[str | None, typer.Option(metavar="T", help="Only what has this tag.")] = None,
    contains: Contains = None,
    source: Annotated[str | None, typer.Option(metavar="S", help="Only what comes from this source.")] = None,
    session_id: Annotated[str | None, typer.Option(metavar="S", help="Only what was said in this session.")] = None,
    agent_id: Annotated[str | None, typer.Option(metavar="A", help="Only what came through this agent.")] = None,
    since: Since = None,
    until: Until = None,
    project: Project = None,
    session_name: Session = None,
    everywhere: Everywhere = False,
    as_of: AsOf = None,
    limit: Annotated[int, typer.Option(metavar="N", min=1, help="At most so many.")] = 100,
    offset: Annotated[int, typer.Option(metavar="N", min=0, help="Leave out the first so many.")] = 0,
    as_json: AsJson = False,
) -> None:
    """List the memories of a user, newest change first.

    For example:

      muniment list

      muniment list --user ana --category profile,goals --contains lisbon

      muniment list --kind semantic --trust user --since 2026-05-01 --until 2026-05-31

      muniment list --state soft_deleted     # what can be restored

      muniment list --project harbour        # with what is found in this project alone

      muniment list --limit 50 --offset 50 --as-of 812   # the second page, as of revision 812
    """
    settings = load_settings()
    scope = session.make_scope(settings, user, project=project, session=session_name)
    listing = ListRequest(
        categories=split_list(categories, "--category"),
        kinds=split_list(kinds, "--kind"),
        trusts=split_list(trusts, "--trust"),
        states=_parse_states(states),
        pinned=pinned,
        tag=tag,
        contains=contains,
        source=source,
        session_id=session_id,
        agent_id=agent_id,
        since=None if since is None else query_codec.parse_time(since, "--since"),
        until=None if until is None else query_codec.parse_end_time(until, "--until"),
        everywhere=everywhere,
        limit=limit,
        offset=offset,
    )
    page, now = session.run_async(_read_page(settings, scope, listing, parse_as_of(as_of), quiet=as_json))
    _print_page_json(scope, page, offset) if as_json else _print_page(page, listing, now)


async def _read_page(
    settings: Settings, scope: Scope, listing: ListRequest, moment: Revision | datetime | None, *, quiet: bool
) -> tuple[MemoryPage, datetime]:
    async with session.open_memory(settings, quiet=quiet) as memory:
        return await memory.list_page(scope, listing, as_of=moment), memory.now()


def _parse_states(values: Sequence[str] | None) -> tuple[str, ...]:
    if values and not any(value.strip(", ") for value in values):
        raise BadInput(f"--state: is empty; allowed: {', '.join(STATES)}, all")
    states = STATES if values == ["all"] else split_list(values, "--state") or ("active",)
    if unknown := next((state for state in states if state not in STATES), None):
        raise BadInput(f"--state: unknown state {unknown!r}; allowed: {', '.join(STATES)}, all")
    return states


def _print_page_json(scope: Scope, page: MemoryPage, offset: int) -> None:
    memories = [view.list_fields(memory) for memory in page.memories]
    after = offset + len(memories)
    more = {"next": after} if memories and after < page.total else {}
    screen.print_json(
        {"user": scope.owner, "rev": page.rev, "total": page.total, "offset": offset, **more, "memories": memories}
    )


def _print_page(page: MemoryPage, listing: ListRequest, now: datetime) -> None:
    is_terminal = sys.stdout.isatty()
    rows: list[list[Any]] = []
    for memory in page.memories:
        category = f"{memory.category}{' *' if memory.pinned else ''}"
        age = [view.format_age(memory.updated_at, now)] if is_terminal else []
        rows.append([screen.shorten_id(memory.id), category, memory.importance, *age, view.format_statement(memory)])
    if rows:
        terminal.print_table(["id", "category", "imp", *(["changed"] if is_terminal else []), "text"], rows)
    if line := _format_paging(page, listing.offset):
        terminal.print_hint(line) if is_terminal else screen.print_stderr(line)
    if not page.total:
        terminal.print_hint(
            "Nothing is remembered here."
            if listing == ListRequest()
            else "Nothing fits; see what there is with `muniment list`."
        )


def _format_paging(page: MemoryPage, offset: int) -> str:
    """The place of a page among all memories; empty when the page has all."""
    count = len(page.memories)
    if count == page.total:
        return ""
    if not count:
        return f"none of {page.total:,} from {offset + 1:,} on"
    after = offset + count
    more = f"; next: --offset {after}" if after < page.total else ""
    return f"{offset + 1:,}-{after:,} of {page.total:,}{more}"
