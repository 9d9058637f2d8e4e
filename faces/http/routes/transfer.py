"""A user's memory in and out, as JSON lines, and everything known of them as a file."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import IO, Annotated, Any, Literal
from urllib.parse import quote

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import StreamingResponse

from muniment.faces.dossier.files import MEDIA_TYPES, DossierForm, write_dossier
from muniment.faces.http.access import Caller, Importer, Reader
from muniment.faces.http.answers import ImportAnswer
from muniment.faces.http.bodies import StrictRoute
from muniment.faces.http.errors import ERROR_RESPONSES, make_response
from muniment.faces.http.spool import send_spooled
from muniment.faces.http.strict_json import MAX_MARKS, encode_json, has_few_values, parse_json
from muniment.faces.transfer.files import write_chunks
from muniment.memory import codec
from muniment.memory.config.settings import Settings
from muniment.memory.errors import BadInput, TooLarge

router = APIRouter(tags=["transfer"], route_class=StrictRoute, responses=ERROR_RESPONSES)
LINES = "application/jsonl"
_DOSSIER_CONTENT: dict[str, dict[str, Any]] = {
    MEDIA_TYPES[form].partition(";")[0]: {"schema": {"type": "object" if form is DossierForm.json else "string"}}
    for form in DossierForm
}
_PORTION = 64  # rows that are read or written before other requests have a turn
_LINES_BODY = {"requestBody": {"required": True, "content": {LINES: {"schema": {"type": "string"}}}}}


@router.get("/export", response_class=StreamingResponse, responses={200: {"content": {LINES: {}}}})
async def export_memory(caller: Reader, content: bool = False) -> Response:
    """Return all of the user's memory, a row a line; with `content` memories and relations without revisions."""
    return await send_export(caller, content=content)


async def send_export(caller: Caller, *, content: bool = False, headers: Mapping[str, str] | None = None) -> Response:
    """Answer with all of the user's memory of one moment, a row a line, in memory that does not grow with it. Raises
    Denied for a token of some agents, StoreError, NotReady for a full disk."""
    caller.check_unlimited()
    rows = caller.service.memory.personal_data.stream_export(caller.scope, content=content)

    async def write(file: IO[bytes]) -> None:
        await write_chunks(_encode_rows(rows), file)

    return await send_spooled(write, LINES, headers)


@router.get("/dossier", response_class=StreamingResponse, responses={200: {"content": _DOSSIER_CONTENT}})
async def write_dossier_file(
    caller: Reader,
    layout: Annotated[DossierForm, Query(alias="format", description="A page, a PDF, or every row as JSON.")] = (
        DossierForm.html
    ),
    language: Annotated[Literal["en", "zh"], Query(description="In which language; JSON has none.")] = "en",
) -> Response:
    """Return everything known of the user, in plain words: an answer to a request for access as it stands.

    Wants a token of all agents. A PDF wants the extra `pdf` at the service."""
    return await send_dossier(caller, layout, language)


async def send_dossier(
    caller: Caller, form: DossierForm, language: str, headers: Mapping[str, str] | None = None
) -> Response:
    """Answer with everything known of the user, as a file to keep. Raises Denied for a token of some agents, BadConfig
    for a PDF without its library, StoreError, NotReady for a full disk."""
    caller.check_unlimited()
    memory, scope = caller.service.memory, caller.scope

    async def write(file: IO[bytes]) -> None:
        await write_dossier(memory, scope, form, language, file)

    name = quote(f"dossier-{caller.scope.owner}.{form}", safe="")
    sent = {**(headers or {}), "Content-Disposition": f"attachment; filename*=UTF-8''{name}"}
    return await send_spooled(write, MEDIA_TYPES[form], sent)


@router.post("/import", response_model=ImportAnswer, openapi_extra=_LINES_BODY)
async def import_memory(request: Request, caller: Importer) -> Response:
    """Import the rows of an export into an empty memory, or plain rows with at least a text, into any.

    Where a line is not right nothing is imported. `merged` has the rows that only changed a memory, `unused` those that
    added nothing."""
    caller.check_unlimited()
    rows = await _read_rows(request, caller.service.settings)
    report = await caller.service.memory.load(caller.scope, rows)
    return make_response({"imported": report.added, "merged": list(report.merged), "unused": list(report.unused)})


async def _encode_rows(rows: AsyncIterator[Mapping[str, Any]]) -> AsyncIterator[bytes]:
    async for row in rows:
        yield encode_json(row) + b"\n"


async def _read_rows(request: Request, settings: Settings) -> list[dict[str, Any]]:
    """Return the objects of the lines of a body, each of which is read as it comes. Raises BadInput, TooLarge."""
    rows: list[dict[str, Any]] = []
    rest = b""
    async for chunk in request.stream():
        *lines, rest = (rest + chunk).split(b"\n")
        for start in range(0, len(lines), _PORTION):
            _add_rows(rows, lines[start : start + _PORTION], settings)
            await asyncio.sleep(0)
        if len(rest) > settings.serve.body_bytes:
            raise _make_row_error(len(rows) + 1, f"has more than {settings.serve.body_bytes:,} bytes", TooLarge)
    _add_rows(rows, [rest], settings)
    return rows


def _add_rows(rows: list[dict[str, Any]], lines: Sequence[bytes], settings: Settings) -> None:
    for line in filter(bytes.strip, lines):
        number = len(rows) + 1
        if number > settings.serve.import_rows:
            raise _make_row_error(number, f"at most {settings.serve.import_rows:,} are read at once", TooLarge)
        if not has_few_values(line):
            raise _make_row_error(number, f"has more than {MAX_MARKS:,} values", TooLarge)
        try:
            row = parse_json(line)
        except BadInput as error:
            raise _make_row_error(number, str(error)) from None
        if not isinstance(row, dict):
            raise _make_row_error(number, f"{codec.describe_shape(row)} given, an object wanted")
        text, most = row.get("text"), settings.limits.turn_chars
        if isinstance(text, str) and len(text) > most:
            raise _make_row_error(number, f"field 'text': {len(text):,} characters given, at most {most:,}", TooLarge)
        rows.append(row)


def _make_row_error(number: int, problem: str, kind: type[BadInput] = BadInput) -> BadInput:
    return kind(f"row {number}: {problem}", row=number)
