"""Former addresses of pages: a browser is sent on to the console."""

from __future__ import annotations

from fastapi import APIRouter, Response
from starlette.responses import RedirectResponse

router = APIRouter(include_in_schema=False)
_PERMANENT = 308


@router.get("/config")
async def find_settings() -> Response:
    """Send a browser to the settings."""
    return RedirectResponse("/console/settings", _PERMANENT)


@router.get("/config/login")
async def find_login() -> Response:
    """Send a browser to the login."""
    return RedirectResponse("/console/login", _PERMANENT)


@router.get("/config/plugin")
async def find_plugin() -> Response:
    """Send a browser to what the plugin of hosts did."""
    return RedirectResponse("/console/machines/plugin", _PERMANENT)
