"""The settings by stages, for who operates the installation: what is in force, since when and by whom, and changes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from starlette.responses import Response
from starlette.routing import Route

from muniment.faces.console.areas import Area
from muniment.faces.console.forms import Form
from muniment.faces.console.visits import Visit, make_action, make_page
from muniment.faces.http.errors import find_status
from muniment.memory.config.changes import SettingState, Stage
from muniment.memory.config.stages import STAGES, SettingKey
from muniment.memory.errors import BadInput, Conflict, NotFound

_HISTORY = 50
_REV_DIGITS = 18  # of a revision, which is a bigint


async def show_stages(visit: Visit) -> Response:
    """Show the stages, and who changed what."""
    visit.require_operator()
    door = visit.service.memory.configuration
    view = await door.read_settings()
    history = await door.read_history(None, _HISTORY)
    stages = [
        (
            stage,
            sum(each.stage == stage for each in view.settings),
            sum(each.stage == stage and each.source == "override" for each in view.settings),
        )
        for stage in STAGES
    ]
    changes = [(each, format_value(each.former), format_value(each.value)) for each in history]
    return visit.render_page("settings.html", view=view, stages=stages, changes=changes)


async def show_stage(visit: Visit) -> Response:
    """Show the settings of a stage in a form."""
    return await _render_stage(visit, _find_stage(visit))


async def change_stage(visit: Visit, form: Form) -> Response:
    """Change the fields of a stage whose text was changed, all or none."""
    stage, door = _find_stage(visit), visit.service.memory.configuration
    rev = form.get("rev")
    if not rev.isascii() or not rev.isdigit():
        raise BadInput("rev: is missing, or no revision of the settings")
    resets = form.list_values("reset", most=200)
    view = await door.read_settings(stage)
    typed = {key: text for key, text in find_typed(view.settings, form.fields).items() if key not in resets}
    try:
        values = {key: door.parse_value(key, text) for key, text in typed.items()}
        if not values and not resets:
            return visit.redirect_to(f"/settings/{stage}", "settings.notice.unchanged")
        by = visit.require_operator().name
        changes = await door.change_settings(values, resets, by=by, expected_rev=int(rev[:_REV_DIGITS]))
    except (BadInput, Conflict) as error:
        kept = typed if isinstance(error, BadInput) else {}
        place, status = str(error.data.get("key", "")), find_status(type(error))
        return await _render_stage(visit, stage, typed=kept, problem=str(error), place=place, status=status)
    return visit.redirect_to(f"/settings/{stage}", "settings.notice.changed", n=len(changes))


async def _render_stage(
    visit: Visit,
    stage: Stage,
    *,
    typed: Mapping[str, str] | None = None,
    problem: str = "",
    place: str = "",
    status: int = 200,
) -> Response:
    """Return the page of a stage. `typed` is what a form had that was refused, `problem` why, `place` at which key."""
    door = visit.service.memory.configuration
    view = await door.read_settings(stage)
    keys = {each.key: each for each in door.list_keys(stage)}
    fields = [_make_field(each, keys[each.key], typed or {}) for each in view.settings]
    return visit.render_page(
        "settings_stage.html", status, stage=stage, view=view, fields=fields, problem=problem, place=place
    )


def _find_stage(visit: Visit) -> Stage:
    """Return the stage that the address names. Raises NotPermitted, NotFound."""
    visit.require_operator()
    stage = next((each for each in STAGES if each == visit.request.path_params["stage"]), None)
    if stage is None:
        raise NotFound
    return stage


def format_value(value: Any) -> str:
    """Return a value as it is typed."""
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def find_typed(states: tuple[SettingState, ...], fields: Mapping[str, str]) -> dict[str, str]:
    """Return what a form changes: the fields whose text is another than that of the value in force."""
    return {
        each.key: fields[each.key]
        for each in states
        if each.key in fields and fields[each.key].strip() != format_value(each.value)
    }


def _make_field(state: SettingState, key: SettingKey, typed: Mapping[str, str]) -> dict[str, Any]:
    kinds = key.schema.get("anyOf", [key.schema])
    choices = [str(each) for kind in kinds for each in kind.get("enum", ())]
    if any(kind.get("type") == "boolean" for kind in kinds):
        choices = ["true", "false"]
    text = typed.get(state.key, format_value(state.value))
    return {
        "state": state,
        "text": text,
        "usual": format_value(state.default),
        "choices": [*choices, *([] if text in choices else [text])] if choices else [],
    }


AREA = Area(name="settings", path="/settings", place=80, permission="admin", for_operators=True)
routes: list[Route] = [
    make_page("/settings", show_stages, permission="admin", needs_user=False),
    make_page("/settings/{stage}", show_stage, permission="admin", needs_user=False),
    make_action("/settings/{stage}", change_stage, permission="admin", needs_user=False),
]
