"""The redactor of an engine: the rules of redaction with a mark on safe texts, a cache, and the denylist."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from muniment.memory.config.schema import RedactionSettings
from muniment.memory.domain.ids import SafeText
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import Turn
from muniment.memory.rules.redaction import redact, secret_names

_CACHE_SIZE = 1_000


class Redactor(redact.Redactor):
    """Takes secrets out of texts, and refuses what the denylist names.

    `redact_cached` is `redact_text` for texts that come again, such as the messages of a thread."""

    def __init__(self, settings: RedactionSettings) -> None:
        super().__init__(settings)
        self._settings = settings
        self.redact_cached = lru_cache(maxsize=_CACHE_SIZE)(self.redact_text)

    def sanitize_text(self, text: str) -> SafeText:
        """Return the text as it may be stored, embedded and logged. A text that is marked as safe is returned as it is."""
        return text if isinstance(text, SafeText) else SafeText(super().sanitize_text(text))

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
