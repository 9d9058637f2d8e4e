"""`consent approve` and `consent reject`: the answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from muniment.faces.cli import session
from muniment.faces.cli.options import DEFAULT_USER, AsJson, User
from muniment.faces.cli.output import screen
from muniment.memory import codec
from muniment.memory.config.settings import load_settings
from muniment.memory.domain.consent import Consent
from muniment.memory.domain.memory import StoredMemory
from muniment.memory.domain.plan import Receipt
from muniment.memory.errors import BadInput, NotFound

if TYPE_CHECKING:
    from uuid import UUID

from muniment.faces.cli.commands.consent.list import list_instructions

Ids = Annotated[list[str], typer.Argument(metavar="ID…", help="The ids that the list shows, or their beginnings.")]


def approve(ids: Ids, user: User = DEFAULT_USER, as_json: AsJson = False) -> None:
    """Say yes: the field of the profile gets the value, the memory becomes one like the others.

    For example:

      muniment consent approve 4f2a 91bc
    """
    _decide_requests(ids, user, approved=True, as_json=as_json)


def reject(ids: Ids, user: User = DEFAULT_USER, as_json: AsJson = False) -> None:
    """Say no: the profile stays as it is, the statement goes.

    For example:

      muniment consent reject 4f2a
    """
    _decide_requests(ids, user, approved=False, as_json=as_json)


def _decide_requests(typed_ids: list[str], user: str, *, approved: bool, as_json: bool) -> None:
    settings = load_settings()
    scope = session.make_scope(settings, user)

    async def work() -> Receipt:
        async with session.open_memory(settings, quiet=as_json) as memory:
            undecided: list[Consent | StoredMemory] = [
                *await memory.list_consents(scope),
                *await list_instructions(memory, scope, False),
            ]
            return await memory.decide_consents(
                scope, [_find_id(undecided, prefix) for prefix in typed_ids], approve=approved
            )

    receipt = session.run_async(work())
    if as_json:
        screen.print_json(codec.encode_receipt(receipt))
        return
    for change in receipt.changes:
        meta = change.meta
        if "consent" not in meta:  # another statement of the same value, which goes with the first
            continue
        what = f"{meta['field']}: {meta['value']}" if "field" in meta else change.after.text
        screen.print_line(f"{meta['consent']} {screen.join_lines(what)}")


def _find_id(undecided: list[Consent | StoredMemory], prefix: str) -> UUID:
    """The full id of what waits, by its beginning. Raises BadInput (too short, ambiguous) and NotFound."""
    normalized = prefix.strip().lower()
    if len(normalized) < session.MIN_ID_CHARS or set(normalized) - set("0123456789abcdef-"):
        raise BadInput(
            f"{screen.join_lines(prefix)!r} is no id: give the {session.MIN_ID_CHARS} or more characters that "
            "`muniment consent list` shows"
        )
    ids = [item.id for item in undecided if str(item.id).startswith(normalized)]
    if not ids:
        raise NotFound(
            f"nothing that waits has an id that begins with {normalized}; `muniment consent list` shows what does",
            id=normalized,
        )
    if len(ids) > 1:
        raise BadInput(f"{normalized} is ambiguous: {', '.join(sorted(map(str, ids)))}", ids=sorted(map(str, ids)))
    return ids[0]
