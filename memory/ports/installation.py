"""The port of the key that an installation has."""

from __future__ import annotations

from typing import Protocol

from pydantic import SecretBytes


class InstallationKey(Protocol):
    """A key that all processes of an installation have, and its database has not."""

    async def derive_key(self, purpose: bytes) -> SecretBytes:
        """Return the key for a purpose, 32 bytes: another one for each, and the same in each process. Raises
        BadConfig."""
        ...
