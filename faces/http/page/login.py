"""Who is logged in to the page: a signed cookie, without the token that was shown for it.

The cookie names the token by its id and says until when it holds. With each request it is looked up whether the token
is still valid, so that a revocation logs out. A form has a second signature, which no other site can know."""

from __future__ import annotations

import hashlib
import hmac
from datetime import datetime, timedelta
from urllib.parse import urlsplit
from uuid import UUID

from pydantic import SecretBytes
from starlette.requests import Request
from starlette.responses import Response

COOKIE = "muniment_config"
PATH = "/config"
_SPAN = timedelta(hours=8)


def make_cookie(token_id: UUID, key: SecretBytes, now: datetime) -> str:
    """Return the value of the cookie of a token whose grant was checked."""
    payload = f"{token_id}.{int((now + _SPAN).timestamp())}"
    return f"{payload}.{_sign(key, 'login', payload)}"


def read_cookie(value: str | None, key: SecretBytes, now: datetime) -> UUID | None:
    """Return the id of the token that a cookie is for; None for one that is missing, forged or over."""
    payload, _, signature = (value or "").rpartition(".")
    if not hmac.compare_digest(signature.encode(), _sign(key, "login", payload).encode()):
        return None
    id_, _, until = payload.partition(".")
    return UUID(id_) if int(until) > now.timestamp() else None


def make_form_key(cookie: str, key: SecretBytes) -> str:
    """Return what each form of this login has in it."""
    return _sign(key, "form", cookie)


def is_own_form(request: Request, given: str, cookie: str, key: SecretBytes) -> bool:
    """Whether a form comes from a page of this login."""
    return is_same_site(request) and hmac.compare_digest(given.encode(), make_form_key(cookie, key).encode())


def is_same_site(request: Request) -> bool:
    """Whether a browser says that the request comes from this site, or says nothing."""
    origin = request.headers.get("origin")
    if origin is not None and urlsplit(origin).netloc != request.headers.get("host"):
        return False
    return request.headers.get("sec-fetch-site", "same-origin") in ("same-origin", "none")


def set_cookie(response: Response, request: Request, value: str) -> None:
    """Give the browser the cookie: no script reads it, no other site sends it, and where it came by TLS, nothing else
    does."""
    secure = "https" in (request.url.scheme, request.headers.get("x-forwarded-proto"))
    response.set_cookie(
        COOKIE, value, max_age=int(_SPAN.total_seconds()), path=PATH, secure=secure, httponly=True, samesite="strict"
    )


def drop_cookie(response: Response) -> None:
    """Take the cookie back."""
    response.delete_cookie(COOKIE, path=PATH, httponly=True, samesite="strict")


def _sign(key: SecretBytes, purpose: str, text: str) -> str:
    message = f"muniment config page: {purpose}\0{text}".encode()
    return hmac.new(key.get_secret_value(), message, hashlib.sha256).hexdigest()
