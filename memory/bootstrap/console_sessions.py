"""Makes the console's logins over the connections of tokens that are open."""

from __future__ import annotations

from muniment.memory.flows.console_sessions import SESSION_SPAN, ConsoleSessions
from muniment.memory.flows.tokens import Tokens
from muniment.memory.stores.postgres.operation.console_sessions import PostgresConsoleSessions
from muniment.memory.stores.postgres.operation.tokens import PostgresTokens

__all__ = ["SESSION_SPAN", "ConsoleSessions", "make_console_sessions"]


def make_console_sessions(tokens: Tokens) -> ConsoleSessions:
    """Return the logins of an installation over the connections of its tokens, which have to be open while they are
    used."""
    store = tokens.store
    if not isinstance(store, PostgresTokens):
        raise TypeError(type(store).__name__)
    return ConsoleSessions(store=PostgresConsoleSessions(store.connections), clock=tokens.clock, key=tokens.key)
