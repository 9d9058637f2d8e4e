"""A clause: the part of a sentence that can state something."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Clause:
    """A part of a sentence that can state something, and the time of its message."""

    text: str
    at: datetime
    is_lowercase: bool = False  # the whole message has no capitals, so they are no sign of a name
    is_directive: bool = False  # the user asked to remember it
