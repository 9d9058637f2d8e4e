"""A clause: the part of a sentence that can state something."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Clause:
    """A part of a sentence that can state something, and when it was said."""

    text: str
    at: datetime
    is_lowercase: bool = False  # the whole message is without capitals: they prove nothing
    is_directive: bool = False  # the person asked for it to be remembered
