"""What a token looks like, and the digest that is kept in its place."""

from __future__ import annotations

import base64
import hashlib
import hmac
import re

SECRET_BYTES = 32
_PREFIX = "mun_"
_FORMAT = re.compile(_PREFIX + r"[A-Za-z0-9_-]{43}")  # 32 bytes in base64url


def format_token(secret: bytes) -> str:
    """Return the token of these random bytes."""
    return _PREFIX + base64.urlsafe_b64encode(secret).rstrip(b"=").decode("ascii")


def is_token(text: str) -> bool:
    """Whether a text has the format of a token."""
    return _FORMAT.fullmatch(text) is not None


def hash_token(key: bytes, token: str) -> bytes:
    """Return the digest of a token under the key of this installation: HMAC-SHA256.

    A token has 256 random bits, so a slow hash would protect nothing more."""
    return hmac.new(key, token.encode("ascii"), hashlib.sha256).digest()
