"""What an operator starts by hand: projections made anew, and old turns that leave the ledger."""

from __future__ import annotations

from fastapi import APIRouter, Response

from muniment.faces.http.answers import CleanupAnswer, RebuildAnswer
from muniment.faces.http.bodies import CleanupBody, StrictRoute
from muniment.faces.http.errors import ERROR_RESPONSES, make_response
from muniment.faces.http.operator import KeeperToken

router = APIRouter(prefix="/v1/admin", tags=["operations"], route_class=StrictRoute, responses=ERROR_RESPONSES)


@router.post("/rebuild", response_model=RebuildAnswer)
async def rebuild_projections(keeper: KeeperToken) -> Response:
    """Make the projections anew from the memories: of the user, or without one of every user of the token's tenant.

    `changed` counts rows that were not as they should have been. Wants a token with the permission `admin`."""
    results = [await keeper.service.memory.projections.rebuild(scope) for scope in await keeper.list_scopes()]
    counts = {name: sum(getattr(each, name) for each in results) for name in ("before", "after", "changed")}
    return make_response({"spaces": len(results), **counts})


@router.post("/cleanup-ledger", response_model=CleanupAnswer)
async def clean_ledger(keeper: KeeperToken, body: CleanupBody | None = None) -> Response:
    """Count the turns and sessions that are past their days, and with `dry_run` false remove them; memories stay.

    It concerns the user, or without one every user of the token's tenant. Wants a token with the permission `admin`."""
    dry = body is None or body.dry_run
    admin = keeper.service.memory.admin
    counts = [await admin.clean_ledger(scope, dry=dry) for scope in await keeper.list_scopes()]
    return make_response(
        {
            "dry_run": dry,
            "spaces": len(counts),
            "turns": sum(each.turns for each in counts),
            "sessions": sum(each.sessions for each in counts),
        }
    )
