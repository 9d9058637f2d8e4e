"""What goes wrong, as a page in the layout: it says what to do, and nothing of anybody else."""

from __future__ import annotations

import math
from urllib.parse import quote

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from muniment.faces.console.rendering import make_address, render_page
from muniment.faces.console.visits import NotSignedIn, NoUser, TooManyRequests, choose_texts
from muniment.faces.http.errors import find_status, list_methods
from muniment.faces.serving.request_ids import REQUEST_ID
from muniment.memory.errors import MunimentError, NotFound

_PAGES = frozenset({400, 401, 403, 404, 405, 409, 413, 422, 429, 500, 503})
_HIDDEN = frozenset({404, 500})  # whose words are always the same


async def answer_error(request: Request, error: Exception) -> Response:
    """Answer an error of the engine, or of the framework, with its page."""
    if isinstance(error, NotSignedIn):
        return RedirectResponse(make_address("/login", next=_find_next(request)), 303)
    if isinstance(error, NoUser):
        return RedirectResponse(make_address("/users"), 303)
    if isinstance(error, TooManyRequests):
        seconds = math.ceil(error.data.get("seconds", 1))
        response = render_failure(request, 429)
        response.headers["Retry-After"] = str(seconds)
        return response
    if isinstance(error, MunimentError):
        return render_failure(request, find_status(type(error)), "" if isinstance(error, NotFound) else str(error))
    response = render_failure(request, error.status_code if isinstance(error, HTTPException) else 500)
    if response.status_code == 405:
        response.headers["Allow"] = ", ".join(list_methods(request, request.app.routes))
    return response


def render_failure(request: Request, status: int, detail: str = "") -> Response:
    """Return the page of a status; `detail` is what the engine says of it."""
    shown = status if status in _PAGES else 500
    words = "" if shown in _HIDDEN else " ".join(detail.split())
    return render_page(
        "failure.html", choose_texts(request), status, code=shown, detail=words, request_id=REQUEST_ID.get(), visit=None
    )


def _find_next(request: Request) -> str | None:
    """Return where a visitor wanted to go; None for the first page, and where a form was sent."""
    path, query = request.scope["path"], request.scope["query_string"].decode("latin-1")
    if request.method != "GET" or (path == "/" and not query):
        return None
    return quote(path, safe="/") + (f"?{query}" if query else "")
