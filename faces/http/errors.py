"""The one body of all errors, and the status of each class of error."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ConfigDict, Field
from starlette.exceptions import HTTPException
from starlette.routing import BaseRoute, Match

from muniment.faces.http.strict_json import FIELD, encode_json
from muniment.faces.serving.request_ids import REQUEST_ID
from muniment.memory import codec
from muniment.memory.errors import (
    BadInput,
    Conflict,
    Denied,
    ModelError,
    MunimentError,
    NotFound,
    NotReady,
    OverBudget,
    StoreError,
    TooLarge,
    Unauthorized,
)

JSON = "application/json"
RETRY_SECONDS = 5
_MAX_PROBLEMS = 20  # that a refusal names
STATUSES: Mapping[type[BaseException], int] = {
    TooLarge: 413,
    BadInput: 422,
    Unauthorized: 401,
    Denied: 403,
    NotFound: 404,
    Conflict: 409,
    StoreError: 503,
    OverBudget: 429,
    ModelError: 503,
    NotReady: 503,
    MunimentError: 500,
}
_RETRYABLE = frozenset({409, 429, 503})
_HTTP_TYPES = {404: ("NotFound", "There is no such address."), 405: ("MethodNotAllowed", "Not by this method.")}


class ErrorDetail(BaseModel):
    """What went wrong, with data that depends on the type."""

    model_config = ConfigDict(extra="allow")
    type: str = Field(description="The class of the error, as on the command line.")
    message: str = Field(description="One sentence for a person.")
    request_id: str = Field(description="As the header X-Request-Id, and in the log.")


class ErrorBody(BaseModel):
    """The body of every answer that is an error."""

    error: ErrorDetail


_MEANINGS = {
    401: "The token is missing, unknown, expired or revoked.",
    403: "The token does not permit this.",
    404: "There is no such memory, or it is another's.",
    405: "The address does not know this method.",
    409: "The space changed meanwhile; try again.",
    413: "The body or a text in it is too large.",
    422: "The input is not valid.",
    429: "Too many requests, or the budget of the day is used up; try again later.",
    500: "A defect; the log has its place under the request's id.",
    503: "The database or the embedder cannot be reached, or time ran out; try again.",
}
ERROR_RESPONSES: dict[int | str, dict[str, Any]] = {
    status: {"model": ErrorBody, "description": meaning} for status, meaning in _MEANINGS.items()
}


def make_response(value: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """Return a JSON value as an answer."""
    return Response(encode_json(value), status, headers, JSON)


def make_error(
    status: int,
    kind: str,
    message: str,
    data: Mapping[str, Any] | None = None,
    headers: Mapping[str, str] | None = None,
) -> Response:
    """Return an error as an answer."""
    error = {**codec.encode_value(data or {}), "type": kind, "message": message, "request_id": REQUEST_ID.get()}
    extra = dict(headers or {})
    if status in _RETRYABLE:
        extra.setdefault("Retry-After", str(1 if status == 409 else RETRY_SECONDS))
    if status == 401:
        extra["WWW-Authenticate"] = "Bearer"
    return make_response({"error": error}, status, extra)


def find_status(kind: type[MunimentError]) -> int:
    """Return the status of a class of error, or that of the nearest class above it."""
    return next(STATUSES[each] for each in kind.__mro__ if each in STATUSES)


def make_engine_error(error: MunimentError) -> Response:
    """Return an error of the engine as an answer.

    One that is not found has always the same words, whether it is another's or nobody's."""
    status = find_status(type(error))
    if isinstance(error, NotFound):
        return make_error(status, NotFound.__name__, str(NotFound()))
    message = " ".join(str(error).split())
    return make_error(status, type(error).__name__, message, {} if status >= 500 else error.data)


def describe_invalid(errors: Sequence[Mapping[str, Any]], *, names_unknown: bool = False) -> list[dict[str, str]]:
    """Return where an input is not valid and why, without the input: it may be a secret. With `names_unknown` a field
    that is not known is named where it looks like the name of one."""
    described = []
    for error in errors:
        place = [str(part) for part in error["loc"]]
        if error["type"] == "extra_forbidden":  # the name is the input's, too
            place = place if names_unknown and FIELD.fullmatch(place[-1]) else place[:-1]
        if error["type"] == "json_invalid":
            place = place[:1]
        described.append({"in": ".".join(place), "why": error["msg"]})
    return described


def add_handlers(app: FastAPI, routes: Sequence[BaseRoute], *, names_unknown: bool = False) -> None:
    """Give the app the handlers of all errors. `routes` are those of its endpoints; `names_unknown` as of
    `describe_invalid`."""

    async def answer_engine_error(_: Request, error: Exception) -> Response:
        return make_engine_error(error) if isinstance(error, MunimentError) else make_defect()

    async def answer_invalid(_: Request, error: Exception) -> Response:
        found = error.errors()[:_MAX_PROBLEMS] if isinstance(error, RequestValidationError) else []
        problems = describe_invalid(found, names_unknown=names_unknown)
        first = problems[0] if problems else {"in": "body", "why": "not valid"}
        return make_error(422, "BadInput", f"{first['in']}: {first['why']}", {"problems": problems})

    async def answer_http(request: Request, error: Exception) -> Response:
        status = error.status_code if isinstance(error, HTTPException) else 500
        headers = {"Allow": ", ".join(list_methods(request, routes))} if status == 405 else None
        kind, message = _HTTP_TYPES.get(status, ("BadInput", "The request cannot be read."))
        return make_error(422 if status == 400 else status, kind, message, headers=headers)

    async def answer_defect(_: Request, __: Exception) -> Response:
        return make_defect()

    app.add_exception_handler(MunimentError, answer_engine_error)
    app.add_exception_handler(RequestValidationError, answer_invalid)
    app.add_exception_handler(HTTPException, answer_http)
    app.add_exception_handler(Exception, answer_defect)


def list_methods(request: Request, routes: Sequence[BaseRoute]) -> list[str]:
    """Return the methods of an address: each may be an endpoint of its own."""
    matching = (route for route in routes if route.matches(request.scope)[0] is not Match.NONE)
    return sorted({method for route in matching for method in getattr(route, "methods", ())})


def make_defect() -> Response:
    """Return the answer to what should not have happened; it has no text of the error."""
    return make_error(500, "Defect", "Something went wrong here; the log has its place under the request's id.")
