"""Identifiers and small types that every value of the domain uses."""

from __future__ import annotations

from dataclasses import dataclass
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
# Stands for the vector of a text that waits for its embedder; it is this one object.
NO_VECTOR: Vector = np.zeros(1, dtype=np.float32)
NO_VECTOR.setflags(write=False)


_LEAST_DIGITS, _DIGITS = 4, 32  # of the beginning of an id, and of a whole one
_HEX = frozenset("0123456789abcdef")


class SafeText(str):
    """A text that was redacted and normalized: it may be stored, embedded and logged, and is not redacted again."""

    __slots__ = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class HostItemKey:
    """The id that a host has given to an item, and a digest of everything that the item says."""

    id: UUID
    digest: bytes
    names_memory: bool = False  # nothing has this id yet: a memory that is new gets it, too
    own_tags: tuple[str, ...] = ()  # of the candidate: what they say is no part of a memory that knew the item already
    said: bytes = b""  # digest of its words, whatever their case and spaces


def parse_memory_id(given: object) -> MemoryId | str:
    """Return the id of a memory from a UUID or its text, or the beginning of one: at least four hexadecimal digits.

    Raises BadInput, which says of a text only how long it is: it may be anything."""
    if isinstance(given, UUID):
        return MemoryId(given)
    shape = type(given).__name__
    if isinstance(given, str):
        shape = f"text of {len(given)} characters"
        digits = given.strip().lower().replace("-", "")
        if _HEX.issuperset(digits) and _LEAST_DIGITS <= len(digits) <= _DIGITS:
            return MemoryId(UUID(digits)) if len(digits) == _DIGITS else digits
    raise BadInput(f"memory_id: an id or the first {_LEAST_DIGITS} or more digits of one wanted, {shape} given")
