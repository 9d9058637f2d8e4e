"""What was said, and what goes before a model."""

from __future__ import annotations

import hashlib
from typing import Annotated, Any

from fastapi import APIRouter, Query, Response

from muniment.faces.http.access import Caller, Reader, Writer
from muniment.faces.http.answers import ContextAnswer, TurnsAnswer
from muniment.faces.http.bodies import StrictRoute, TurnBody, TurnsBody
from muniment.faces.http.errors import ERROR_RESPONSES, make_response
from muniment.memory import codec, query_codec
from muniment.memory.domain.ids import Revision
from muniment.memory.domain.plan import Receipt
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import Turn

router = APIRouter(tags=["conversations"], route_class=StrictRoute, responses=ERROR_RESPONSES)


@router.post("/turns", response_model=TurnsAnswer)
async def learn_turns(body: TurnsBody, caller: Writer) -> Response:
    """Keep what the user says in these turns, and record all of them for the background jobs.

    The receipts are those of the turns with the role `user`, in order. The same turn twice is one write."""
    scope = caller.make_scope(session=body.session, thread=body.thread, app=body.app)
    turns = [_make_turn(caller, scope, each) for each in body.turns]
    memory, receipts = caller.service.memory, list[dict[str, Any]]()

    async def learn_turn(scope: Scope, _: str, index: int) -> Receipt:
        return await memory.learn(scope, turns[index], previous=turns[:index])

    digest = hashlib.sha256(body.model_dump_json().encode()).hexdigest()  # a key is for these turns, all of them
    for index, turn in enumerate(turns):
        if turn.role == "user":
            one = caller.number_key(len(receipts))
            receipt = await one.write_once(learn_turn, digest, index, scope=scope)
            receipts.append({"key": body.turns[index].key, **codec.encode_receipt(caller.select_changes(receipt))})
    await memory.conversation.record(scope, turns)
    return make_response({"receipts": receipts})


@router.get("/context", response_model=ContextAnswer)
async def read_context(
    caller: Reader,
    text: Annotated[str, Query(description="The user's message.")],
    agent: Annotated[str | None, Query(min_length=1, max_length=200, description="Who asks.")] = None,
    thread: Annotated[
        str | None, Query(min_length=1, max_length=200, description="Its header has what changed since it has looked.")
    ] = None,
    session: Annotated[str | None, Query(min_length=1, max_length=200)] = None,
    as_of: Annotated[
        int | None, Query(ge=0, le=2**63 - 1, description="As it would have been at this revision.")
    ] = None,
) -> Response:
    """Return what goes before a model for a message: stable profile, header of changes, and relevant bullets."""
    scope = caller.make_scope(thread=thread, session=session)
    moment = None if as_of is None else Revision(as_of)
    brief = await caller.service.memory.brief(scope, caller.choose_agent(agent), text, as_of=moment)
    encoded = {
        "rev": brief.rev,
        "stable": brief.stable,
        "header": brief.header,
        "bullets": list(brief.bullets),
        "moving": brief.moving,
    }
    return make_response(encoded | ({"degraded": True} if brief.degraded else {}))


def _make_turn(caller: Caller, scope: Scope, body: TurnBody) -> Turn:
    return Turn.make(
        session=scope.session or "",
        key=body.key,
        role=body.role,
        text=body.text,
        at=caller.service.memory.now() if body.at is None else query_codec.parse_time(body.at, "at"),
        thread=scope.thread,
        actor=scope.actor,
        path=body.path,
        tags=tuple(body.tags),
        kind=body.kind,
        payload=body.payload,
        visible=body.visible,
    )
