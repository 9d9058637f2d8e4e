"""The errors of the proxy itself, in the form that clients of this protocol read."""

from __future__ import annotations

from starlette.responses import JSONResponse, Response

from muniment.faces.serving.request_ids import REQUEST_ID

MEMORY_HEADER = "x-muniment-memory"
ID_HEADER = "x-muniment-request-id"
_KINDS = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error", 500: "server_error"}


class Refusal(Exception):
    """A request that the proxy itself answers, with a status of the table of its errors.

    `code` is a word for programs, and `param` the place in the request. `may_retry` says whether the same request may
    well be answered if it is sent again: clients follow it."""

    def __init__(
        self, status: int, code: str, message: str, *, param: str | None = None, may_retry: bool = False
    ) -> None:
        super().__init__(message)
        self.status, self.code, self.param, self.may_retry = status, code, param, may_retry


class BadRequest(Refusal):
    """A request that is not valid; the message names the place and never the value."""

    def __init__(self, place: str, problem: str) -> None:
        super().__init__(422, "invalid_request", f"{place}: {problem}", param=place)


class MemoryAway(Refusal):
    """Memory could not be asked, so the upstream was not asked either."""

    def __init__(self, reason: str, *, may_retry: bool = True) -> None:
        super().__init__(
            502, "memory_unavailable", f"memory: {reason}; the request was not forwarded", may_retry=may_retry
        )


class UpstreamAway(Refusal):
    """The upstream could not be reached, or did not answer in time. It was asked once."""

    def __init__(self, code: str, reason: str) -> None:
        super().__init__(502, code, f"upstream: {reason}")


def make_refusal(error: Refusal, wait: int | None = None) -> Response:
    """Return the answer of a refusal; `wait` are the seconds after which to try again."""
    kind = _KINDS.get(error.status, "upstream_error" if error.status >= 500 else "invalid_request_error")
    if isinstance(error, MemoryAway):
        kind = "memory_error"
    headers = {"x-should-retry": "true" if error.may_retry else "false"}
    if wait is not None:
        headers["Retry-After"] = str(wait)
    if error.status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    body = {"message": str(error), "type": kind, "param": error.param, "code": error.code}
    headers["X-Request-Id"] = REQUEST_ID.get()
    return JSONResponse({"error": body}, error.status, headers)


def make_defect() -> Response:
    """Return the answer to what should not have happened; it has no text of the error."""
    return make_refusal(
        Refusal(500, "defect", "Something went wrong here; the log has its place under the request's id.")
    )
