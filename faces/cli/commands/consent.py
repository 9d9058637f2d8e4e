"""`consent`: what waits for a person's yes - values of the profile, and memories that instruct - and the answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from muniment.faces.cli import session
from muniment.faces.cli.options import DEFAULT_USER, AsJson, User
from muniment.faces.cli.output import screen
from muniment.memory import codec
from muniment.memory.config.settings import load_settings
from muniment.memory.domain.consent import Consent
from muniment.memory.domain.memory import Memory as Record
from muniment.memory.domain.plan import Receipt
from muniment.memory.domain.scope import Scope
from muniment.memory.errors import BadInput, NotFound

if TYPE_CHECKING:
    from uuid import UUID

    from muniment.memory.client import Memory

_MAX_LISTED = 1000
_HINT = "Answer with `muniment consent approve ID` or `muniment consent reject ID`."
Ids = Annotated[list[str], typer.Argument(metavar="ID…", help="The ids that the list shows, or their beginnings.")]

app = typer.Typer(
    help="What waits for your yes: changes of your profile, and instructions found in somebody else's text.",
    no_args_is_help=True,
)


@app.command("list")
def list_requests(
    user: User = DEFAULT_USER,
    everything: Annotated[bool, typer.Option("--all", help="Also what is decided, and how.")] = False,
    as_json: AsJson = False,
) -> None:
    """List what waits, newest first. A request for the profile waits for consent.days (7), an instruction until you decide.

    For example:

      muniment consent list --user ana

      muniment consent list --all --json
    """
    settings = load_settings()
    scope = session.make_scope(settings, user)

    async def work() -> tuple[list[Consent], list[Record]]:
        async with session.open_memory(settings, quiet=as_json) as memory:
            return list(await memory.consents(scope, decided=everything)), await _list_instructions(
                memory, scope, everything
            )

    requests, memories = session.run_async(work())
    if as_json:
        screen.print_json([*map(codec.encode_consent, requests), *map(codec.encode_memory, memories)])
        return
    rows = [*map(_format_request, requests), *map(_format_instruction, memories)]
    for row in rows:
        screen.print_line(row)
    waits = any(one.decision == "pending" for one in requests) or any(one.state == "pending" for one in memories)
    screen.print_hint(_HINT if waits else "Nothing waits for your consent.")


@app.command()
def approve(ids: Ids, user: User = DEFAULT_USER, as_json: AsJson = False) -> None:
    """Say yes: the field of the profile gets the value, the memory becomes one like the others.

    For example:

      muniment consent approve 4f2a 91bc
    """
    _decide_requests(ids, user, approved=True, as_json=as_json)


@app.command()
def reject(ids: Ids, user: User = DEFAULT_USER, as_json: AsJson = False) -> None:
    """Say no: the profile stays as it is, the memory is in no answer.

    For example:

      muniment consent reject 4f2a
    """
    _decide_requests(ids, user, approved=False, as_json=as_json)


def _decide_requests(typed_ids: list[str], user: str, *, approved: bool, as_json: bool) -> None:
    settings = load_settings()
    scope = session.make_scope(settings, user)

    async def work() -> Receipt:
        async with session.open_memory(settings, quiet=as_json) as memory:
            undecided: list[Consent | Record] = [
                *await memory.consents(scope),
                *await _list_instructions(memory, scope, False),
            ]
            return await memory.decide_consents(
                scope, [_find_id(undecided, one) for one in typed_ids], approve=approved
            )

    receipt = session.run_async(work())
    if as_json:
        screen.print_json(codec.encode_receipt(receipt))
        return
    for change in receipt.changes:
        meta = change.meta
        what = f"{meta['field']}: {meta['value']}" if "field" in meta else change.after.text
        screen.print_line(f"{meta['consent']} {screen.join_lines(what)}")


async def _list_instructions(memory: Memory, scope: Scope, include_decided: bool) -> list[Record]:
    states = ("pending", "rejected") if include_decided else ("pending",)
    return list(await memory.list(scope, states=states, limit=_MAX_LISTED))


def _find_id(undecided: list[Consent | Record], prefix: str) -> UUID:
    """The id of the one that begins so. Raises BadInput (too short, several) and NotFound."""
    normalized = prefix.strip().lower()
    if len(normalized) < session.MIN_ID_CHARS or set(normalized) - set("0123456789abcdef-"):
        raise BadInput(f"{screen.join_lines(prefix)!r} is no id: give the {session.MIN_ID_CHARS} or more characters that "
                       "`muniment consent list` shows")  # fmt: skip
    ids = [one.id for one in undecided if str(one.id).startswith(normalized)]
    if not ids:
        raise NotFound(
            f"nothing that waits has an id that begins with {normalized}; `muniment consent list` shows what does",
            id=normalized,
        )
    if len(ids) > 1:
        raise BadInput(f"{normalized} is ambiguous: {', '.join(sorted(map(str, ids)))}", ids=sorted(map(str, ids)))
    return ids[0]


def _format_request(request: Consent) -> str:
    until = f"until {request.expires_at:%Y-%m-%d}" if request.decision == "pending" else f"by {request.decided_by}"
    return _format_row(
        request.id,
        request.decision,
        until,
        f"{request.field}: {request.value}" + (f" (now {request.old})" if request.old else ""),
    )


def _format_instruction(memory: Record) -> str:
    return _format_row(memory.id, memory.state, f"from a {memory.trust}", memory.text)


def _format_row(*parts: Any) -> str:
    id_, state, note, text = parts
    return f"{screen.shorten_id(id_)}  {state:<9}  {note:<16}  {screen.join_lines(text)}"
