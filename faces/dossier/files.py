"""Writes a dossier into a file, in the form that its name asks for."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from enum import StrEnum
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import IO

from muniment.faces.dossier.compose import compose_dossier
from muniment.faces.dossier.html import render_html
from muniment.faces.dossier.json_file import render_json
from muniment.faces.dossier.letters import LetterFaults
from muniment.faces.dossier.parts import THREADS
from muniment.faces.dossier.words import load_words
from muniment.faces.transfer.files import OnProgress, write_chunks
from muniment.memory.client import Memory
from muniment.memory.domain.layers.person import PersonRow
from muniment.memory.domain.scope import Scope
from muniment.memory.errors import BadConfig, BadInput


class DossierForm(StrEnum):
    """What a dossier is written as."""

    html = "html"
    pdf = "pdf"
    json = "json"


MEDIA_TYPES = {
    DossierForm.html: "text/html; charset=utf-8",
    DossierForm.pdf: "application/pdf",
    DossierForm.json: "application/json",
}


def can_write_pdf() -> bool:
    """Whether the library for PDF is installed."""
    return find_spec("reportlab") is not None


def choose_form(name: str) -> DossierForm:
    """Return the form that the name of a file ends with. Raises BadInput for another end."""
    ending = Path(name).suffix.lower().removeprefix(".")
    if ending not in list(DossierForm):
        raise BadInput(f"{name}: a name that ends with .html, .pdf or .json wanted")
    return DossierForm(ending)


async def write_dossier(
    memory: Memory,
    scope: Scope,
    form: DossierForm,
    language: str,
    file: IO[bytes],
    *,
    font: Path | None = None,
    on_progress: OnProgress | None = None,
) -> LetterFaults:
    """Write everything known of the owner of a scope, and return the letters that a PDF cannot show as they should be.
    `on_progress` gets numbers of pieces that were written. `font` is a TrueType file for a PDF.

    HTML and JSON take memory that does not grow with what is known; a PDF takes it by its pages. Raises BadConfig where
    the library for PDF is not installed, BadInput for a font that is none, StoreError."""
    rows, texts = _stream_rows(memory, scope), load_words(language)
    if form is DossierForm.json:
        await write_chunks(render_json(rows), file, on_progress)
        return LetterFaults()
    if form is DossierForm.html:
        await write_chunks(render_html(compose_dossier(rows, texts), texts, scope.owner), file, on_progress)
        return LetterFaults()
    pdf = await asyncio.to_thread(_load_pdf)
    content = []
    async for block in compose_dossier(rows, texts):
        content.append(block)
        if on_progress:
            on_progress(1)
    faults: LetterFaults = await asyncio.to_thread(pdf.write_pdf, content, texts, scope.owner, file, font)
    return faults


async def _stream_rows(memory: Memory, scope: Scope) -> AsyncIterator[PersonRow]:
    """Yield what the memory keeps of a person, and then the last state of each thread."""
    async for row in memory.personal_data.stream_dossier(scope):
        yield row
    states = await asyncio.to_thread(_load_states)
    async for line in states.stream_thread_states(memory.engine.settings, scope.space, memory.conversation.redact):
        yield PersonRow(part=THREADS, row=json.loads(line))


def _load_states() -> ModuleType:
    # LangGraph: nothing for `--help` to wait for.
    from muniment.graph.threads import states  # noqa: PLC0415 - LangGraph imports for a second

    return states


def _load_pdf() -> ModuleType:
    try:
        # An extra of its own: nothing else asks for it.
        from muniment.faces.dossier import pdf  # noqa: PLC0415
    except ImportError as error:
        raise BadConfig(
            "a PDF needs the extra pdf: pip install 'muniment[pdf]'; .html and .json need nothing"
        ) from error
    return pdf
