"""The settings by stages, which every process follows when they change."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Response

from muniment.faces.http.answers import SettingChangesAnswer, SettingsAnswer, SettingsChangedAnswer
from muniment.faces.http.bodies import SettingsBody, StrictRoute
from muniment.faces.http.errors import ERROR_RESPONSES, make_response
from muniment.faces.http.operator import OperatorToken
from muniment.memory.config.changes import Stage, encode_changes, encode_settings
from muniment.memory.config.stages import STAGES

router = APIRouter(prefix="/v1/config", tags=["configuration"], route_class=StrictRoute, responses=ERROR_RESPONSES)
_Stage = Annotated[Stage | None, Query(description="Only the settings of this stage.")]


@router.get("", response_model=SettingsAnswer)
async def show_settings(operator: OperatorToken, stage: _Stage = None) -> Response:
    """Return the settings in force by stages: their values, where these come from, and what each allows.

    Wants a token with the permission `admin` that speaks for no single user."""
    view = await operator.service.memory.configuration.read_settings(stage)
    return make_response(encode_settings(view, STAGES))


@router.put("", response_model=SettingsChangedAnswer)
async def change_settings(body: SettingsBody, operator: OperatorToken) -> Response:
    """Change settings for every process, all of the body or none: they follow within half a minute.

    With `rev` the settings have to be at this revision still, else the answer is 409; without, the last writer wins,
    and the history has both. A value that is not allowed is refused with its key and what is."""
    changes = await operator.service.memory.configuration.change_settings(
        body.values, body.reset, by=operator.name, expected_rev=body.rev
    )
    return make_response({"rev": changes[0].rev, "changes": encode_changes(changes)})


@router.get("/history", response_model=SettingChangesAnswer)
async def show_history(
    operator: OperatorToken, stage: _Stage = None, limit: Annotated[int, Query(ge=1, le=1000)] = 100
) -> Response:
    """Return the latest changes of the settings, newest first: when, by whom, from what to what."""
    changes = await operator.service.memory.configuration.read_history(stage, limit)
    return make_response({"changes": encode_changes(changes)})
