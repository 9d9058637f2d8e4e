"""Decides which memories are forgotten without a request, and when: old, untouched and unimportant ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from datetime import datetime, timedelta
from hashlib import blake2b
from typing import Any

from muniment.memory.config.schema import Category, Forgetting, Ledger
from muniment.memory.domain.maintenance import RetentionTerms
from muniment.memory.domain.memory import StoredMemory
from muniment.memory.domain.scope import Scope

_LASTING = 5  # importance; it does not fade
_MOST_DAYS = 36_500  # the limit of any term, so that dates stay within the calendar


def build_terms(forgetting: Forgetting, ledger: Ledger, categories: Mapping[str, Category]) -> RetentionTerms:
    """The retention terms of the settings. Memories of a category that is always in context are never forgotten."""
    days: dict[str, int | None] = {
        name: None if category.context == "all" else forgetting.categories.get(name, forgetting.untouched_days)
        for name, category in categories.items()
    }
    return RetentionTerms(
        untouched_days=min(forgetting.untouched_days, _MOST_DAYS),
        categories=_bound_days(days),
        importance_below=forgetting.importance_below,
        fade_days=min(forgetting.fade_days, _MOST_DAYS),
        scopes=_bound_days(forgetting.scopes),
        turns=timedelta(days=min(ledger.retention_days, _MOST_DAYS)),
        events=timedelta(days=min(ledger.events_days, _MOST_DAYS)),
    )


def hash_terms(terms: RetentionTerms) -> str:
    """A hash of the terms, the same in every process: 16 hexadecimal digits."""
    values = (getattr(terms, value.name) for value in fields(terms))
    normalized = [sorted(value.items()) if isinstance(value, Mapping) else value for value in values]
    return blake2b(repr(normalized).encode(), digest_size=8).hexdigest()


def find_scope_days(terms: RetentionTerms, kind: str, name: str | None) -> int | None:
    """The days of a scope by its name, else by its kind; None if it has no term or no name."""
    return None if name is None else terms.scopes.get(f"{kind}:{name}", terms.scopes.get(kind))


def _bound_days(days: Mapping[str, int | None]) -> dict[str, int | None]:
    return {name: None if limit is None else min(limit, _MOST_DAYS) for name, limit in days.items()}


def find_last_touch(memory: StoredMemory) -> datetime:
    """The time of the last change or retrieval of a memory; at least its creation, for its date may be in the past."""
    return max(memory.created_at, memory.updated_at, memory.last_accessed_at or memory.updated_at)


def find_lifetime(scope: Scope, memory: StoredMemory, terms: RetentionTerms) -> timedelta | None:
    """The time from the last touch until a memory of this space is forgotten; None for never, as what a resource says.

    The scope with the fewest days decides. Without one the importance does: it falls by one every `fade_days`, down to
    1, and an importance of 5 does not fall."""
    untouched = terms.categories.get(memory.category, terms.untouched_days)
    if memory.state != "active" or memory.pinned or memory.is_of_resource or untouched is None:
        return None
    days = _find_shortest_days(scope, memory, terms)
    below = terms.importance_below
    if days is None and below > 1 and (memory.importance < _LASTING or below > _LASTING):
        days = max(untouched, max(0, memory.importance - below + 1) * terms.fade_days)
    return None if days is None else timedelta(days=days)


def _find_shortest_days(scope: Scope, memory: StoredMemory, terms: RetentionTerms) -> int | None:
    days = (
        find_scope_days(terms, scope.owner_type, scope.owner),
        find_scope_days(terms, "agent", memory.agent_id),
        find_scope_days(terms, "session", memory.session_id),
        find_scope_days(terms, "run", memory.run_id),
    )
    return min((limit for limit in days if limit is not None), default=None)


def has_expired(memory: StoredMemory, now: datetime) -> bool:
    """Whether the end that a memory was given is over."""
    return memory.expires_at is not None and memory.expires_at <= now


def is_forgettable(scope: Scope, memory: StoredMemory, terms: RetentionTerms, now: datetime) -> bool:
    """Whether a memory of this space is forgotten at `now`: it has expired, or nobody touched it for long enough."""
    if memory.state == "active" and has_expired(memory, now):
        return True
    lasting = find_lifetime(scope, memory, terms)
    return lasting is not None and now - find_last_touch(memory) >= lasting


def describe_reason(memory: StoredMemory, now: datetime) -> dict[str, Any]:
    """The reason for the journal: that it has expired, or the whole days since the last touch."""
    if has_expired(memory, now):
        return {"why": "expired"}
    return {"why": "untouched", "days": (now - find_last_touch(memory)).days}
