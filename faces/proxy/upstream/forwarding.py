"""A request to the upstream, once, and its answer as it comes."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from http.cookiejar import CookieJar, DefaultCookiePolicy

import httpcore2
import httpx2
from pydantic import SecretStr

from muniment.faces.proxy.errors import Refusal, UpstreamAway
from muniment.faces.proxy.upstream.framing import JoiningBackend

RawHeaders = Sequence[tuple[bytes, bytes]]
_HOP_BY_HOP = frozenset(
    {b"connection", b"keep-alive", b"proxy-authenticate", b"proxy-authorization", b"proxy-connection", b"te",
     b"trailer", b"trailers", b"transfer-encoding", b"upgrade"}
)  # fmt: skip
_OURS_IN_REQUESTS = frozenset({b"host", b"content-length", b"authorization"})
_OURS_IN_ANSWERS = frozenset({b"date", b"server"})  # the server of this process adds its own
_OUR_PREFIX = b"x-muniment-"
_VERSION = re.compile(r"/v\d[^/]*(?:/|$)")  # of an API, as a part of a path
_IDLE_CONNECTIONS, _IDLE_SECONDS = 200, 3.0  # many servers close what is idle for 5 s


class _JoiningTransport(httpx2.AsyncHTTPTransport):
    """A transport whose connections join small chunks."""

    def __init__(self) -> None:
        super().__init__()
        self._pool = httpcore2.AsyncConnectionPool(
            ssl_context=httpx2.create_ssl_context(),
            max_connections=None,
            max_keepalive_connections=_IDLE_CONNECTIONS,
            keepalive_expiry=_IDLE_SECONDS,
            network_backend=JoiningBackend(),
        )


def make_client() -> httpx2.AsyncClient:
    """Return the client of a process. It neither follows nor repeats, keeps no cookie, and has as many connections as
    there are requests."""
    no_cookies = CookieJar(DefaultCookiePolicy(allowed_domains=()))
    return httpx2.AsyncClient(transport=_JoiningTransport(), follow_redirects=False, cookies=no_cookies)


def build_url(base_url: str, path: bytes, query: bytes) -> httpx2.URL:
    """Return the address at the upstream for a path below `/v1`, as the client spelled it.

    A base that names a version of its API, as `/v1` or `/v1beta/…` do, stands for `/v1`; to another one `/v1` is added.
    Raises Refusal for a path that would leave the base."""
    base = httpx2.URL(base_url)
    prefix = base.raw_path.partition(b"?")[0].rstrip(b"/")
    plain = re.sub(rb"%2e", b".", path, flags=re.IGNORECASE).replace(b"\\", b"/")
    if any(part in (b".", b"..") for part in re.split(rb"/|%2f", plain, flags=re.IGNORECASE)):
        raise Refusal(404, "not_found", "There is no such address.")
    rest = path.removeprefix(b"/v1") if _VERSION.search(prefix.decode("latin-1")) else path
    return base.copy_with(raw_path=prefix + rest + (b"?" + query if query else b""))


def choose_request_headers(headers: RawHeaders, client_token: str, api_key: SecretStr) -> list[tuple[bytes, bytes]]:
    """Return the headers that go upstream: the client's own, but those of its connection, its token, and ours."""
    token = client_token.encode("latin-1", "replace")
    kept = [
        (name, value)
        for name, value in _drop_hop_by_hop(headers)
        if name.lower() not in _OURS_IN_REQUESTS
        and not name.lower().startswith(_OUR_PREFIX)
        and (not token or token not in value)
    ]
    return [*kept, (b"authorization", b"Bearer " + api_key.get_secret_value().encode())]


def choose_answer_headers(headers: RawHeaders) -> list[tuple[bytes, bytes]]:
    """Return the headers of an answer that go to the client, as the upstream spelled them."""
    kept = _drop_hop_by_hop(headers)
    return [(name, value) for name, value in kept if name.lower() not in _OURS_IN_ANSWERS]


def _drop_hop_by_hop(headers: RawHeaders) -> list[tuple[bytes, bytes]]:
    named = {
        part.strip().lower() for name, value in headers if name.lower() == b"connection" for part in value.split(b",")
    }
    return [(name, value) for name, value in headers if name.lower() not in _HOP_BY_HOP | named]


@asynccontextmanager
async def open_answer(
    client: httpx2.AsyncClient,
    method: str,
    url: httpx2.URL,
    headers: RawHeaders,
    body: bytes | AsyncIterator[bytes],
    seconds: float,
) -> AsyncIterator[httpx2.Response]:
    """Ask the upstream once, and yield its answer, whose body is not read yet. Raises UpstreamAway where there is none
    within these seconds.

    To leave the context closes the connection unless the answer was read whole."""
    content = body if not isinstance(body, bytes) or body or method in ("POST", "PUT", "PATCH") else None
    request = httpx2.Request(method, url, headers=list(headers), content=content)
    request.extensions["timeout"] = httpx2.Timeout(seconds).as_dict()
    try:
        answer = await client.send(request, stream=True)
    except httpx2.TimeoutException:
        raise UpstreamAway("upstream_timeout", f"it did not answer within {seconds:g} s") from None
    except (httpx2.TransportError, httpx2.InvalidURL, ValueError) as error:
        # The text of the error may have the address, which is the token's own affair.
        raise UpstreamAway("upstream_unreachable", f"it cannot be reached ({type(error).__name__})") from None
    try:
        yield answer
    finally:
        await answer.aclose()
