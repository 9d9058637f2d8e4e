"""Threads: what was said, what memory put before the model, what was called and learned, and memory as it was then."""

from __future__ import annotations

import asyncio
import shlex
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from starlette.responses import Response
from starlette.routing import Route

from muniment.faces.console.areas import Area
from muniment.faces.console.reply_reasons import explain_reply, read_records
from muniment.faces.console.visits import Visit, make_page
from muniment.memory.domain.ids import Revision, TurnId
from muniment.memory.domain.layers.observation import Observation
from muniment.memory.domain.layers.session import Session, SessionRequest
from muniment.memory.domain.query import ListRequest
from muniment.memory.domain.turn import Turn
from muniment.memory.errors import BadInput, NotFound
from muniment.memory.payload import fence_text

if TYPE_CHECKING:
    from muniment.graph.threads.records import TurnRecord

_SESSIONS_A_PAGE = 50
_TURNS_A_PAGE = 40
_MEMORIES_A_PAGE = 25
_FOUND_TURNS = 50
_MAX_NUMBER = 2**31 - 1
_BEFORE = 100  # turns before a reply among which its message is looked for


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnView:
    """A turn as a page shows it: the revision of its time, what was found in it, what its thread keeps of it, and the
    position of the message that it answers."""

    turn: Turn
    rev: Revision
    findings: Sequence[Observation] = ()
    record: TurnRecord | None = None
    answers: int | None = None

    @property
    def call(self) -> str:
        """Return the first line of a tool's turn, which is the call."""
        return self.turn.text.partition("\n")[0]

    @property
    def result(self) -> str:
        """Return the other lines of a tool's turn."""
        return self.turn.text.partition("\n")[2]


async def show_threads(visit: Visit) -> Response:
    """Show the threads, the latest first, or the turns with the words that are looked for."""
    visit.caller.check_unlimited()
    given = visit.request.query_params
    text, state = given.get("q", "").strip(), given.get("state", "")
    offset = read_number(visit, "offset")
    names = {name: given.get(name, "").strip() for name in ("project", "app")}
    sessions, owner = visit.service.memory.sessions, visit.caller.scope
    hits = await sessions.search(owner, text, limit=_FOUND_TURNS) if text else ()
    request = SessionRequest(
        ended={"open": False, "ended": True}.get(state),
        project=names["project"] or None,
        app=names["app"] or None,
        limit=_SESSIONS_A_PAGE,
        offset=offset,
    )
    page = await sessions.list(owner, request)
    after = offset + len(page.sessions)
    kept = {name: value for name, value in {**names, "state": state}.items() if value}
    return visit.render_page(
        "threads.html",
        q=text,
        state=state,
        names=names,
        hits=hits,
        page=page,
        is_narrowed=bool(kept),
        first=visit.make_link("/threads", **kept) if offset else None,
        next=visit.make_link("/threads", **kept, offset=after) if page.sessions and after < page.total else None,
        command=_write_list_command(visit, text, kept),
    )


async def show_thread(visit: Visit) -> Response:
    """Show a thread with its turns from a position on."""
    session, since = read_session(visit), read_number(visit, "since")
    record = await visit.service.memory.sessions.get(visit.caller.scope, session, since=since, limit=_TURNS_A_PAGE)
    kept, found, bounds = await asyncio.gather(
        read_records(visit, record.turns, session),
        _read_surroundings(visit, session, record.turns),
        _find_bounds(visit, record.session),
    )
    records, failure = kept
    turns = _view_turns(record.turns, found, records.turns if records else {})
    last = max((each.position for each in record.turns if each.position is not None), default=None)
    has_more = last is not None and last + 1 < record.session.turns
    return visit.render_page(
        "thread.html",
        session=record.session,
        turns=turns,
        fence=fence_text,
        size=records.size if records else None,
        failure=failure,
        bounds=bounds,
        first=visit.make_link("/threads/thread", id=session) if since else None,
        next=visit.make_link("/threads/thread", id=session, since=(last or 0) + 1) if has_more else None,
        command=f"muniment sessions show {shlex.quote(session)} --user {visit.shell_owner} --since {since}",
    )


async def show_reply(visit: Visit) -> Response:
    """Show why a reply says what it says: from what stood before the model to where that comes from."""
    session, position = read_session(visit), read_number(visit, "at")
    since = max(0, position - _BEFORE)
    read = visit.service.memory.sessions.get
    found = await read(visit.caller.scope, session, since=since, limit=position - since + _TURNS_A_PAGE)
    here = next((each for each in found.turns if each.position == position), None)
    message = _find_message(found.turns, position)
    if here is None or message is None:
        raise NotFound
    turns = _cut_exchange(found.turns, message)
    reply = next((each for each in turns if each.role == "assistant"), None)
    kept, surroundings = await asyncio.gather(
        read_records(visit, turns, session), _read_surroundings(visit, session, turns)
    )
    records, failure = kept
    views = _view_turns(turns, surroundings, records.turns if records else {})
    reasons = await explain_reply(visit, message, reply, views[0].rev, views[0].record)
    return visit.render_page(
        "reply.html",
        session=found.session,
        message=views[0],
        reply=reply,
        calls=[each for each in views if each.turn.kind == "tool"],
        reasons=reasons,
        fence=fence_text,
        failure=failure,
        command=[
            f"muniment sessions show {shlex.quote(session)} --user {visit.shell_owner} --since {message.position}",
            f"muniment list --user {visit.shell_owner} --as-of {reasons.rev}",
        ],
    )


async def show_then(visit: Visit) -> Response:
    """Show the memory as it was at a revision, and what that revision changed."""
    memory, scope, given = visit.service.memory, visit.caller.scope, visit.request.query_params
    session = None
    if "id" in given:
        session = (await memory.sessions.get(scope, read_session(visit), limit=1)).session
    first, last = await _find_bounds(visit, session)
    rev, offset = _choose_revision(visit, last), read_number(visit, "offset")
    categories = tuple(sorted(visit.caller.allowed)) if visit.grant.agents else ()
    listing = ListRequest(categories=categories, limit=_MEMORIES_A_PAGE, offset=offset, everywhere=True)
    page = await memory.list_page(scope, listing, as_of=Revision(rev))
    entries = (await memory.changes(scope, max(0, rev - 1), 1)).entries if rev else ()
    change = next((each for each in entries if each.rev == rev), None)
    if change is not None and change.memory is not None and change.memory.category not in visit.caller.allowed:
        change = None
    today = await memory.admin.get_many(scope, [each.id for each in page.memories])
    after, named = offset + len(page.memories), {} if session is None else {"id": session.id}
    return visit.render_page(
        "then.html",
        session=None if session is None else session.id,
        rev=rev,
        bounds=(first, last),
        page=page,
        change=change,
        today=today,
        first=visit.make_link("/threads/then", **named, rev=rev) if offset else None,
        next=visit.make_link("/threads/then", **named, rev=rev, offset=after) if after < page.total else None,
        earlier=visit.make_link("/threads/then", **named, rev=rev - 1) if rev > 0 else None,
        later=visit.make_link("/threads/then", **named, rev=rev + 1) if rev < last else None,
        command=f"muniment list --user {visit.shell_owner} --everywhere --as-of {rev}",
    )


async def _read_surroundings(
    visit: Visit, session: str, turns: Sequence[Turn]
) -> tuple[Sequence[Observation], Sequence[Revision]]:
    """Return what was found in turns, and the revision of the time of each."""
    reads = visit.reads.threads
    return await asyncio.gather(
        reads.list_findings(visit.reader, session, [turn.id for turn in turns]),
        reads.find_revisions(visit.caller.scope, [turn.at for turn in turns]),
    )


def _view_turns(
    turns: Sequence[Turn],
    surroundings: tuple[Sequence[Observation], Sequence[Revision]],
    records: Mapping[datetime, TurnRecord],
) -> list[TurnView]:
    findings = defaultdict[TurnId, list[Observation]](list)
    for each in surroundings[0]:
        for id_ in each.turns:
            findings[id_].append(each)
    views, message = list[TurnView](), None
    for turn, rev in zip(turns, surroundings[1], strict=True):
        message = turn.position if turn.role == "user" else message
        answers = message if turn.role == "assistant" else None
        record = records.get(turn.at) if turn.role == "user" else None
        views.append(TurnView(turn=turn, rev=rev, findings=findings[turn.id], record=record, answers=answers))
    return views


async def _find_bounds(visit: Visit, session: Session | None) -> tuple[int, int]:
    """Return the revision at the beginning of a session, or 0 without one, and the latest one."""
    now = visit.service.memory.now()
    moments = [now] if session is None else [session.started_at, now]
    found = await visit.reads.threads.find_revisions(visit.caller.scope, moments)
    return 0 if session is None else int(found[0]), int(found[-1])


def _find_message(turns: Sequence[Turn], position: int) -> Turn | None:
    """Return the user's message that a turn is or answers."""
    before = [each for each in turns if each.position is not None and each.position <= position]
    return next((each for each in reversed(before) if each.role == "user"), None)


def _cut_exchange(turns: Sequence[Turn], message: Turn) -> Sequence[Turn]:
    """Return a message with all that follows until the next one."""
    start = next(place for place, each in enumerate(turns) if each.id == message.id)
    end = next((place for place in range(start + 1, len(turns)) if turns[place].role == "user"), len(turns))
    return turns[start:end]


def _choose_revision(visit: Visit, last: int) -> int:
    """Return the revision that the form asks for: of its two fields the one that was changed. Raises BadInput for one
    that is not reached."""
    typed, slid, was = (read_number(visit, name, last) for name in ("rev", "slide", "was"))
    has_slid = "slide" in visit.request.query_params and slid != was and typed == was
    rev = slid if has_slid else typed
    if rev > last:
        raise BadInput(f"rev: revision {rev} given, the memory is at {last}")
    return rev


def read_session(visit: Visit) -> str:
    """Return the session that the address names. Raises NotFound without one, Denied for a token of some agents."""
    visit.caller.check_unlimited()
    session = visit.request.query_params.get("id")
    if session is None:
        raise NotFound
    return session


def read_number(visit: Visit, name: str, default: int = 0) -> int:
    """Return a whole number of the address. Raises BadInput."""
    text = visit.request.query_params.get(name, "").strip() or str(default)
    if not (text.isascii() and text.isdigit()) or int(text[:12]) > _MAX_NUMBER:
        raise BadInput(f"{name}: a whole number of 0 or more wanted")
    return int(text)


def _write_list_command(visit: Visit, text: str, kept: Mapping[str, str]) -> str:
    if text:
        return f"muniment sessions search {shlex.quote(text)} --user {visit.shell_owner}"
    words = [f"--{name} {shlex.quote(value)}" for name, value in kept.items() if name != "state"]
    words += [f"--{kept['state']}"] if kept.get("state") in ("open", "ended") else []
    return " ".join(["muniment sessions list --user", visit.shell_owner, *words])


AREA = Area(name="threads", path="/threads", place=50)
routes: list[Route] = [
    make_page("/threads", show_threads),
    make_page("/threads/thread", show_thread),
    make_page("/threads/reply", show_reply),
    make_page("/threads/then", show_then),
]
