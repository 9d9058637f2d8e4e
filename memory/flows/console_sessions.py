"""Logins of the console: a browser shows a token or a one-time link, and has a cookie from then on."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from uuid import UUID

from pydantic import SecretBytes, SecretStr

from muniment.memory.domain.scope import Grant
from muniment.memory.ports.clock import Clock
from muniment.memory.ports.operation.console_sessions import ConsoleSessionStore

SESSION_SPAN = timedelta(hours=12)
LINK_SPAN = timedelta(seconds=60)
_SECRET_BYTES = 32
_MAX_LINKS = 100  # that wait to be opened


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ConsoleSessions:
    """The logins of an installation. A cookie and a link are random; here are their digests under the installation's
    key."""

    store: ConsoleSessionStore
    clock: Clock
    key: SecretBytes
    _links: dict[bytes, tuple[UUID, datetime]] = field(default_factory=dict, repr=False)

    async def open_session(self, token_id: UUID) -> SecretStr | None:
        """Open a session of a token, and return the value of its cookie; None for a token that is not valid. Raises
        StoreError."""
        value, now = secrets.token_urlsafe(_SECRET_BYTES), self.clock.now()
        is_open = await self.store.open_session(self._hash("session", value), token_id, now, now + SESSION_SPAN)
        return SecretStr(value) if is_open else None

    async def find_grant(self, value: SecretStr) -> Grant | None:
        """Return what the token of a session permits; None for a session that is unknown or over, or whose token is
        revoked or expired. Nothing is cached: a revocation takes effect with the next request. Raises StoreError."""
        if not value.get_secret_value():
            return None
        return await self.store.use_session(self._hash("session", value.get_secret_value()), self.clock.now())

    async def end_session(self, value: SecretStr) -> None:
        """End a session. Raises StoreError."""
        await self.store.end_session(self._hash("session", value.get_secret_value()))

    def make_form_key(self, value: SecretStr) -> str:
        """Return what each form of a session has in it, which no other site and no other session knows."""
        return self._hash("form", value.get_secret_value()).hex()

    def is_form_key(self, value: SecretStr, given: str) -> bool:
        """Whether a form comes from a page of this session."""
        return hmac.compare_digest(given.encode("utf-8", "replace"), self.make_form_key(value).encode())

    def make_link_code(self, token_id: UUID) -> SecretStr:
        """Return a code that opens one session of a token within `LINK_SPAN`. Only this process knows of it."""
        code, now = secrets.token_urlsafe(_SECRET_BYTES), self.clock.now()
        for digest in [each for each, (_, until) in self._links.items() if until <= now]:
            del self._links[digest]
        while len(self._links) >= _MAX_LINKS:
            del self._links[next(iter(self._links))]
        self._links[self._hash("link", code)] = token_id, now + LINK_SPAN
        return SecretStr(code)

    async def open_link(self, code: SecretStr) -> SecretStr | None:
        """Open the session of a code, which is used up by that, and return the value of its cookie; None for a code
        that is unknown, used or too old. Raises StoreError."""
        token_id, until = self._links.pop(self._hash("link", code.get_secret_value()), (None, self.clock.now()))
        if token_id is None or until <= self.clock.now():
            return None
        return await self.open_session(token_id)

    def _hash(self, purpose: str, text: str) -> bytes:
        message = f"muniment console: {purpose}\0{text}".encode("utf-8", "replace")
        return hmac.new(self.key.get_secret_value(), message, hashlib.sha256).digest()
