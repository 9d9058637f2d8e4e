"""The addresses of the page. They are no part of the API: a browser alone goes there."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from urllib.parse import parse_qsl
from uuid import UUID

from fastapi import APIRouter, Request, Response
from pydantic import SecretStr
from starlette.datastructures import MultiDict
from starlette.responses import RedirectResponse

from muniment.faces.http.errors import find_status
from muniment.faces.http.operator import check_operator
from muniment.faces.http.page import login, render
from muniment.faces.http.service import Service, get_service
from muniment.memory.bootstrap.plugin_accounts import make_plugin_accounts
from muniment.memory.config.stages import STAGES
from muniment.memory.errors import BadInput, Conflict, MunimentError, NotPermitted
from muniment.plugin.book.engine_book import EngineBook

router = APIRouter(prefix=login.PATH, include_in_schema=False)
_FORM = "application/x-www-form-urlencoded"
_MAX_FIELDS = 1_000
_PLUGIN_DAYS = 30
_REV_DIGITS = 18  # of a revision, which is a bigint
_LOGGED_OUT = "Log in first; a login holds for eight hours, and no longer than its token."
_STRANGE = "This form is not of your login: log in, and try again."
_NO_TOKEN = "The token is not known, or it is revoked or has expired."  # noqa: S105 - words about tokens


@router.get("")
async def show_page(request: Request) -> Response:
    """Show the settings, or without a login the form for one."""
    service = get_service(request)
    if await _find_login(request, service) is None:
        return render.render_login()
    notice = request.query_params.get("changed", "")
    return await _show(request, service, notice=notice if notice in STAGES else "")


@router.get("/plugin")
async def show_plugin(request: Request) -> Response:
    """Show what the plugin of hosts did in a month, or without a login the form for one."""
    service = get_service(request)
    if await _find_login(request, service) is None:
        return render.render_login()
    tenant, accounts = service.settings.tenant, make_plugin_accounts(service.memory)
    since = service.tokens.clock.now() - timedelta(days=_PLUGIN_DAYS)
    stats = await EngineBook(accounts).read_stats(tenant, None, since)
    return render.render_plugin(stats, tenant, _PLUGIN_DAYS)


@router.post("/login")
async def log_in(request: Request) -> Response:
    """Check a token, and remember its login in a cookie."""
    service, form = get_service(request), await _read_form(request)
    if not login.is_same_site(request):
        return render.render_login(_STRANGE, 403)
    grant = await service.tokens.find_grant(SecretStr(form.get("token", "").strip()))
    if grant is None:
        return render.render_login(_NO_TOKEN, 401)
    try:
        check_operator(grant, service)
    except NotPermitted as error:
        return render.render_login(f"{error}", 403)
    response = RedirectResponse(login.PATH, 303)
    value = login.make_cookie(grant.id, service.tokens.key, service.tokens.clock.now())
    login.set_cookie(response, request, value)
    return response


@router.post("/logout")
async def log_out(request: Request) -> Response:
    """Forget the login of this browser."""
    service, form = get_service(request), await _read_form(request)
    if not _is_own(request, service, form):
        return render.render_login(_STRANGE, 403)
    response = RedirectResponse(login.PATH, 303)
    login.drop_cookie(response)
    return response


@router.post("")
async def change_settings(request: Request) -> Response:
    """Change the fields of a stage whose text was changed, all or none."""
    service, form = get_service(request), await _read_form(request)
    token = await _find_login(request, service)
    if token is None:
        return render.render_login(_LOGGED_OUT, 401)
    if not _is_own(request, service, form):
        return render.render_login(_STRANGE, 403)
    stage = next((each for each in STAGES if each == form.get("stage")), None)
    door = service.memory.configuration
    if stage is None or not form.get("rev", "").isascii() or not form.get("rev", "").isdigit():
        return await _show(request, service, problem="The form is not whole.", status=422)
    resets = form.getlist("reset")
    view = await door.read_settings()
    texts = {key: text for key, text in render.find_typed(stage, view.settings, form).items() if key not in resets}
    try:
        values = {key: door.parse_value(key, text) for key, text in texts.items()}
        if values or resets:
            rev = int(form["rev"][:_REV_DIGITS])
            await door.change_settings(values, resets, by=f"token {token}", expected_rev=rev)
    except (BadInput, Conflict) as error:
        typed = texts if isinstance(error, BadInput) else {}
        key, status = str(error.data.get("key", "")), find_status(type(error))
        return await _show(request, service, typed=typed, problem=_capitalise(error), place=key, status=status)
    return RedirectResponse(f"{login.PATH}?changed={stage}#{stage}", 303)


async def _show(request: Request, service: Service, **shown: Any) -> Response:
    door = service.memory.configuration
    keys = {each.key: each for each in door.list_keys()}
    form_key = login.make_form_key(request.cookies.get(login.COOKIE, ""), service.tokens.key)
    return render.render_settings(await door.read_settings(), keys, form_key, **shown)


async def _find_login(request: Request, service: Service) -> UUID | None:
    """Return the id of the token that is logged in and still valid."""
    tokens = service.tokens
    id_ = login.read_cookie(request.cookies.get(login.COOKIE), tokens.key, tokens.clock.now())
    return id_ if id_ is not None and await tokens.is_valid(id_) else None


def _is_own(request: Request, service: Service, form: MultiDict) -> bool:
    cookie = request.cookies.get(login.COOKIE, "")
    return login.is_own_form(request, form.get("form_key", ""), cookie, service.tokens.key)


async def _read_form(request: Request) -> MultiDict:
    """Return the fields of a form. Raises BadInput for a body that is none."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != _FORM:
        raise BadInput(f"body: send a form ({_FORM})")
    try:
        text = (await request.body()).decode()
        return MultiDict(parse_qsl(text, keep_blank_values=True, max_num_fields=_MAX_FIELDS))
    except ValueError:
        raise BadInput("body: is not a form, or has too many fields") from None


def _capitalise(error: MunimentError) -> str:
    text = str(error)
    return text if error.data.get("key") else f"{text[:1].upper()}{text[1:]}."
