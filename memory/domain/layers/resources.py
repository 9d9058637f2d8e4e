"""Resources: documents that are taken in, the blocks that they are read as, and the statements that they make."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import PurePath
from typing import Literal

from muniment.memory.domain.ids import Revision
from muniment.memory.domain.memory import StoredMemory
from muniment.memory.errors import BadInput

DocumentKind = Literal["text", "markdown", "html", "pdf"]
BlockKind = Literal["heading", "text", "item", "row", "code"]
RESOURCE_CATEGORY = "knowledge"  # of every statement of a resource
REMOVED = "resource"  # the reason in the journal of a statement that its document no longer makes
# The ends of the names of files -> how they are read.
SUFFIXES: Mapping[str, DocumentKind] = {
    ".txt": "text", ".text": "text", ".md": "markdown", ".markdown": "markdown", ".html": "html", ".htm": "html",
    ".xhtml": "html", ".pdf": "pdf",
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A part of a document, in the order of reading. `level` is that of a heading, from 1; `lead` is what an item
    stands below, such as the item that its list is part of."""

    kind: BlockKind
    text: str
    level: int = 0
    lead: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """What a document states in one place, with the headings above it. `is_held`: it instructs, so that it waits for a
    person."""

    text: str
    is_held: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownStatement:
    """A statement of a resource as it is stored, and why it was changed last."""

    memory: StoredMemory
    why: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Resource:
    """A resource of a space: its statements that answers may have, those that wait for a person, and when it was taken
    in and changed last."""

    uri: str
    statements: int
    waiting: int
    added_at: datetime
    changed_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceReport:
    """What a call did with a resource: how many statements it added, removed and kept, and how many of the resource
    wait for a person now. `skipped`: why nothing was taken in."""

    uri: str
    rev: Revision
    added: int = 0
    removed: int = 0
    kept: int = 0
    waiting: int = 0
    skipped: str | None = None


def find_document_kind(name: str) -> DocumentKind:
    """Return how a file is read, by the end of its name. Raises BadInput that names what is allowed."""
    kind = SUFFIXES.get(PurePath(name).suffix.lower())
    if kind is None:
        raise BadInput(f"is not read by its name; allowed: {', '.join(SUFFIXES)}")
    return kind
