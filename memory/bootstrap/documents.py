"""Opens what reads documents."""

from __future__ import annotations

from muniment.memory.config.settings import Settings
from muniment.memory.models.documents.process import DocumentReader
from muniment.memory.rules.redaction.redact import Redactor


def open_documents(settings: Settings) -> DocumentReader:
    """Return a reader of documents by these settings, for `async with`."""
    return DocumentReader(settings.resources, Redactor(settings.redact))
