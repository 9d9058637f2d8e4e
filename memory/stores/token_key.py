"""The key of an installation: a file in the home that only its account may read. Tokens are digested by it, and other
keys are derived from it."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import os
import secrets
from pathlib import Path

from pydantic import SecretBytes

from muniment.memory.domain.evidence.seals import Signature
from muniment.memory.errors import BadConfig
from muniment.memory.ports.installation import InstallationKey
from muniment.memory.stores.signatures import is_signed, sign_bytes

_NAME = "token.key"
_KEY_BYTES = 32
_SIGNING = b"muniment: signatures of anchors, 1"


class KeyFile(InstallationKey):
    """The `InstallationKey` port over the key file of a home, which is read or made when a key is first asked for."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._key: SecretBytes | None = None

    async def derive_key(self, purpose: bytes) -> SecretBytes:
        if self._key is None:
            self._key = await asyncio.to_thread(load_token_key, self._home)
        return SecretBytes(hmac.digest(self._key.get_secret_value(), purpose, hashlib.sha256))

    async def sign_data(self, data: bytes) -> Signature:
        key = await self.derive_key(_SIGNING)
        return await asyncio.to_thread(sign_bytes, key, data)

    async def find_public_key(self) -> bytes | None:
        if self._key is None and not await asyncio.to_thread(has_token_key, self._home):
            return None
        return (await self.sign_data(b"")).public_key

    async def is_signed(self, data: bytes, signature: Signature) -> bool:
        return await asyncio.to_thread(is_signed, data, signature)


def has_token_key(home: Path) -> bool:
    """Whether there is a key in this home."""
    return (home / _NAME).exists()


def load_token_key(home: Path) -> SecretBytes:
    """Return the key; the first call makes it. Raises BadConfig for a file that is no key or that others may read."""
    path = home / _NAME
    try:
        if not path.exists():
            _create_key(path)
        mode, text = path.stat().st_mode, path.read_text("ascii")
    except (OSError, UnicodeDecodeError) as error:
        raise BadConfig(f"{path}: the key of the tokens cannot be read ({type(error).__name__})") from None
    if os.name == "posix" and mode & 0o077:
        raise BadConfig(f"{path}: others may read the key of the tokens; allowed: mode 600 (chmod 600)")
    try:
        key = bytes.fromhex(text)
    except ValueError:
        key = b""
    if len(key) != _KEY_BYTES:
        raise BadConfig(f"{path}: is no key; without the file a new one is made, and no former token is valid")
    return SecretBytes(key)


def _create_key(path: Path) -> None:
    """Write a new key. Where two processes do, one key wins, and it is whole: it appears by a link."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f"{_NAME}.{os.getpid()}.{secrets.token_hex(4)}")
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(secrets.token_hex(_KEY_BYTES))
        file.flush()
        os.fsync(file.fileno())
    try:
        os.link(draft, path)
    except FileExistsError:
        return
    finally:
        draft.unlink()
