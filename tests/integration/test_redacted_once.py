"""A turn of `sanitize_turn` is learned and recorded without being redacted again, and stored as plain text."""

from __future__ import annotations

from dataclasses import replace

import psycopg
import pytest

from muniment.memory.domain.ids import SafeText
from muniment.memory.errors import TooLarge
from muniment.memory.rules.redaction import redact
from tests.engine import engine, said, scope, settings

TEXT = "I live in Porto. My password is: hunter2."


@pytest.fixture
def searched(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The texts in which secrets were searched for, in order."""
    texts: list[str] = []
    search = redact.Redactor.sanitize_uncached

    def count_search(self: redact.Redactor, text: str) -> str:
        texts.append(text)
        return search(self, text)

    monkeypatch.setattr(redact.Redactor, "sanitize_uncached", count_search)
    return texts


async def test_a_turn_is_redacted_once(database_url: str, searched: list[str]) -> None:
    ana = scope()
    raw = replace(said(TEXT), path="notes.txt", tags=("work",), actor="ana")
    async with engine(database_url) as memory:
        turn = memory.conversation.sanitize_turn(ana, raw)
        assert sorted(searched) == sorted([TEXT, "notes.txt", "work", "ana"])
        receipt = await memory.learn(ana, turn)
        await memory.conversation.record(ana, [turn])
        assert searched.count(TEXT) == 1
        assert not [text for text in searched if "hunter2" in text and text != TEXT]
        assert turn.text not in searched
        (memo,) = (change.after for change in receipt.changes)
        assert memo.turns == (raw.id,)
    assert isinstance(turn.text, SafeText)
    assert turn.id == raw.id
    with psycopg.connect(database_url) as conn:
        rows = conn.execute("select text, path, tags, actor from muniment.turns").fetchall()
    assert rows == [("I live in Porto. My password is: [redacted:password].", "notes.txt", ["work"], "ana")]


async def test_a_turn_that_was_not_redacted_before_is_redacted_by_each_call_once(
    database_url: str, searched: list[str]
) -> None:
    ana, raw = scope(), said(TEXT)
    async with engine(database_url) as memory:
        await memory.learn(ana, raw)
        assert searched.count(TEXT) == 1
        assert "hunter2" not in str(await memory.export(ana))


async def test_a_denied_turn_stays_as_it_is_and_is_refused(database_url: str) -> None:
    ana, raw = scope(), replace(said(TEXT), tags=("private",))
    tuned = settings(database_url)
    tuned = tuned.model_copy(update={"redact": tuned.redact.model_copy(update={"deny_tags": ("private",)})})
    async with engine(database_url, tuned=tuned) as memory:
        turn = memory.conversation.sanitize_turn(ana, raw)
        assert turn is raw
        assert (await memory.learn(ana, turn)).skipped == "denied tag"
        await memory.conversation.record(ana, [turn])
        assert [row["type"] for row in await memory.export(ana)] in ([], ["space"])


async def test_a_turn_that_is_too_long_is_refused(database_url: str) -> None:
    tuned = settings(database_url)
    tuned = tuned.model_copy(update={"limits": tuned.limits.model_copy(update={"turn_chars": 10})})
    async with engine(database_url, tuned=tuned) as memory:
        with pytest.raises(TooLarge):
            memory.conversation.sanitize_turn(scope(), said(TEXT))
