"""The application: the routes, behind what stands before all of them."""

from __future__ import annotations

from fastapi import FastAPI, Request, Response
from starlette.types import ASGIApp

from muniment import __version__
from muniment.faces.gateway.caller import TooManyRequests
from muniment.faces.gateway.routes import memories, router
from muniment.faces.http.errors import add_handlers, make_error
from muniment.faces.http.guard import Guard
from muniment.faces.http.service import Service

_DESCRIPTION = (
    "The memory of a user behind three routes, for hosts of agents. Each request has in its body whose it is: "
    "`user_id`, and `user_key` of `muniment gateway user create`."
)


def create_app(service: Service) -> ASGIApp:
    """Return the application of a service, whose parts are open while it runs. It may be mounted below any path."""
    app = FastAPI(
        title="Muniment gateway",
        version=__version__,
        description=_DESCRIPTION,
        docs_url=None,  # its pages load scripts from elsewhere
        redoc_url=None,
        redirect_slashes=False,
    )
    app.state.service = service
    add_handlers(app, [*memories.routes, *router.routes], names_unknown=True)
    app.add_exception_handler(TooManyRequests, _answer_too_many)
    app.include_router(memories)
    app.include_router(router)
    return Guard(app, service, needs_token=False)


async def _answer_too_many(_: Request, error: Exception) -> Response:
    seconds = error.data["seconds"] if isinstance(error, TooManyRequests) else 1
    return make_error(429, "TooManyRequests", str(error), headers={"Retry-After": str(seconds)})
