"""The tables of what waits to be sent, in the local file beside its items."""

from __future__ import annotations

from muniment.plugin.stores.local.migrations import SchemaPart

OUTBOX = SchemaPart("outbox", __name__)
