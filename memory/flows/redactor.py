"""The redactor of an engine: it marks the texts that it has redacted, caches some, and knows the denylist."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from muniment.memory.config.schema import RedactionSettings
from muniment.memory.domain.ids import SafeText
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import Turn
from muniment.memory.rules.redaction import redact, secret_names

_CACHE_SIZE = 500
_CACHED_CHARS = 4_000  # a longer text is not worth the place of others


class Redactor(redact.Redactor):
    """Takes secrets out of texts, and refuses what the denylist names.

    The last texts are cached with their results: within a turn a message is read, learned, recorded and sent to a
    model, and a thread is sent to its model again with every turn."""

    def __init__(self, settings: RedactionSettings) -> None:
        super().__init__(settings)
        self._settings = settings
        self._redact = lru_cache(maxsize=_CACHE_SIZE)(super().redact_text)
        self._sanitize = lru_cache(maxsize=_CACHE_SIZE)(super().sanitize_text)

    def redact_text(self, text: str) -> str:
        """Return the text unchanged to the byte unless it holds a secret."""
        return self._redact(text) if len(text) <= _CACHED_CHARS else super().redact_text(text)

    def sanitize_text(self, text: str) -> SafeText:
        """Return the text as it may be stored, embedded and logged. A SafeText is returned as it is."""
        if isinstance(text, SafeText):
            return text
        return SafeText(self._sanitize(text) if len(text) <= _CACHED_CHARS else super().sanitize_text(text))

    def clear_cache(self) -> None:
        """Drop the cached texts, after something was erased."""
        self._redact.cache_clear()
        self._sanitize.cache_clear()

    def sanitize_value(self, value: Any) -> Any:
        """Return a JSON value with every text in it, names too, as it may be stored, embedded and logged."""
        return secret_names.redact_value(value, self.sanitize_text)

    def find_denial_reason(self, scope: Scope, turn: Turn | None = None) -> str | None:
        """Return why nothing of this scope, or of this turn, may be kept (`redact.deny_…`), or None."""
        tags, path = (turn.tags, turn.path) if turn else ((), None)
        return redact.find_denial(self._settings, tags=tags, path=path, project=scope.project)


def build_redactor(settings: RedactionSettings | None) -> Callable[[str], str]:
    """Return `redact_text` by these settings; without any it takes out what is a secret under all settings."""
    return redact.Redactor(settings).redact_text
