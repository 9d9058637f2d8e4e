"""What the memories say slot by slot: the profile, the episodes, and the skills with their review."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query, Response

from muniment.faces.http.access import Caller, Reader, Writer
from muniment.faces.http.answers import ProjectionsAnswer, ReceiptAnswer
from muniment.faces.http.bodies import MAX_COUNT, ReviewBody, StrictRoute
from muniment.faces.http.errors import ERROR_RESPONSES, make_response
from muniment.memory import codec, query_codec
from muniment.memory.domain.layers.projections import ProjectionStatus

router = APIRouter(prefix="/v1", tags=["projections"], route_class=StrictRoute, responses=ERROR_RESPONSES)
_CURRENT: tuple[ProjectionStatus, ...] = ("active", "conflict")
_Limit = Annotated[int, Query(ge=1, le=1000)]
_Offset = Annotated[int, Query(ge=0, le=MAX_COUNT)]
_AsOf = Annotated[str | None, Query(description="A revision, or an ISO date or time in UTC.")]


@router.get("/user-memory/profile", response_model=ProjectionsAnswer)
async def read_profile(caller: Reader, as_of: _AsOf = None, limit: _Limit = 100, offset: _Offset = 0) -> Response:
    """Return the profile, slot by slot; where two memories that are trusted alike contradict each other, both."""
    return await _list_projections(caller, "user_profile", _CURRENT, limit, offset, as_of)


@router.get("/user-memory/episodes", response_model=ProjectionsAnswer)
async def list_episodes(caller: Reader, as_of: _AsOf = None, limit: _Limit = 100, offset: _Offset = 0) -> Response:
    """Return the dated events."""
    return await _list_projections(caller, "episode", _CURRENT, limit, offset, as_of)


@router.get("/skill-proposals", response_model=ProjectionsAnswer)
async def list_skill_proposals(
    caller: Reader,
    status: Annotated[
        list[ProjectionStatus] | None, Query(description="Else what is published (active), and what waits (pending).")
    ] = None,
    limit: _Limit = 100,
    offset: _Offset = 0,
) -> Response:
    """Return the skills that agents have found out."""
    statuses = tuple(status or (*_CURRENT, "pending"))
    return await _list_projections(caller, "skill_proposal", statuses, limit, offset)


@router.post("/skill-proposals/{skill_id}/review", response_model=ReceiptAnswer)
async def review_skill(
    skill_id: Annotated[str, Path(description="The id of a skill or of its memory, or its beginning.")],
    body: ReviewBody,
    caller: Writer,
) -> Response:
    """Publish a skill that waits or was rejected, or reject one that waits or is published."""
    caller.check_unlimited()
    review = caller.service.memory.projections.review_skill
    receipt = await caller.write_once(review, skill_id, publish=body.decision == "publish")
    return make_response(codec.encode_receipt(receipt))


async def _list_projections(
    caller: Caller,
    type_: str,
    statuses: tuple[ProjectionStatus, ...],
    limit: int,
    offset: int,
    as_of: str | None = None,
) -> Response:
    moment = None if as_of is None else query_codec.parse_as_of(as_of)
    found = await caller.service.memory.projections.list(
        caller.scope,
        types=(type_,),
        statuses=statuses,
        limit=limit,
        offset=offset,
        as_of=moment,
        allowed=caller.allowed,
    )
    more = {"next": offset + limit} if len(found) == limit else {}
    return make_response({"offset": offset, **more, "projections": [codec.encode_record(each) for each in found]})
