"""`consent`: what waits for a person's yes - values of the profile, and memories that instruct - and the answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from muniment.faces.cli import session
from muniment.faces.cli.options import ME, AsJson, User
from muniment.faces.cli.output import screen
from muniment.memory import codec as wire
from muniment.memory.config.settings import load
from muniment.memory.domain.consent import Consent
from muniment.memory.domain.memory import Memory as Record
from muniment.memory.domain.plan import Receipt
from muniment.memory.domain.scope import Scope
from muniment.memory.errors import BadInput, NotFound

if TYPE_CHECKING:
    from uuid import UUID

    from muniment.memory.client import Memory

_MOST = 1000
_HINT = "Answer with `muniment consent approve ID` or `muniment consent reject ID`."
Ids = Annotated[list[str], typer.Argument(metavar="ID…", help="The ids that the list shows, or their beginnings.")]

consent = typer.Typer(
    help="What waits for your yes: changes of your profile, and instructions found in somebody else's text.",
    no_args_is_help=True,
)


@consent.command("list")
def list_(
    user: User = ME,
    everything: Annotated[bool, typer.Option("--all", help="Also what is decided, and how.")] = False,
    as_json: AsJson = False,
) -> None:
    """List what waits, newest first. A request for the profile waits for consent.days (7), an instruction until you decide.

    For example:

      muniment consent list --user ana

      muniment consent list --all --json
    """
    settings = load()
    scope = session.scope_of(settings, user)

    async def work() -> tuple[list[Consent], list[Record]]:
        async with session.opened(settings, quiet=as_json) as memory:
            return list(await memory.consents(scope, decided=everything)), await _held(memory, scope, everything)

    requests, memories = session.run(work())
    if as_json:
        screen.show_json([*map(wire.consent, requests), *map(wire.memory, memories)])
        return
    rows = [*map(_request, requests), *map(_instruction, memories)]
    for row in rows:
        screen.say(row)
    waits = any(one.decision == "pending" for one in requests) or any(one.state == "pending" for one in memories)
    screen.whisper(_HINT if waits else "Nothing waits for your consent.")


@consent.command()
def approve(ids: Ids, user: User = ME, as_json: AsJson = False) -> None:
    """Say yes: the field of the profile gets the value, the memory becomes one like the others.

    For example:

      muniment consent approve 4f2a 91bc
    """
    _decide(ids, user, yes=True, as_json=as_json)


@consent.command()
def reject(ids: Ids, user: User = ME, as_json: AsJson = False) -> None:
    """Say no: the profile stays as it is, the memory is in no answer.

    For example:

      muniment consent reject 4f2a
    """
    _decide(ids, user, yes=False, as_json=as_json)


def _decide(typed: list[str], user: str, *, yes: bool, as_json: bool) -> None:
    settings = load()
    scope = session.scope_of(settings, user)

    async def work() -> Receipt:
        async with session.opened(settings, quiet=as_json) as memory:
            waiting: list[Consent | Record] = [*await memory.consents(scope), *await _held(memory, scope, False)]
            return await memory.decide(scope, [_find(waiting, one) for one in typed], approve=yes)

    receipt = session.run(work())
    if as_json:
        screen.show_json(wire.receipt(receipt))
        return
    for change in receipt.changes:
        meta = change.meta
        what = f"{meta['field']}: {meta['value']}" if "field" in meta else change.after.text
        screen.say(f"{meta['consent']} {screen.one_line(what)}")


async def _held(memory: Memory, scope: Scope, everything: bool) -> list[Record]:
    states = ("pending", "rejected") if everything else ("pending",)
    return list(await memory.list(scope, states=states, limit=_MOST))


def _find(waiting: list[Consent | Record], typed: str) -> UUID:
    """The id of the one that begins so. Raises BadInput (too short, several) and NotFound."""
    wanted = typed.strip().lower()
    if len(wanted) < session.SHORTEST_ID or set(wanted) - set("0123456789abcdef-"):
        raise BadInput(f"{screen.one_line(typed)!r} is no id: give the {session.SHORTEST_ID} or more characters that "
                       "`muniment consent list` shows")  # fmt: skip
    found = [one.id for one in waiting if str(one.id).startswith(wanted)]
    if not found:
        raise NotFound(
            f"nothing that waits has an id that begins with {wanted}; `muniment consent list` shows what does",
            id=wanted,
        )
    if len(found) > 1:
        raise BadInput(f"{wanted} is ambiguous: {', '.join(sorted(map(str, found)))}", ids=sorted(map(str, found)))
    return found[0]


def _request(one: Consent) -> str:
    until = f"until {one.expires_at:%Y-%m-%d}" if one.decision == "pending" else f"by {one.decided_by}"
    return _row(one.id, one.decision, until, f"{one.field}: {one.value}" + (f" (now {one.old})" if one.old else ""))


def _instruction(one: Record) -> str:
    return _row(one.id, one.state, f"from a {one.trust}", one.text)


def _row(*parts: Any) -> str:
    id_, state, note, text = parts
    return f"{screen.short(id_)}  {state:<9}  {note:<16}  {screen.one_line(text)}"
