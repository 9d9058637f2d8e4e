"""Seals the keys of tokens' endpoints: AES-GCM under a key that is derived from the key file of the installation."""

from __future__ import annotations

import secrets
from uuid import UUID

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from pydantic import SecretBytes

from muniment.memory.errors import TokenConfigError
from muniment.memory.ports.operation.token_configs import Sealer

_PURPOSE = b"muniment: keys of tokens, 1"  # with another one the file's key gives another key
_KEY_BYTES, _NONCE_BYTES = 32, 12


class TokenSeal(Sealer):
    """The `Sealer` port. What is sealed to one token opens for no other: its id is authenticated with it."""

    def __init__(self, key: SecretBytes) -> None:
        derive = HKDF(algorithm=SHA256(), length=_KEY_BYTES, salt=None, info=_PURPOSE)
        self._cipher = AESGCM(derive.derive(key.get_secret_value()))

    def seal(self, plain: bytes, token_id: UUID) -> bytes:
        nonce = secrets.token_bytes(_NONCE_BYTES)  # at random: a key seals far less than the 2^32 that this allows
        return nonce + self._cipher.encrypt(nonce, plain, token_id.bytes)

    def unseal(self, sealed: bytes, token_id: UUID) -> bytes:
        try:
            return self._cipher.decrypt(sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:], token_id.bytes)
        except (InvalidTag, ValueError):
            raise TokenConfigError(
                "the keys of the endpoints cannot be opened by this installation's key file; give them anew", field=None
            ) from None
