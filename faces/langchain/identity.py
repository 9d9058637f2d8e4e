"""Whose memory a run of an agent uses: the user of LangGraph's server, or the one that the caller of the run names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.runtime import Runtime, get_runtime

from muniment.memory.config.settings import Settings
from muniment.memory.domain.scope import Scope
from muniment.memory.errors import BadInput
from muniment.nodes.entry import get_identity, resolve_scope
from muniment.nodes.state import DEFAULT_USER, Who

_USER_KEYS = ("user", "user_id")
_MISSING = (
    'whose memory it is: name the user, as in agent.invoke(…, context={"user": "ana"}) with a context_schema that has '
    'the field user, or config={"configurable": {"user": "ana"}}; on LangGraph\'s server the login names it'
)


def resolve_caller(
    settings: Settings, config: RunnableConfig, runtime: Runtime[Any] | None = None, *, user: str | None = None
) -> Scope:
    """The scope of a run by its runtime and its config; `user` is the one of a program that has only one.

    A login of LangGraph's server takes precedence. Raises BadInput that says what is missing, Denied for a context that
    names another user than the login."""
    return resolve_scope_of_run(settings.tenant, config, runtime, user=user)


def resolve_scope_of_run(
    tenant: str, config: RunnableConfig, runtime: Runtime[Any] | None = None, *, user: str | None = None
) -> Scope:
    """The same for a program without settings; `tenant` is that of runs that name none."""
    runtime = runtime or find_runtime()
    given = read_context(runtime.context, config)
    if "user" not in given:
        identity = get_identity(runtime, config.get("configurable", {}))
        if identity is None and user is None:
            raise BadInput(_MISSING)
        given["user"] = DEFAULT_USER if identity else user
    who = Who(**given)
    return resolve_scope(replace(runtime, context=who), config, tenant)


def find_runtime() -> Runtime[Any]:
    """The runtime of the run that this code is called in; an empty one outside of any."""
    try:
        found: Runtime[Any] | None = get_runtime()
    except RuntimeError:  # no run
        found = None
    return found or Runtime()


def read_context(context: Any, config: RunnableConfig) -> dict[str, Any]:
    """What a caller says of whose run it is: in the context, a mapping or an object of any class, or without one among
    what is configurable."""
    source = config.get("configurable", {}) if context is None else context
    keys = (*_USER_KEYS, "tenant", "thread", "project", "app")
    found = {key: source.get(key) if isinstance(source, Mapping) else getattr(source, key, None) for key in keys}
    user = next((found[key] for key in _USER_KEYS if found[key] is not None), None)
    named = {key: found[key] for key in keys if key not in _USER_KEYS and found[key] is not None}
    return named if user is None else named | {"user": user}
