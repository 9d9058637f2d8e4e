"""Typing errors find what is meant, of what the agent may read and of the time that is asked about, and cost nothing
where words are found."""

from typing import Any

import pytest

from muniment.memory.client import Memory
from muniment.memory.domain.query import Filters, Query
from tests.engine import engine, note, scope

TEXTS = ("The marmalade stands in the cellar.", "An archivist came on Monday.", "The blanket is at the laundry.")


async def found(memory: Memory, text: str, **more: Any) -> list[str]:
    answer = await memory.query(scope(), "supervisor", Query(text=text, **more))
    return [hit.memory.text for hit in answer.hits]


async def test_a_typing_error_finds_what_is_meant(database_url: str) -> None:
    """Also where an alias has the word; a word that is near to none finds what it found."""
    async with engine(database_url) as memory:
        await memory.ingest(scope(), [note(text) for text in TEXTS])
        await memory.ingest(scope(), [note("Production has two zones.", aliases=("kubernetes",))])
        assert await found(memory, "marmalde") == [TEXTS[0]]
        assert await found(memory, "Who is the archivits?") == [TEXTS[1]]
        assert await found(memory, "kubernetse") == ["Production has two zones."]
        assert await found(memory, "zzyzzyvax") == []
        brief = await memory.brief(scope(), "supervisor", "What about the marmalde?")
        assert [bullet for bullet in brief.bullets if "marmalade" in bullet]


async def test_only_words_that_may_be_read_are_guessed(database_url: str) -> None:
    """Neither those of another space, nor of a category, a revision or a filter that the query does not read."""
    async with engine(database_url) as memory:
        await memory.ingest(scope("bob"), [note(TEXTS[0])])
        await memory.ingest(scope(), [note(TEXTS[1], category="goals"), note(TEXTS[2])])
        before = await memory.read_status(scope())
        [later] = (await memory.keep_candidates(scope(), [note("A trombone hangs on the wall.")])).changes
        assert await found(memory, "marmalde") == []
        assert await found(memory, "archivits", categories=("activity",)) == []
        assert await found(memory, "archivits", filters=Filters(category="activity")) == []
        assert await found(memory, "tromboen") == [later.after.text]
        assert await found(memory, "tromboen", as_of=before["rev"]) == []


async def test_memories_are_read_again_only_for_a_typing_error(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with engine(database_url) as memory:
        await memory.ingest(scope(), [note(text) for text in TEXTS])
        reads = memory.engine.store.reads
        calls: list[Any] = []
        read_snapshot = reads.read_snapshot

        async def count(*given: Any, **more: Any) -> Any:
            calls.append(given)
            return await read_snapshot(*given, **more)

        monkeypatch.setattr(reads, "read_snapshot", count)
        for text in ("marmalade", "Where is the umbrella?", "Is the blanket clean?", "毯子在哪里？"):
            await found(memory, text)
        assert len(calls) == 4
        await found(memory, "marmalde")
        assert len(calls) == 7
