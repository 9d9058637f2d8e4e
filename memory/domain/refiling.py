"""Refiling: memories that are moved to the category that facts of their kind have now."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from muniment.memory.domain.scope import Scope


@dataclass(frozen=True, slots=True, kw_only=True)
class RefilingResult:
    """How many memories of a space were moved, by their former and their new category."""

    scope: Scope
    counts: Mapping[tuple[str, str], int] = field(default_factory=dict)
