"""Parses the bytes of a document, in the process that is made for it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from io import BytesIO

from muniment.memory.config.schema import ResourceSettings
from muniment.memory.domain.layers.resources import Block, DocumentKind, Statement
from muniment.memory.errors import BadConfig, BadInput, TooLarge
from muniment.memory.rules.redaction.redact import Redactor
from muniment.memory.rules.resources.cutting import cut_document
from muniment.memory.rules.resources.html_page import read_html
from muniment.memory.rules.resources.markdown import read_markdown
from muniment.memory.rules.resources.plain_text import decode_document, read_text

_PDF_SIGN, _PDF_HEAD = b"%PDF-", 1_024  # which begins a PDF, within so many bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentParser:
    """Makes statements of documents, within the limits of the settings, redacted."""

    settings: ResourceSettings
    redactor: Redactor

    def parse_document(self, kind: DocumentKind, content: bytes) -> tuple[Statement, ...]:
        """Return the statements of a document. Raises BadInput for what cannot be read as this kind, TooLarge,
        BadConfig where the library that reads PDF is not installed."""
        return cut_document(self._read_blocks(kind, content), self.settings, self.redactor)

    def _read_blocks(self, kind: DocumentKind, content: bytes) -> Iterator[Block]:
        if kind == "pdf":
            for page in self._read_pages(content):
                yield from read_text(page)
            return
        text = decode_document(content, may_declare=kind == "html")
        self._check_length(len(text))
        read = {"text": read_text, "markdown": read_markdown, "html": read_html}[kind]
        yield from read(text)

    def _check_length(self, chars: int) -> None:
        if chars > (most := self.settings.text_chars):
            raise TooLarge(f"has more than {most:,} characters of text (resources.text_chars)")

    def _read_pages(self, content: bytes) -> Iterator[str]:
        """Yield the text of each page of a PDF."""
        try:
            from pypdf import PdfReader  # noqa: PLC0415 - of an extra, and only for a PDF
            from pypdf.errors import PyPdfError  # noqa: PLC0415 - as above
        except ImportError as error:
            raise BadConfig("PDF is read by an extra: pip install 'muniment[gateway]'") from error
        if _PDF_SIGN not in content[:_PDF_HEAD]:
            raise BadInput("is no PDF: it does not begin like one")
        total = 0
        try:
            reader = PdfReader(BytesIO(content), strict=False)
            if reader.is_encrypted and not reader.decrypt(""):
                raise BadInput("is an encrypted PDF; take its password off first")
            for page in reader.pages:
                text = page.extract_text()
                total += len(text)
                self._check_length(total)
                yield text
        except (PyPdfError, ValueError, TypeError, KeyError, IndexError, AttributeError, ArithmeticError, OSError,
                AssertionError, NotImplementedError, ImportError) as error:  # fmt: skip
            # What a damaged or a hostile file brings about in the library; its message may quote the file.
            raise BadInput("is a PDF that cannot be read: it is damaged, or its encryption is not known") from error
        if not total:
            raise BadInput("is a PDF without text, as a scan is; recognize its text first")


def read_nothing() -> None:
    """Load what reads documents, so that it is there before the memory of the process is limited."""
    list(read_markdown(""))
    list(read_html(""))
