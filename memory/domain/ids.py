"""Identifiers and small types that every value of the domain uses."""

from __future__ import annotations

from contextlib import suppress
from typing import NewType, TypeAlias
from uuid import UUID

import numpy as np
import numpy.typing as npt

from muniment.memory.errors import BadInput

SpaceId = NewType("SpaceId", UUID)
MemoryId = NewType("MemoryId", UUID)
TurnId = NewType("TurnId", UUID)
Revision = NewType("Revision", int)
Vector: TypeAlias = npt.NDArray[np.float32]
RunId = NewType("RunId", UUID)


class SafeText(str):
    """A text that was redacted and normalized: it may be stored, embedded and logged, and is not redacted again."""

    __slots__ = ()


def parse_memory_id(given: object) -> MemoryId:
    """Return the id of a memory from a UUID or its text.

    Raises BadInput, which says of a text only how long it is: it may be anything."""
    if isinstance(given, UUID):
        return MemoryId(given)
    shape = type(given).__name__
    if isinstance(given, str):
        shape = f"text of {len(given)} characters"
        with suppress(ValueError):
            return MemoryId(UUID(given))
    raise BadInput(f"memory_id: a UUID or its text wanted, {shape} given")
