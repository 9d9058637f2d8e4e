"""What each node of the supervisor graph does first, and what it does when memory fails."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.runtime import Runtime
from langgraph.types import Command

from muniment.memory.client import Memory
from muniment.memory.config.settings import Settings
from muniment.memory.domain.journal import Node
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.usage import Op, OpsEvent
from muniment.memory.errors import BadInput, Denied, MunimentError
from muniment.nodes.state import State, Who, resolve_scope
from muniment.nodes.time_travel import continue_turn

_log = logging.getLogger(__name__)


async def run_node(
    state: State,
    runtime: Runtime[Who],
    config: RunnableConfig,
    *,
    step: Callable[[State, Scope], Awaitable[State | Command[Any]]],
    settings: Settings,
    has_writes: bool = False,
    is_parallel: bool = False,
) -> State | Command[Any]:
    """Settle whose memory the node uses and as of when, call `step(state, scope)`, and return its update with `as_of`.

    The owner is checked for each node: a run may resume or replay a turn at any of them. `has_writes`: the hot path is
    over. `is_parallel`: another node of the same step settles `as_of`. Raises Denied, BadInput."""
    scope = resolve_scope(runtime, config, settings.tenant)
    if state.get("space") not in {None, str(scope.space)}:
        raise Denied("This thread belongs to another user.")
    place = State() if is_parallel else await continue_turn(state, runtime, config, has_writes=has_writes)
    result = await step(state | place, scope)
    if isinstance(result, Command):
        return replace(result, update=place | (result.update or {}))
    return place | result


async def report_failure(memory: Memory, scope: Scope, node: Node, op: Op, error: MunimentError) -> str:
    """Log the failure, track it where that is possible, and return the sentence for the user."""
    if isinstance(error, BadInput):
        return str(error)
    _log.warning("memory failed in %s: %s: %s", node, type(error).__name__, error)
    with suppress(MunimentError):  # the failure may be one of the store that keeps the events
        await memory.conversation.track(
            scope, OpsEvent(node=node, op=op, status="error", ts=memory.now(), thread_id=scope.thread)
        )
    consequence = "was made without it" if node == "context" else "may not be remembered"
    return f"Memory is unavailable at the moment ({type(error).__name__}), so this reply {consequence}."
