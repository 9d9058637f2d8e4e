"""Memory for any host: a middleware of a chain, over a file, a server, or the file first and the server when needed."""

from __future__ import annotations

from muniment.plugin.opening import open_plugin

__all__ = ["open_plugin"]
