"""Single memories and lists of them: read, kept, changed, forgotten, restored."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Response

from muniment.faces.http.access import Caller, Reader, Writer
from muniment.faces.http.answers import ErasureAnswer, HistoryAnswer, MemoriesAnswer, ReceiptAnswer
from muniment.faces.http.bodies import MAX_COUNT, MemoryBody, PatchBody, StrictRoute
from muniment.faces.http.errors import ERROR_RESPONSES, make_response
from muniment.faces.http.routes.erasure import erase_for_good
from muniment.memory import codec, query_codec
from muniment.memory.domain.ids import Revision
from muniment.memory.domain.memory import Kind, State, StoredMemory, Trust
from muniment.memory.domain.plan import Receipt
from muniment.memory.domain.query import ListRequest
from muniment.memory.errors import BadInput

router = APIRouter(tags=["memories"], route_class=StrictRoute, responses=ERROR_RESPONSES)
MAX_PAGE = 1000
MAX_REVISION = 2**63 - 1
_Id = Annotated[str, Path(description="A memory's id, or its beginning of four characters or more.")]
_Limit = Annotated[int, Query(ge=1, le=MAX_PAGE)]
_AsOf = Annotated[str | None, Query(description="A revision, or an ISO date or time in UTC.")]


@router.get("/memories", response_model=MemoriesAnswer)
async def list_memories(
    caller: Reader,
    category: Annotated[list[str] | None, Query()] = None,
    kind: Annotated[list[Kind] | None, Query()] = None,
    state: Annotated[list[State] | None, Query(description="Else active.")] = None,
    trust: Annotated[list[Trust] | None, Query()] = None,
    pinned: bool | None = None,
    tag: str | None = None,
    contains: Annotated[str | None, Query(description="In the text, whatever the case.")] = None,
    since: Annotated[str | None, Query(description="Changed then or later.")] = None,
    until: Annotated[str | None, Query(description="Changed then or earlier; a date means its end.")] = None,
    source: Annotated[str | None, Query(description="The name or address of what it comes from.")] = None,
    session_id: Annotated[str | None, Query(description="Said in this session.")] = None,
    agent_id: Annotated[str | None, Query(description="Said through this agent.")] = None,
    session: Annotated[str | None, Query(description="What is found in this session, too.")] = None,
    everywhere: Annotated[bool, Query(description="What is found anywhere, and what has expired, too.")] = False,
    as_of: _AsOf = None,
    limit: _Limit = 100,
    offset: Annotated[int, Query(ge=0, le=MAX_COUNT)] = 0,
) -> Response:
    """Return a page of memories, newest change first. `next` is the offset of the page that follows."""
    caller.check_categories(category or ())
    categories = tuple(category or (sorted(caller.allowed) if caller.grant.agents else ()))
    listing = ListRequest(
        categories=categories,
        kinds=tuple(kind or ()),
        trusts=tuple(trust or ()),
        states=tuple(state or ("active",)),
        pinned=pinned,
        tag=tag,
        contains=contains,
        source=source,
        session_id=session_id,
        agent_id=agent_id,
        since=None if since is None else query_codec.parse_time(since, "since"),
        until=None if until is None else query_codec.parse_end_time(until, "until"),
        everywhere=everywhere,
        limit=limit,
        offset=offset,
    )
    moment = None if as_of is None else query_codec.parse_as_of(as_of)
    page = await caller.service.memory.list_page(caller.make_scope(session=session), listing, as_of=moment)
    after = offset + len(page.memories)
    more = {"next": after} if page.memories and after < page.total else {}
    memories = [codec.encode_record(memory) for memory in page.memories]
    return make_response({"rev": page.rev, "total": page.total, "offset": offset, **more, "memories": memories})


@router.post("/memories", response_model=ReceiptAnswer, responses={201: {"model": ReceiptAnswer}})
async def remember_text(body: MemoryBody, caller: Writer) -> Response:
    """Keep a text. 201 with the receipt where a memory is new, 200 where one was changed or known already."""
    if body.category is not None:
        caller.check_categories((body.category,))
    remember = caller.service.memory.remember
    scope = caller.make_scope(app=body.app, session=body.session)
    placed: dict[str, Any] = body.model_dump(include={"reach", "source"}, exclude_defaults=True)
    if body.expires_at is not None:
        placed["expires_at"] = query_codec.parse_time(body.expires_at, "expires_at")
    given = {"category": body.category, "aliases": tuple(body.aliases), **placed}
    receipt = await caller.write_once(remember, body.text, scope=scope, **given)
    is_new = any(change.action == "ADD" for change in receipt.changes)
    return _make_receipt(caller, receipt, 201 if is_new else 200)


@router.get("/memories/{memory_id}", response_model=StoredMemory)
async def get_memory(memory_id: _Id, caller: Reader, as_of: _AsOf = None) -> Response:
    """Return a memory with all that is known about it, whatever its state; with `as_of` as it was."""
    memory = await caller.find_memory(memory_id)
    if as_of is not None:
        moment = query_codec.parse_as_of(as_of)
        memory = await caller.service.memory.get(caller.scope, memory.id, as_of=moment)
    return make_response(codec.encode_record(memory))


@router.patch("/memories/{memory_id}", response_model=ReceiptAnswer)
async def change_memory(memory_id: _Id, body: PatchBody, caller: Writer) -> Response:
    """Pin or unpin a memory, or change its words, its category, its importance or its other names by hand.

    With `rev` a memory that has changed since it was seen stays as it is: 409."""
    parts = body.model_dump(include={"text", "category", "importance", "aliases"}, exclude_none=True)
    if (body.pinned is None) == (not parts):
        raise BadInput("body: give either pinned, or any of text, category, importance and aliases")
    if body.category is not None:
        caller.check_categories((body.category,))
    id_, memory = await caller.find_id(memory_id), caller.service.memory
    if parts.keys() == {"aliases"} and body.rev is None:
        return _make_receipt(caller, await caller.write_once(memory.set_aliases, id_, body.aliases))
    if parts:
        receipt = await caller.write_once(memory.edits.change_memory, id_, **parts, expected_rev=body.rev)
        return _make_receipt(caller, receipt)
    return _make_receipt(caller, await caller.write_once(memory.pin, id_, pinned=bool(body.pinned)))


@router.delete("/memories/{memory_id}", response_model=ReceiptAnswer | ErasureAnswer)
async def forget_memory(
    memory_id: _Id,
    caller: Writer,
    hard: Annotated[bool, Query(description="For good, with all that says it elsewhere.")] = False,
) -> Response:
    """Forget a memory: no answer has it, and it can be restored until it is purged.

    With `hard` it is gone for good, former texts included, and so is what says it elsewhere: turns that it comes from
    or that repeat it, memories that were made of it, and the checkpoints of threads in which it was said or recalled.
    """
    id_ = await caller.find_id(memory_id)
    if hard:
        return await erase_for_good(caller, id_)
    return _make_receipt(caller, await caller.write_once(caller.service.memory.forget, id_))


@router.post("/memories/{memory_id}/restore", response_model=ReceiptAnswer)
async def restore_memory(
    memory_id: _Id,
    caller: Writer,
    version: Annotated[
        int | None, Query(ge=1, le=MAX_REVISION, description="Let it say again what it said at this revision.")
    ] = None,
) -> Response:
    """Bring a forgotten memory back as it was; or, with `version`, what it said at a revision."""
    id_, memory = await caller.find_id(memory_id), caller.service.memory
    if version is None:
        return _make_receipt(caller, await caller.write_once(memory.restore, id_))
    former = await memory.get(caller.scope, id_, as_of=Revision(version))
    caller.check_categories((former.category,))
    return _make_receipt(caller, await caller.write_once(memory.edits.restore_version, id_, Revision(version)))


@router.put("/memories/{memory_id}/pin", response_model=ReceiptAnswer)
async def pin_memory(memory_id: _Id, caller: Writer) -> Response:
    """Pin a memory: it ranks higher, and its changes are told first."""
    id_ = await caller.find_id(memory_id)
    return _make_receipt(caller, await caller.write_once(caller.service.memory.pin, id_, pinned=True))


@router.delete("/memories/{memory_id}/pin", response_model=ReceiptAnswer)
async def unpin_memory(memory_id: _Id, caller: Writer) -> Response:
    """Take the pin off a memory."""
    id_ = await caller.find_id(memory_id)
    return _make_receipt(caller, await caller.write_once(caller.service.memory.pin, id_, pinned=False))


@router.get("/memory/{memory_id}/history", response_model=HistoryAnswer)
@router.get("/memories/{memory_id}/history", response_model=HistoryAnswer)
async def read_history(memory_id: _Id, caller: Reader, limit: _Limit = 100) -> Response:
    """Return what happened to a memory, newest first."""
    entries = await caller.service.memory.history(caller.scope, await caller.find_id(memory_id), limit)
    visible = [codec.encode_record(entry) for entry in entries if entry.category in caller.allowed]
    return make_response({"history": visible})


def _make_receipt(caller: Caller, receipt: Receipt, status: int = 200) -> Response:
    return make_response(codec.encode_receipt(caller.select_changes(receipt)), status)
