"""All that is kept of one person: which tables have it, and what a dossier is made of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from muniment.memory.domain.memory import State

# The tables whose rows are of the owner of a space. `memory_versions` and `memories` are read together.
PERSON_TABLES: tuple[str, ...] = (
    "spaces", "memories", "memory_versions", "journal", "relations", "projections", "consent_requests", "erasures",
    "sessions", "turns", "thread_revision", "observations", "extractions", "items", "host_items", "requests", "events",
    "consolidation_runs", "pair_fingerprints", "bisect_replies", "plugin_turns", "plugin_switches", "plugin_audit",
    "proxy_days", "shares",
)  # fmt: skip
# A table of spaces that has nothing of a person -> why.
IMPERSONAL_TABLES: Mapping[str, str] = {
    "postings": "an index of the words of the memories, by numbers; the memories have the words",
    "seals": "digests by which a change of the journal shows; they say nothing without the lines, which a dossier has",
    "reseals": "as those, of lines whose content an erasure has changed",
    "spend": "what a tenant has spent on models in a day; its space is the tenant's own",
    "spend_days": "what a tenant was charged in a day; its space is the tenant's own",
    "swept": "how far a switch of the embedder has got",
}
# The tables that an export has, whose rows restore a space; the other ones go beside it into an archive.
EXPORTED_TABLES: frozenset[str] = frozenset(
    {
        "spaces", "memories", "memory_versions", "journal", "relations", "thread_revision", "turns", "sessions",
        "consent_requests", "observations",
    }
)  # fmt: skip
# What a dossier calls memories -> the states that they are in. Each comes with its former states.
MEMORY_PARTS: Mapping[str, tuple[State, ...]] = {
    "memory": ("active",),
    "waiting": ("pending",),
    "replaced": ("superseded",),
    "refused": ("rejected",),
    "forgotten": ("soft_deleted",),
}
# What follows the row `person` in a dossier, in this order: memories and tables.
DOSSIER_PARTS: tuple[str, ...] = (
    "memory", "waiting", "consent_requests", "replaced", "refused", "forgotten", "erasures", "sessions", "turns",
    "journal", "items", "projections", "observations", "relations", "host_items", "extractions", "events", "requests",
    "thread_revision", "consolidation_runs", "pair_fingerprints", "bisect_replies", "plugin_turns", "plugin_switches",
    "plugin_audit", "proxy_days", "shares", "spaces",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonRow:
    """A row that is kept of a person, as JSON: `part` is its table, or what a dossier calls what it is of."""

    part: str
    row: dict[str, Any]
