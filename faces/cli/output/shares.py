"""A share as JSON, and as a row of a table."""

from __future__ import annotations

from muniment.memory.codec import encode_value
from muniment.memory.domain.scope import Scope, Share


def encode_share(share: Share) -> dict[str, str]:
    """Return whose memory is shared, with whom, since when and by whom."""
    return {
        "tenant": share.shared.tenant,
        "owner": _format_owner(share.shared),
        "reader": "everybody" if share.reader is None else _format_owner(share.reader),
        "granted_by": share.granted_by,
        "since": encode_value(share.since),
    }


def _format_owner(scope: Scope) -> str:
    return f"{scope.owner_type}:{scope.owner}"
