"""The OpenAI client of the embedder and the chat model: explicit key and address, failures as ModelError."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

import httpx2
import openai
from pydantic import SecretStr

from muniment.memory.errors import BadModelAnswer, ModelError, ModelRateLimited, ModelTimeout, ModelUnavailable
from muniment.memory.models.connections import make_empty_jar

OPENAI_URL = "https://api.openai.com/v1"
OPENAI_HOST = "api.openai.com"
_NO_KEY = "none"  # a local endpoint needs no key, but the client does
_CONNECT_SECONDS = 5.0
_STATUS_HINTS: Mapping[int, str] = {
    401: ": it refuses the key ({key})",
    403: ": it refuses the key ({key})",
    404: ": it has no such model ({model}) or path ({url})",
}
SLOW = (408, 504)
UNACCEPTABLE = (400, 413, 422)
UNKNOWN_OPTION = (400, 422)
_OPTIONS = ("response_format", "temperature")  # what a refusal may name


@dataclass(frozen=True, slots=True)
class EndpointNames:
    """What an endpoint's key, address and model are called where they are set: errors name them."""

    key: str = "OPENAI_API_KEY"
    url: str = "OPENAI_BASE_URL"
    model: str = "MUNIMENT_MODEL"


SETTINGS = EndpointNames()  # of the installation


def open_connections() -> httpx2.AsyncClient:
    """Return connections that several clients share; whoever opens them closes them.

    They keep no cookie."""
    return openai.DefaultAsyncHttpxClient(cookies=make_empty_jar())


def open_client(
    *,
    api_key: SecretStr,
    base_url: str | None,
    timeout_seconds: float,
    max_retries: int,
    connections: httpx2.AsyncClient | None = None,
) -> openai.AsyncOpenAI:
    """Return a client that takes only its proxies from the process environment.

    An answer may take `timeout_seconds`, a connection at most five: a host that does not answer is known soon. Without
    `connections` it has its own, and closes them."""
    return openai.AsyncOpenAI(
        api_key=api_key.get_secret_value() or _NO_KEY,
        base_url=base_url or OPENAI_URL,
        timeout=make_timeout(timeout_seconds),
        max_retries=max_retries,
        http_client=connections,
    )


def make_timeout(seconds: float) -> openai.Timeout:
    """Return the time that an answer may take; a connection may take five seconds of it."""
    return openai.Timeout(seconds, connect=min(seconds, _CONNECT_SECONDS))


@contextmanager
def translate_errors(model: str, client: openai.AsyncOpenAI, names: EndpointNames = SETTINGS) -> Iterator[None]:
    """Raise failures of the client as ModelError that names the host and what to set, without their cause, which may
    quote the key or the texts."""
    host = _name_host(client)
    if client.api_key == _NO_KEY and client.base_url.host == OPENAI_HOST:
        raise ModelUnavailable(f"{names.key} is empty, and {host} wants a key.", model=model, sent=False)
    try:
        yield
    except RuntimeError:
        if not client.is_closed():
            raise
        # The HTTP library has no error class for a closed client. An earlier attempt may have been sent.
        raise ModelUnavailable(
            "The model's client has been closed.", model=model, sent=client.max_retries > 0
        ) from None
    except openai.APITimeoutError as error:
        raise _build_timeout_error(error, model, client, names) from None
    except openai.APIConnectionError as error:
        # A request that was never sent costs nothing. By name: the client has changed its HTTP library before.
        if type(error.__cause__).__name__ == "ConnectError":
            why = _find_connection_failure(error)
            raise ModelUnavailable(
                f"The model's host {host} cannot be reached: {why} ({names.url}).", model=model, sent=False
            ) from None
        raise ModelUnavailable(f"The model's host {host} has broken off the connection.", model=model) from None
    except openai.RateLimitError as error:
        raise ModelRateLimited(
            f"The model's host {host} asks to slow down.",
            model=model,
            retry_after=_parse_seconds(error.response.headers.get("retry-after")),
        ) from None
    except openai.APIStatusError as error:
        raise _build_status_error(error, model, host, names) from None
    except openai.OpenAIError:
        raise BadModelAnswer(model=model) from None


def _name_host(client: openai.AsyncOpenAI) -> str:
    """The host and the port, without the user and the password that an address may have."""
    url = client.base_url
    return f"{url.host}:{url.port}" if url.port else url.host


def _build_timeout_error(
    error: openai.APITimeoutError, model: str, client: openai.AsyncOpenAI, names: EndpointNames
) -> ModelError:
    host = _name_host(client)
    if type(error.__cause__).__name__ == "ConnectTimeout":
        return ModelUnavailable(f"The model's host {host} does not answer ({names.url}).", model=model, sent=False)
    seconds = client.timeout.read if isinstance(client.timeout, openai.Timeout) else client.timeout
    return ModelTimeout(
        f"The model at {host} has not answered within {seconds:g} seconds (model.timeout_seconds).",
        model=model,
        slow=True,
    )


def _find_connection_failure(error: BaseException) -> str:
    """Why there is no connection, in words of the operating system's error."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, socket.gaierror):
            return "the name is not known"
        if isinstance(cause, OSError) and cause.errno:
            return os.strerror(cause.errno).lower()
        cause = cause.__cause__ or cause.__context__
    return "no connection"


def _build_status_error(error: openai.APIStatusError, model: str, host: str, names: EndpointNames) -> ModelError:
    status = error.status_code
    if status in SLOW:
        return ModelTimeout(f"The model's host {host} answers with status {status}.", model=model, status=status)
    if status in UNACCEPTABLE:
        text = f"{error.message} {error.param or ''}"
        options = {"about": about} if (about := tuple(name for name in _OPTIONS if name in text)) else {}
        return ModelError(
            f"The model's host {host} does not accept the request ({status}).", model=model, status=status, **options
        )
    hint = _STATUS_HINTS.get(status, "").format(key=names.key, url=names.url, model=names.model)
    return ModelUnavailable(f"The model's host {host} answers with status {status}{hint}.", model=model, status=status)


def _parse_seconds(header: str | None) -> float | None:
    """Return `retry-after` in seconds; None for a date, its other form."""
    try:
        return float(header) if header else None
    except ValueError:
        return None
