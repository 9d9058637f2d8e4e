"""The port of the key that an installation has."""

from __future__ import annotations

from typing import Protocol

from pydantic import SecretBytes

from muniment.memory.domain.evidence.seals import Signature


class InstallationKey(Protocol):
    """A key that all processes of an installation have, and its database has not."""

    async def derive_key(self, purpose: bytes) -> SecretBytes:
        """Return the key for a purpose, 32 bytes: another one for each, and the same in each process. Raises
        BadConfig."""
        ...

    async def sign_data(self, data: bytes) -> Signature:
        """Return the signature of the installation. Raises BadConfig."""
        ...

    async def find_public_key(self) -> bytes | None:
        """Return the public key of the signatures, 32 bytes; None where there is no key yet. Raises BadConfig."""
        ...

    async def is_signed(self, data: bytes, signature: Signature) -> bool:
        """Return whether a signature is of these data, by whatever key it names."""
        ...
