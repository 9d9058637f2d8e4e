"""The memory of a user of the service, opened beside it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

from muniment.memory.bootstrap import open_memory
from muniment.memory.client import Memory
from muniment.memory.config.settings import load_settings
from muniment.memory.domain.scope import Scope
from tests.conftest import alone
from tests.http.conftest import Serving

T = TypeVar("T")
HOSTILE = (
    "<script>alert(1)</script> is what she typed",
    '"><img src=x onerror=alert(1)> stood in her letter',
    "{{ 7*7 }} and {% raw %} are her templates",
    "记" * 280,
    "היא גרה בליסבון ואוהבת קפה שחור",
    "She\u200bwrites\u200bwith\u200bgaps",
    "x" * 10_000,
)


def find_scope(serving: Serving, owner: str = "ana") -> Scope:
    """The scope of a user of the test's tenant."""
    return Scope(tenant=serving.tenant, owner=owner, actor=owner)


def run_in(serving: Serving, work: Callable[[Memory], Awaitable[T]]) -> T:
    """What a coroutine returns that works with the memory of the service's database."""

    async def open_and_work() -> T:
        async with open_memory(load_settings(serving.environment)) as memory:
            return await work(memory)

    return alone(open_and_work())
