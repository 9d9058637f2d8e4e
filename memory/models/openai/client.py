"""The OpenAI client of the embedder and the chat model: explicit key and address, failures as ModelError."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import openai
from pydantic import SecretStr

from muniment.memory.errors import BadModelAnswer, ModelError, ModelRateLimited, ModelTimeout, ModelUnavailable

OPENAI_URL = "https://api.openai.com/v1"
SLOW = (408, 504)
UNACCEPTABLE = (400, 413, 422)
UNKNOWN_OPTION = (400, 422)
_OPTIONS = ("response_format", "temperature")  # what a refusal may name


def open_client(
    *, api_key: SecretStr, base_url: str | None, timeout_seconds: float, max_retries: int
) -> openai.AsyncOpenAI:
    """Return a client that takes only its proxies from the process environment."""
    return openai.AsyncOpenAI(
        api_key=api_key.get_secret_value() or "none",
        base_url=base_url or OPENAI_URL,
        timeout=timeout_seconds,
        max_retries=max_retries,
    )


@contextmanager
def translate_errors(model: str, client: openai.AsyncOpenAI) -> Iterator[None]:
    """Raise failures of the client as ModelError, without their cause, which may quote the key or the texts."""
    try:
        yield
    except RuntimeError:
        if not client.is_closed():
            raise
        # The HTTP library has no error class for a closed client. An earlier attempt may have been sent.
        raise ModelUnavailable(
            "The model's client has been closed.", model=model, sent=client.max_retries > 0
        ) from None
    except openai.APITimeoutError:
        raise ModelTimeout(model=model) from None
    except openai.APIConnectionError as error:
        # A request that was never sent costs nothing. By name: the client has changed its HTTP library before.
        if type(error.__cause__).__name__ == "ConnectError":
            raise ModelUnavailable(model=model, sent=False) from None
        raise ModelUnavailable(model=model) from None
    except openai.RateLimitError as error:
        raise ModelRateLimited(
            model=model, retry_after=_parse_seconds(error.response.headers.get("retry-after"))
        ) from None
    except openai.APIStatusError as error:
        raise _build_status_error(error, model) from None
    except openai.OpenAIError:
        raise BadModelAnswer(model=model) from None


def _build_status_error(error: openai.APIStatusError, model: str) -> ModelError:
    status = error.status_code
    if status in SLOW:
        return ModelTimeout(model=model, status=status)
    if status in UNACCEPTABLE:
        text = f"{error.message} {error.param or ''}"
        options = {"about": about} if (about := tuple(name for name in _OPTIONS if name in text)) else {}
        return ModelError(
            f"The model's endpoint does not accept the request ({status}).", model=model, status=status, **options
        )
    return ModelUnavailable(f"The model's endpoint answers with status {status}.", model=model, status=status)


def _parse_seconds(header: str | None) -> float | None:
    """Return `retry-after` in seconds; None for a date, its other form."""
    try:
        return float(header) if header else None
    except ValueError:
        return None
