"""Fixtures of the gateway's tests: those of the command line."""

from tests.faces.conftest import environment, muniment, process

__all__ = ["environment", "muniment", "process"]
