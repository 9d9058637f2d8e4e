"""What a turn does when memory fails: it goes on, says so in one sentence, and leaves a trace."""

from __future__ import annotations

import logging
from contextlib import suppress

from muniment.memory.client import Memory
from muniment.memory.domain.journal import Node
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.usage import Op, OpsEvent
from muniment.memory.errors import BadInput, MunimentError

_log = logging.getLogger(__name__)


async def report_failure(memory: Memory, scope: Scope, node: Node, op: Op, error: MunimentError) -> str:
    """Log the failure, track it where that is possible, and return the sentence for the user."""
    if isinstance(error, BadInput):
        return str(error)
    _log.warning("memory failed in %s: %s: %s", node, type(error).__name__, error)
    with suppress(MunimentError):  # what cannot be reached cannot be told that it cannot be reached
        await memory.track(scope, OpsEvent(node=node, op=op, status="error", ts=memory.now(), thread_id=scope.thread))
    consequence = "was made without it" if node == "context" else "may not be remembered"
    return f"Memory is unavailable at the moment ({type(error).__name__}), so this reply {consequence}."
