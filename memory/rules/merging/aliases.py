"""Other names of what a memory is about: bounds, and what becomes of them when memories become one."""

from __future__ import annotations

from collections.abc import Iterable

from muniment.memory.errors import BadInput
from muniment.memory.rules.redaction.redact import Redactor
from muniment.memory.rules.redaction.secret_names import describe_redactions

MAX_ALIASES = 16  # of one memory
MAX_CHARS = 80  # of one name


def normalize_aliases(names: Iterable[str]) -> tuple[str, ...]:
    """Return the names in order, each on one line and once, whatever its case.

    Raises BadInput for a name that is empty or too long, and for too many."""
    aliases: dict[str, str] = {}
    for name in names:
        alias = " ".join(name.split())
        if not alias:
            raise BadInput("an alias is empty; a name wanted")
        if len(alias) > MAX_CHARS:
            raise BadInput(f"an alias has {len(alias):,} characters; allowed: {MAX_CHARS}")
        aliases.setdefault(alias.casefold(), alias)
    if len(aliases) > MAX_ALIASES:
        raise BadInput(f"{len(aliases)} aliases; a memory has at most {MAX_ALIASES}")
    return tuple(aliases.values())


def sanitize_aliases(names: Iterable[str], redactor: Redactor) -> tuple[str, ...]:
    """Return the names as they may be stored. Raises BadInput, also for a name in which there is a secret."""
    aliases = normalize_aliases(map(redactor.sanitize_text, names))
    if any(map(describe_redactions, aliases)):
        raise BadInput("an alias has a secret in it; nothing of it was kept")
    return aliases


def unite_aliases(stays: tuple[str, ...], goes: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names of a memory with those of another that becomes one with it, as many as one may have."""
    names: dict[str, str] = {}
    for alias in stays + goes:
        names.setdefault(alias.casefold(), alias)
    return tuple(names.values())[:MAX_ALIASES]
