"""What is said of a space in a language that its embedder does not read."""

from __future__ import annotations

from pathlib import Path

import platformdirs
import pytest

from muniment.memory import bootstrap
from muniment.memory.config.settings import DEFAULT_EMBEDDER
from muniment.testing.fakes import FixedClock
from tests.engine import NOON, engine, note, scope, settings

CACHE = Path(platformdirs.user_cache_dir("muniment")) / "models" / DEFAULT_EMBEDDER
ENGLISH = [f"The {thing} is in the attic, where my aunt put it" for thing in ("tent", "sledge", "lamp", "map", "drum")]
GERMAN = [
    "Das Zelt ist auf dem Dachboden, und niemand findet es dort",
    "Wir haben drei Stühle in der Werkstatt, aber keinen Tisch",
    "Die Miete wird ab Januar nicht mehr bar bezahlt",
    "Mein Onkel hat noch nie einen Film im Kino gesehen",
    "Am Sonntag gehen wir mit dem Hund durch den Wald",
    "Der Schlüssel liegt unter einem Stein neben der Treppe",
    "Ich mag keinen Regen, weil die Haare dann nass werden",
]
CHINESE = [f"{thing}放在阁楼上" for thing in ("帐篷", "雪橇", "台灯", "地图", "鼓", "椅子")]


@pytest.mark.parametrize(
    ("texts", "hint"),
    [
        (ENGLISH, None),
        (["Zelt: Dachboden", "Fass, Rad, Buch"] * 5, None),
        (GERMAN[:4], None),
        (ENGLISH + GERMAN[:5], None),
        (ENGLISH[:2] + GERMAN, "78% of the memories are in German"),
        (ENGLISH[:2] + CHINESE, "75% of the memories are in Chinese"),
        (GERMAN + CHINESE, "100% of the memories are in German"),
    ],
    ids=["english", "unclear", "few", "half", "german", "chinese", "both"],
)
async def test_the_status_names_the_language_and_who_reads_it(
    database_url: str, texts: list[str], hint: str | None
) -> None:
    """Where most memories that show their language are in one that the default embedder does not know."""
    own = settings(database_url, MUNIMENT_EMBEDDER=DEFAULT_EMBEDDER, MUNIMENT_EMBEDDER_FOLDER=str(CACHE))
    async with bootstrap.create_memory(own, clock=FixedClock(NOON)) as memory:
        await memory.load(scope(), [{"text": text, "category": "activity"} for text in texts])
        found = (await memory.read_status(scope())).get("hint")
        if hint is None:
            assert found is None
        else:
            assert found
            assert found.startswith(hint)
            assert f"which {DEFAULT_EMBEDDER} does not read; multilingual-e5-small-q4 can" in found
        # Another space of the database is not meant.
        assert "hint" not in await memory.read_status(scope("bo"))


async def test_nothing_is_said_of_an_embedder_that_may_read_all(database_url: str) -> None:
    """Nothing is known of it."""
    async with engine(database_url) as memory:
        await memory.ingest(scope(), [note(text) for text in CHINESE])
        assert "hint" not in await memory.read_status(scope())
