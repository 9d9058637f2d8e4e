"""`remember`: what a person asks to keep is kept whole, or refused with the reason."""

from __future__ import annotations

import pytest

from muniment.memory.client import Memory
from muniment.memory.domain.scope import Scope
from muniment.memory.errors import BadInput

WHO = Scope(owner="ana")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("What is my name?", "it is a question"),
        ("Where do I live", "it is a question"),
        ("我叫什么名字？", "it is a question"),
        ("ok", "nothing in it to remember"),
        ("Thanks!", "nothing in it to remember"),
        ("好的", "nothing in it to remember"),
    ],
)
async def test_what_states_nothing_is_refused(memory: Memory, text: str, why: str) -> None:
    """A question and a mere "ok" are no memories, and the error says so."""
    with pytest.raises(BadInput, match=why):
        await memory.remember(WHO, text)
    assert not await memory.list(WHO)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("I have a dog and a house and I like jazz", ["dog", "house", "jazz"]),
        ("I take metformin 500mg twice a day and hate needles", ["metformin 500mg", "needles"]),
        ("我有一只狗和一套房子，我喜欢爵士乐", ["狗", "房子", "爵士乐"]),
    ],
)
async def test_every_part_is_kept(memory: Memory, text: str, parts: list[str]) -> None:
    """An enumeration loses no part to the one before or after it."""
    await memory.remember(WHO, text)
    kept = " ".join(record.text for record in await memory.list(WHO))
    assert all(part in kept for part in parts), kept


async def test_what_was_redacted_is_named(memory: Memory) -> None:
    """The receipt says what was left out of a text that is kept."""
    receipt = await memory.remember(WHO, "My dog is called Rex and my password is hunter2x")
    assert receipt.left_out == ("a password",)
    assert "hunter2x" not in " ".join(change.after.text for change in receipt.changes)
