"""The application of the proxy: what each address does, behind what stands before all of them."""

from __future__ import annotations

from starlette.types import ASGIApp, Receive, Scope, Send

from muniment.faces.proxy.errors import Refusal
from muniment.faces.proxy.guard import Guard, is_administration
from muniment.faces.proxy.handling import Handling
from muniment.faces.proxy.incoming import Incoming
from muniment.faces.proxy.service import ProxyService


def create_app(service: ProxyService, admin: ASGIApp | None = None) -> ASGIApp:
    """Return the application of a service, whose parts are open while it runs. It may be mounted below any path.

    `admin` answers what is below `/v1/admin/`; its requests have the `grant` of an administrator in their state."""

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        incoming: Incoming | None = scope["state"]["incoming"]
        if admin is not None and is_administration(scope):
            await admin(scope, receive, send)
        elif incoming is None:
            raise Refusal(404, "not_found", "There is no such address.")
        else:
            await Handling(service=service, incoming=incoming).answer_request(send)

    return Guard(answer, service)
