"""`consent list`: what waits for a person's yes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from muniment.faces.cli import session
from muniment.faces.cli.options import DEFAULT_USER, AsJson, User
from muniment.faces.cli.output import screen, terminal
from muniment.memory import codec
from muniment.memory.config.settings import load_settings
from muniment.memory.domain.consent import Consent
from muniment.memory.domain.memory import StoredMemory
from muniment.memory.domain.scope import Scope

if TYPE_CHECKING:
    from muniment.memory.client import Memory


_MAX_LISTED = 1000
_HINT = "Answer with `muniment consent approve ID` or `muniment consent reject ID`."


def list_requests(
    user: User = DEFAULT_USER,
    everything: Annotated[bool, typer.Option("--all", help="Also what is decided, and how.")] = False,
    as_json: AsJson = False,
) -> None:
    """List what waits, newest first. A request for the profile waits for consent.days (7), an instruction until you
    decide.

    For example:

      muniment consent list --user ana

      muniment consent list --all --json
    """
    settings = load_settings()
    scope = session.make_scope(settings, user)

    async def work() -> tuple[list[Consent], list[StoredMemory]]:
        async with session.open_memory(settings, quiet=as_json) as memory:
            return list(await memory.list_consents(scope, decided=everything)), await list_instructions(
                memory, scope, everything
            )

    requests, memories = session.run_async(work())
    if as_json:
        screen.print_json([*map(codec.encode_record, requests), *map(codec.encode_record, memories)])
        return
    rows = [*map(_format_request, requests), *map(_format_instruction, memories)]
    for row in rows:
        screen.print_line(row)
    is_waiting = any(request.decision == "pending" for request in requests) or any(
        memory.state == "pending" for memory in memories
    )
    terminal.print_hint(_HINT if is_waiting else "Nothing waits for your consent.")


async def list_instructions(memory: Memory, scope: Scope, include_decided: bool) -> list[StoredMemory]:
    """The memories that instruct and wait for consent, with `include_decided` also those that were rejected."""
    states = ("pending", "rejected") if include_decided else ("pending",)
    return list(await memory.list(scope, states=states, limit=_MAX_LISTED))


def _format_request(request: Consent) -> str:
    until = f"until {request.expires_at:%Y-%m-%d}" if request.decision == "pending" else f"by {request.decided_by}"
    return _format_row(
        request.id,
        request.decision,
        until,
        f"{request.field}: {request.value}" + (f" (now {request.old})" if request.old else ""),
    )


def _format_instruction(memory: StoredMemory) -> str:
    return _format_row(memory.id, memory.state, f"from a {memory.trust}", memory.text)


def _format_row(*parts: Any) -> str:
    id_, state, note, text = parts
    return f"{screen.shorten_id(id_)}  {state:<9}  {note:<16}  {screen.join_lines(text)}"
