"""Whether the service lives, what it counts, and what a user's memory holds."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response

from muniment import __version__
from muniment.faces.http.access import Reader
from muniment.faces.http.answers import HealthAnswer, ReadyAnswer, StatsAnswer
from muniment.faces.http.bodies import StrictRoute
from muniment.faces.http.errors import ERROR_RESPONSES, make_error, make_response
from muniment.faces.http.service import get_service
from muniment.memory import codec

router = APIRouter(tags=["operations"], route_class=StrictRoute)
_METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_DOWN: dict[int | str, dict[str, Any]] = {status: ERROR_RESPONSES[status] for status in (405, 500, 503)}


@router.get("/health", response_model=HealthAnswer, responses=_DOWN)
async def show_health() -> Response:
    """Say that the process lives. Needs no token, and asks no database."""
    return make_response({"status": "ok", "version": __version__})


@router.get("/ready", response_model=ReadyAnswer, responses=_DOWN)
async def show_readiness(request: Request) -> Response:
    """Say whether requests are wanted: the database answers, the worker inside runs, and the service does not end.

    Needs no token."""
    if await get_service(request).is_ready():
        return make_response({"status": "ready"})
    return make_error(503, "NotReady", "the database does not answer, the worker has ended, or the service ends")


@router.get("/metrics", response_class=Response, responses={**_DOWN, 200: {"content": {"text/plain": {}}}})
async def show_metrics(request: Request) -> Response:
    """Return numbers and durations of requests for Prometheus. Needs no token: no label names anybody."""
    return Response(get_service(request).metrics.format_text(), headers={"Content-Type": _METRICS_TYPE})


@router.get("/stats", response_model=StatsAnswer, responses=ERROR_RESPONSES)
async def show_stats(caller: Reader, days: Annotated[int, Query(ge=1, le=3650)] = 30) -> Response:
    """Return what the memory of the user holds, and its events of the last days."""
    caller.check_unlimited()
    memory = caller.service.memory
    status, activity = await memory.read_status(caller.scope), await memory.admin.read_activity(caller.scope, days)
    return make_response({"status": codec.encode_value(status), "activity": codec.encode_value(asdict(activity))})
