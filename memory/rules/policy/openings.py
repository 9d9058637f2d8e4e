"""Which tokens open which statements of a person, and when they did."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

_READING = frozenset({"read", "admin"})


def list_openings(
    category: str, since: datetime | None, tokens: Sequence[Mapping[str, Any]], allowlists: Mapping[str, Sequence[str]]
) -> list[str]:
    """Return the ids of the tokens by which a statement of a category could be read at some moment since then, or ever.

    `allowlists` are the categories of each agent at this moment; what they were before is not known. A token of some
    projects opens no statement."""
    return [
        str(token["token_id"])
        for token in tokens
        if not token["projects"]
        and _READING.intersection(token["scopes"])
        and (not token["agents"] or any(category in allowlists.get(agent, ()) for agent in token["agents"]))
        and not (since and _has_ended(token, since))
    ]


def _has_ended(token: Mapping[str, Any], at: datetime) -> bool:
    ends = (token["revoked_at"], token["expires_at"])
    return any(end is not None and datetime.fromisoformat(end) <= at for end in ends)
