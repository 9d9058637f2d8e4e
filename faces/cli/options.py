"""The options that commands share, and the checks on what is typed."""

from __future__ import annotations

from typing import Annotated

import typer

from muniment.memory.errors import BadInput

NAME_LIMIT = 200

User = Annotated[str, typer.Option("--user", "-u", metavar="NAME", help="Whose memory. Nobody sees another's.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, errors too; the exit code stays the same.")]
Id = Annotated[str, typer.Argument(metavar="ID", help="A memory's id, or its first characters (4 or more).")]

ME = "me"


def name(value: str, what: str) -> str:
    """A user's or thread's name as typed. Raises BadInput: a name is never mended, since two would become one."""
    if not value.strip():
        raise BadInput(f"{what}: is empty; give a name")
    if len(value) > NAME_LIMIT:
        raise BadInput(f"{what}: has {len(value):,} characters; at most {NAME_LIMIT} are allowed")
    if any(not char.isprintable() for char in value):
        raise BadInput(f"{what}: has a character that cannot be shown; use letters, digits and spaces")
    return value


def words(value: str, what: str) -> str:
    """A text as typed, with U+FFFD for bytes that were not UTF-8. Raises BadInput when it is empty."""
    if not value.strip():
        raise BadInput(f"{what}: is empty")
    return value.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def listed(value: str | None) -> tuple[str, ...]:
    """`a,b` as ("a", "b"); None and nothing between commas are nothing."""
    return tuple(part.strip() for part in (value or "").split(",") if part.strip())
