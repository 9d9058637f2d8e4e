"""Ed25519 signatures of the installation."""

from __future__ import annotations

from pydantic import SecretBytes

from muniment.memory.domain.evidence.seals import Signature


def sign_bytes(seed: SecretBytes, data: bytes) -> Signature:
    """Return the signature of data by the key of a seed of 32 bytes."""
    # The library takes a moment to load, and few processes sign.
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey  # noqa: PLC0415

    key = Ed25519PrivateKey.from_private_bytes(seed.get_secret_value())
    return Signature(public_key=key.public_key().public_bytes_raw(), value=key.sign(data))


def is_signed(data: bytes, signature: Signature) -> bool:
    """Return whether a signature is of these data. One that has not the form of a signature is of none."""
    # As above.
    from cryptography.exceptions import InvalidSignature  # noqa: PLC0415
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey  # noqa: PLC0415

    try:
        Ed25519PublicKey.from_public_bytes(signature.public_key).verify(signature.value, data)
    except (InvalidSignature, ValueError):
        return False
    return True
