"""A service of many tests, and stores that speak with it."""

from __future__ import annotations

from tests.plugin_remote.conftest import connect, served

__all__ = ["connect", "served"]
