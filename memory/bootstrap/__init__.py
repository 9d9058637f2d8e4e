"""Joins the adapters and the engine. Only this package names an adapter.

The names below are imported when they are first used, so that a process without a database, such as a host with the
local store of the plugin, loads no driver of one."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from muniment.memory.bootstrap.configured import open_configured_memories, open_token_configs
    from muniment.memory.bootstrap.databases import (
        enable_keepalive,
        ensure_checkpoint_database,
        ensure_database,
        find_checkpoint_address,
        find_owner_address,
        get_server_status,
        grant_login,
        is_same_database,
        migrate_database,
        read_grant_script,
        read_silence_limit,
        scrub_database,
        stop_server,
    )
    from muniment.memory.bootstrap.documents import open_documents
    from muniment.memory.bootstrap.gateways import create_gateway, open_gateway
    from muniment.memory.bootstrap.memories import create_memory, open_memory, read_settings_in_force
    from muniment.memory.bootstrap.models import make_chat_model, make_embedder, make_redactor, make_stored_embedder
    from muniment.memory.bootstrap.proxy_accounts import open_proxy_accounts, run_proxy_accounts
    from muniment.memory.bootstrap.tokens import make_anchor_files, open_shares, open_tokens
    from muniment.memory.bootstrap.transports import create_transport
    from muniment.memory.bootstrap.workers import open_worker, run_worker
    from muniment.memory.flows.proxy_accounts import ProxyAccounts
    from muniment.memory.flows.reading.verification import AnchorFiles
    from muniment.memory.flows.shares import Shares
    from muniment.memory.flows.token_configs import TokenConfigs
    from muniment.memory.flows.tokens import Tokens
    from muniment.memory.models.preload import load_embedder, load_in_background
    from muniment.memory.rules.language.tokens import count_words
    from muniment.memory.rules.resources.markdown import read_markdown

__all__ = [
    "AnchorFiles",
    "ProxyAccounts",
    "Shares",
    "TokenConfigs",
    "Tokens",
    "count_words",
    "create_gateway",
    "create_memory",
    "create_transport",
    "enable_keepalive",
    "ensure_checkpoint_database",
    "ensure_database",
    "find_checkpoint_address",
    "find_owner_address",
    "get_server_status",
    "grant_login",
    "is_same_database",
    "load_embedder",
    "load_in_background",
    "make_anchor_files",
    "make_chat_model",
    "make_embedder",
    "make_redactor",
    "make_stored_embedder",
    "migrate_database",
    "open_configured_memories",
    "open_documents",
    "open_gateway",
    "open_memory",
    "open_proxy_accounts",
    "open_shares",
    "open_token_configs",
    "open_tokens",
    "open_worker",
    "read_grant_script",
    "read_markdown",
    "read_settings_in_force",
    "read_silence_limit",
    "run_proxy_accounts",
    "run_worker",
    "scrub_database",
    "stop_server",
]

_MODULES = {
    "bootstrap.configured": "open_configured_memories open_token_configs",
    "bootstrap.databases": (
        "enable_keepalive ensure_checkpoint_database ensure_database find_checkpoint_address find_owner_address "
        "get_server_status grant_login is_same_database migrate_database read_grant_script read_silence_limit "
        "scrub_database stop_server"
    ),
    "bootstrap.documents": "open_documents",
    "bootstrap.gateways": "create_gateway open_gateway",
    "bootstrap.memories": "create_memory open_memory read_settings_in_force",
    "bootstrap.models": "make_chat_model make_embedder make_redactor make_stored_embedder",
    "bootstrap.proxy_accounts": "open_proxy_accounts run_proxy_accounts",
    "bootstrap.tokens": "make_anchor_files open_shares open_tokens",
    "bootstrap.transports": "create_transport",
    "bootstrap.workers": "open_worker run_worker",
    "flows.proxy_accounts": "ProxyAccounts",
    "flows.reading.verification": "AnchorFiles",
    "flows.shares": "Shares",
    "flows.token_configs": "TokenConfigs",
    "flows.tokens": "Tokens",
    "models.preload": "load_embedder load_in_background",
    "rules.language.tokens": "count_words",
    "rules.resources.markdown": "read_markdown",
}
_HOMES = {name: module for module, names in _MODULES.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
    value = getattr(import_module(f"muniment.memory.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
