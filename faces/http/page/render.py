"""The page as HTML: what is shown is escaped, and the browser may load and send nothing but to this service."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from itertools import groupby
from typing import Any

from jinja2 import DictLoader, Environment, StrictUndefined
from starlette.responses import Response

from muniment.memory.config.changes import SettingState, SettingsView, Stage
from muniment.memory.config.stages import STAGES, SettingKey
from muniment.plugin.book import stats_view
from muniment.plugin.domain.book import PluginStats


def render_login(problem: str = "", status: int = 200) -> Response:
    """Return the form for a token."""
    return _render("login.html", status, problem=problem)


def render_settings(
    view: SettingsView,
    keys: Mapping[str, SettingKey],
    form_key: str,
    *,
    typed: Mapping[str, str] | None = None,
    problem: str = "",
    place: str = "",
    notice: str = "",
    status: int = 200,
) -> Response:
    """Return the page of the six stages. `typed` is what a form had that was refused, `problem` why, `place` where."""
    stages = [
        {
            "name": name,
            "title": STAGES[name],
            "fields": [_make_field(each, keys[each.key], typed or {}) for each in states],
        }
        for name, states in groupby(view.settings, key=lambda each: each.stage)
    ]
    opened = keys[place].stage if place in keys else notice
    shown = {"stages": stages, "rev": view.rev, "ignored": view.ignored, "form_key": form_key, "opened": opened}
    return _render("config.html", status, problem=problem, place=place, notice=notice, titles=STAGES, **shown)


def render_plugin(stats: PluginStats, tenant: str, days: int) -> Response:
    """Return the page of what the plugin of hosts did: by policy, why finds were not written, and latency by step."""
    policies = stats_view.list_policy_rows(stats) if stats.turns else []
    tables = [
        {"title": "By policy", "columns": stats_view.COLUMNS, "rows": policies},
        {
            "title": "Not written, by reason",
            "columns": ("reason", "times"),
            "rows": stats_view.list_refusal_rows(stats.refusals),
        },
        {
            "title": "Latency by store and step, in milliseconds",
            "columns": ("step", "median", "p95"),
            "rows": stats_view.list_latency_rows(stats),
        },
    ]
    shown: dict[str, Any] = {"policies": policies, "tables": tables, "tenant": tenant, "days": days}
    return _render("plugin.html", 200, title="Plugin", problem="", **shown)


def format_value(value: Any) -> str:
    """Return a value as it is typed."""
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def find_typed(stage: Stage, states: tuple[SettingState, ...], form: Mapping[str, str]) -> dict[str, str]:
    """Return what a form changes of a stage: the fields whose text is another than that of the value in force."""
    return {
        each.key: form[each.key]
        for each in states
        if each.stage == stage and each.key in form and form[each.key].strip() != format_value(each.value)
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


def _render(name: str, status: int, **shown: Any) -> Response:
    template, style = _load_templates().get_template(name), _read_text("style.css")
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = (
        f"default-src 'none'; style-src 'sha256-{digest}'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    )
    headers = {"Content-Security-Policy": policy, "Referrer-Policy": "same-origin", "X-Frame-Options": "DENY"}
    return Response(
        template.render(**{"title": "Settings", "style": style} | shown), status, headers, "text/html; charset=utf-8"
    )


@cache
def _load_templates() -> Environment:
    texts = {name: _read_text(name) for name in ("frame.html", "login.html", "config.html", "plugin.html")}
    return Environment(
        loader=DictLoader(texts), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )


@cache
def _read_text(name: str) -> str:
    return (files(__package__) / name).read_text(encoding="utf-8")
