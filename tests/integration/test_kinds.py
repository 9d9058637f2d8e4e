"""What people say of their work is found by those who ask for it."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from muniment.memory.client import Memory
from muniment.memory.domain.query import Query
from tests.engine import engine, said, scope

WHO = scope()
SAID = (
    "We decided to use pnpm.",
    "Always run the linter before committing.",
    "The fix for the CI timeout is to raise the heap.",
    "I need to renew the certificate by Friday.",
    "周五不准部署。",
)


@pytest.fixture
async def memory(database_url: str) -> AsyncIterator[Memory]:
    """An engine that has been told of some work."""
    async with engine(database_url) as opened:
        for text in SAID:
            await opened.learn(WHO, said(text, key=text))
        yield opened


async def test_each_has_its_kind(memory: Memory) -> None:
    """Also in the database, where they are listed by it."""
    kinds = {one.fact.kind for one in await memory.list(WHO) if one.fact}
    assert kinds == {"decision", "rule", "fix", "todo"}


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("which package manager do we use?", "pnpm"),
        ("what did we decide?", "pnpm"),
        ("what are our rules?", "linter"),
        ("how was the CI timeout solved?", "heap"),
        ("what do I have to do?", "certificate"),
        ("我们用哪个包管理器？", "pnpm"),
        ("什么时候不能部署？", "部署"),
    ],
)
async def test_who_asks_finds_it(memory: Memory, question: str, answer: str) -> None:
    """First of all that is shown, though the question has none of its words."""
    found = await memory.query(WHO, "supervisor", Query(text=question))
    assert answer in found.hits[0].memory.text
