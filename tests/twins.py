"""Memories that say the same, and what of a space is active: for tests of consolidation."""

from __future__ import annotations

from typing import Any

from muniment.memory.client import Memory
from muniment.memory.domain.memory import StoredMemory
from tests.engine import scope

ANA = scope(thread="")
TWINS = ("The user waters the tomatoes on the balcony", "The user waters the tomatoes on the balcony.")


async def active(memory: Memory, owner: Any = ANA) -> list[StoredMemory]:
    return sorted(await memory.list(owner), key=lambda one: one.text)


async def texts(memory: Memory, owner: Any = ANA) -> list[str]:
    return [one.text for one in await active(memory, owner)]
