"""Statistics: what was done in a space, what it cost, and its status."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, timedelta
from typing import Any

from muniment.memory.codec import check_range
from muniment.memory.config.settings import Settings
from muniment.memory.domain.maintenance import RetentionTerms
from muniment.memory.domain.memory import LEGACY_TAG
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.usage import LegacyReport, SpaceActivity, UsageReport
from muniment.memory.errors import BadInput
from muniment.memory.flows.process_state import WriteBehind
from muniment.memory.ports.clock import Clock
from muniment.memory.ports.embedders import Embedder, EmbedderSwitchStore
from muniment.memory.ports.operation.usage import UsageStore
from muniment.memory.ports.reads import MemoryReads
from muniment.memory.rules.language.writing import can_read, find_unread
from muniment.memory.rules.policy.retention import hash_terms

_MAX_LEGACY = 1_000  # memories that a report lists
_SAMPLE = 200  # memories that are looked at for their language
_LANGUAGES = {
    "de": "German",
    "fr": "French",
    "es": "Spanish",
    "pt": "Portuguese",
    "it": "Italian",
    "nl": "Dutch",
    "han": "Chinese",
    "kana": "Japanese",
    "hangul": "Korean",
    "cyrillic": "Cyrillic letters",
    "en": "English",
    "other": "another script",
}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Statistics:
    """Counts events, spending and spaces, and reads the status of a space."""

    clock: Clock
    embedder: Embedder
    embedder_switch: EmbedderSwitchStore
    reads: MemoryReads
    retention: RetentionTerms
    settings: Settings
    usage: UsageStore
    write_behind: WriteBehind

    async def get_activity(self, scope: Scope, days: int, changes: int) -> SpaceActivity:
        """Return the event counts of the last `days` days (UTC) and the latest `changes`. Raises BadInput."""
        since = self._find_first_day(days)
        check_range("changes", changes, 0, 2**31 - 1)
        await self.write_behind.flush(scope)
        return await self.usage.read_activity(self.settings.make_owner_reader(scope), since, changes)

    async def get_legacy(self, scope: Scope, limit: int) -> LegacyReport:
        """Return what was imported from a former design, and what of it nothing newer has confirmed. Raises
        BadInput."""
        check_range("limit", limit, 1, _MAX_LEGACY)
        return await self.usage.read_legacy(scope, LEGACY_TAG, limit)

    async def get_usage(self, scope: Scope, days: int) -> UsageReport:
        """Return the spending of the scope's tenant in the last `days` days (UTC). Raises BadInput."""
        since = self._find_first_day(days)
        await self.write_behind.flush_settlements(scope)
        return await self.usage.read_usage(scope, since)

    async def list_spaces(self, tenant: str | None) -> list[Scope]:
        """Return the scopes of all spaces, or of a tenant's, oldest first."""
        return [scope async for scope in self.reads.list_spaces() if tenant in (None, scope.tenant)]

    def _find_first_day(self, days: int) -> date:
        today = self.clock.now().astimezone(UTC).date()
        if not 1 <= days <= (today - date.min).days:
            raise BadInput("days: at least 1, and no more than there have been")
        return today - timedelta(days=days - 1)

    async def read_status(self, scope: Scope) -> dict[str, Any]:
        """Return counts, revision, embedder and database of the space, with its owner and when it was and will be
        maintained.

        There is a `hint` where most of the space is in a language that the embedder cannot read."""
        status = await self.reads.read_status(scope)
        checked_rev, last, due, terms = (
            status.pop(name, None) for name in ("tended_rev", "tended_at", "tend_at", "tend_terms")
        )
        every = timedelta(hours=self.settings.consolidation.every_hours)
        changed = () if checked_rev == status["rev"] else (last + every if last else self.clock.now(),)
        outdated = (self.clock.now(),) if terms != hash_terms(self.retention) else ()
        moments = [*filter(None, [due]), *changed, *outdated]
        upcoming = min(moments, default=None) if checked_rev is not None else None
        maintained = {
            name: at and at.isoformat(timespec="seconds") for name, at in (("tended", last), ("tended_next", upcoming))
        }
        embedder = status["embedder"] or self.embedder.name
        hint = await self._find_hint(scope, embedder) if self.settings.find_profile(embedder).reads else None
        return (
            {"user": scope.owner, "tenant": scope.tenant, "space": str(scope.space)}
            | status
            | maintained
            | ({"hint": hint} if hint else {})
        )

    async def _find_hint(self, scope: Scope, embedder: str) -> str | None:
        """Return which embedder could read a space that this one cannot, judged by some of its memories; else None."""
        sample = await self.embedder_switch.sample_memories(scope, _SAMPLE)
        unread = find_unread(self.settings.find_profile(embedder), [memory.text for memory in sample])
        able = [
            name
            for name, profile in self.settings.embedders.items()
            if unread and name != "default" and can_read(profile, unread.writing)
        ]
        if unread is None or not able:
            return None
        return (
            f"{unread.share:.0%} of the memories are in {_LANGUAGES[unread.writing]}, which {embedder} does "
            f"not read; {' and '.join(able)} can: see `muniment embedder switch --help`"
        )
