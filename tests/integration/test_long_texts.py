"""Texts of more than 4,000 characters: they are read in a thread and for a bounded time, and nothing goes unsaid."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from muniment.memory.client import Memory
from muniment.memory.domain.plan import Receipt
from muniment.memory.errors import TooLarge
from muniment.memory.rules.redaction.redact import Redactor
from tests.engine import engine, said, scope, settings

FIRST = "My sister Anna lives in Porto. "
LONG = FIRST + "".join(f"The shelf number {n} is made of oak and holds {n} books. " for n in range(1_500))
AT_ONCE = 0.001  # seconds: a long text takes longer than that before its first sentence is read


async def learn(url: str, text: str, seconds: float) -> tuple[Receipt, list[str]]:
    """What a turn leaves with this bound on reading: its receipt, and the texts of the memories."""
    ana, tuned = scope(), settings(url)
    tuned = tuned.model_copy(update={"limits": tuned.limits.model_copy(update={"reading_seconds": seconds})})
    async with engine(url, tuned=tuned) as memory:
        receipt = await memory.learn(ana, said(text))
        return receipt, [each.text for each in await memory.list(ana)]


async def test_of_what_takes_too_long_a_note_has_the_beginning(database_url: str) -> None:
    receipt, texts = await learn(database_url, LONG, AT_ONCE)
    (told,) = texts
    assert told.startswith(
        "The user's sister Anna lives in Porto. The shelf number 0 is made of oak and holds 0 books."
    )
    assert len(receipt.left_out) == 1
    assert 'what begins with "My sister Anna lives in Porto.' in receipt.left_out[0]
    assert "limits.reading_seconds" in receipt.left_out[0]


async def test_a_long_text_within_its_time_is_read(database_url: str) -> None:
    receipt, texts = await learn(database_url, FIRST + "The weather is fine. " * 250, 60.0)
    assert receipt.left_out == ()
    assert any("Anna" in text and text.startswith("The user's sister") for text in texts)


async def test_a_short_text_has_no_bound(database_url: str) -> None:
    receipt, texts = await learn(database_url, FIRST * 100, AT_ONCE)
    assert receipt.left_out == ()
    assert all("Anna" in text for text in texts)


async def test_what_is_longer_than_any_sentence_is_noted(database_url: str) -> None:
    endless = "I keep a list of " + "very " * 2_000 + "old maps"
    receipt, texts = await learn(database_url, f"{FIRST}{endless}.", 60.0)
    assert any(text.startswith("The user's sister") for text in texts)
    assert any("a list of very very" in text for text in texts)
    assert 'what begins with "I keep a list of very' in receipt.left_out[0]


@pytest.mark.parametrize("call", ["learn", "remember", "record"])
async def test_a_long_text_is_read_beside_the_event_loop(
    database_url: str, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    """A short one is not: a thread would cost more than the reading."""
    ana, readers = scope(), dict[int, set[int]]()
    sanitize = Redactor.sanitize_uncached

    def watched(self: Redactor, text: str) -> str:
        readers.setdefault(len(text), set()).add(threading.get_ident())
        return sanitize(self, text)

    monkeypatch.setattr(Redactor, "sanitize_uncached", watched)
    calls: dict[str, Callable[[Memory, str], Any]] = {
        "learn": lambda memory, text: memory.learn(ana, said(text)),
        "remember": lambda memory, text: memory.remember(ana, text),
        "record": lambda memory, text: memory.conversation.record(ana, [said(text)]),
    }
    short, long = "I grow orchids in the hall.", "I grow orchids in the hall. " * 200
    async with engine(database_url) as memory:
        await calls[call](memory, short)
        await calls[call](memory, long)
    assert readers[len(short)] == {threading.get_ident()}
    assert threading.get_ident() not in readers[len(long)]


async def test_a_text_that_is_too_long_is_refused_from_the_thread(database_url: str) -> None:
    async with engine(database_url) as memory:
        with pytest.raises(TooLarge, match=r"limits\.turn_chars"):
            await memory.learn(scope(), said("a" * 100_001))


async def test_a_long_text_to_remember_is_kept_word_for_word(database_url: str) -> None:
    ana = scope()
    async with engine(database_url) as memory:
        await memory.remember(ana, LONG)
        (kept,) = await memory.list(ana)
        assert kept.text == LONG.strip()
