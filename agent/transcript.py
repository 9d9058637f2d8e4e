"""The sessions of an agent in the ledger: what was said and done, and hidden events. Nothing is learned from them: what
the agent knows is in its curated files and at its gateway."""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any, Literal

from muniment.agent.gateway_service import AuditEvent
from muniment.memory.client import Memory
from muniment.memory.codec import is_storable
from muniment.memory.domain.ids import TurnId
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import Turn
from muniment.memory.errors import BadInput, MunimentError
from muniment.memory.payload import dump_compact, encode_found_turns, fence_text
from muniment.memory.ports.llm import Tool

APP = "muniment-agent"  # of its sessions, by which a search finds them alone
PREFIX = "agent:"  # of their ids: a chat of the same name is another session
SEARCH_TOOL = "session_search"
_MAX_NAME = 200  # characters of a session's name
_MAX_FOUND = 20
_USUAL_FOUND = 8
_log = logging.getLogger(__name__)


def make_session_scope(owner: Scope, session: str) -> Scope:
    """Return the scope of a session of the agent. It names no thread: no job looks at its turns.

    Raises BadInput for a name that is empty, too long, or has a NUL or half a character."""
    if not session.strip() or len(session) > _MAX_NAME or not is_storable(session):
        raise BadInput(f"session: a name of 1 to {_MAX_NAME} characters is wanted, without a NUL or half a character")
    return Scope(
        owner=owner.owner,
        tenant=owner.tenant,
        owner_type=owner.owner_type,
        actor=owner.owner,
        session=f"{PREFIX}{session}",
        app=APP,
    )


def make_message(
    scope: Scope, key: str, role: Literal["user", "assistant"], text: str, at: datetime, most: int
) -> Turn:
    """Return a message as a turn of a session, cut to `most` characters. The same key and text are the same turn."""
    return Turn.make(
        session=scope.session or "",
        key=key,
        role=role,
        text=text[:most],
        at=at,
        actor=scope.actor if role == "user" else None,
        kind="transcript",
    )


def make_event(scope: Scope, key: str, event: AuditEvent, at: datetime) -> Turn:
    """Return a hidden event as a turn that no search and no prompt has."""
    return Turn.make(
        session=scope.session or "",
        key=key,
        role="system",
        text=event.name,
        at=at,
        source="agent",
        kind="audit",
        payload=dict(event.fields),
        visible=False,
    )


async def record_turns(memory: Memory, scope: Scope, turns: Sequence[Turn]) -> None:
    """Append turns to the session. Where the ledger fails, this is logged, and the agent goes on."""
    try:
        await memory.conversation.record(scope, turns)
    except MunimentError as error:
        _log.warning("%s turns of a session were not recorded: %s", len(turns), type(error).__name__)


def make_search_tool() -> Tool:
    """Return the tool that searches the agent's own sessions by words."""
    properties = {
        "query": {"type": "string", "description": "Words that were said"},
        "session": {"type": "string", "description": "Only in this session"},
        "limit": {"type": "integer", "minimum": 1, "maximum": _MAX_FOUND, "default": _USUAL_FOUND},
    }
    return Tool(
        name=SEARCH_TOOL,
        description="Search what was said in your sessions with this person, by words.",
        parameters={"type": "object", "properties": properties, "required": ["query"], "additionalProperties": False},
    )


async def search_sessions(
    memory: Memory, scope: Scope, arguments: Mapping[str, Any], hidden: Collection[TurnId] = ()
) -> tuple[str, int]:
    """Return what was said in the sessions of this user's agent, as a fenced text for the model, and how many turns.

    The turns in `hidden` are left out: those of the run that asks. Raises BadInput, StoreError."""
    query, session, limit = _check_arguments(arguments)
    where = f"{PREFIX}{session}" if session else None
    # What is hidden takes no place of what is found.
    hits = await memory.sessions.search(scope, query, session=where, app=APP, limit=limit + len(hidden))
    found = [hit for hit in hits if hit.turn.id not in hidden][:limit]
    shown = encode_found_turns(found)
    for each in shown["results"]:
        each["session"] = (each["session"] or "").removeprefix(PREFIX)
    return fence_text(dump_compact(shown)), len(found)


def _check_arguments(arguments: Mapping[str, Any]) -> tuple[str, str | None, int]:
    allowed = ("query", "session", "limit")
    if unknown := sorted(set(arguments) - {*allowed}):
        raise BadInput(f"{SEARCH_TOOL}: unknown argument {unknown[0][:40]!r}; allowed: {', '.join(allowed)}")
    query, session, limit = arguments.get("query"), arguments.get("session"), arguments.get("limit", _USUAL_FOUND)
    if not isinstance(query, str) or not query.strip() or not is_storable(query):
        raise BadInput(f"{SEARCH_TOOL}: query: a text with words is wanted")
    if session is not None and (not isinstance(session, str) or not is_storable(session)):
        raise BadInput(f"{SEARCH_TOOL}: session: the name of a session is wanted")
    if isinstance(limit, bool) or not isinstance(limit, int) or not 1 <= limit <= _MAX_FOUND:
        raise BadInput(f"{SEARCH_TOOL}: limit: allowed: a whole number from 1 to {_MAX_FOUND}")
    return query, session, limit
