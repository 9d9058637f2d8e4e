"""What a text is written in, and the profile of an embedder that goes with it."""

from __future__ import annotations

from datetime import UTC, datetime
from uuid import UUID

import pytest

from muniment.memory.config.schema import CosineBands, EmbedderProfile
from muniment.memory.config.settings import load_settings
from muniment.memory.domain.ids import MemoryId
from muniment.memory.domain.memory import Neighbour
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import Candidate, make_memory
from muniment.memory.rules.language.writing import choose_bands, detect_writing
from muniment.memory.rules.merging.restatements import measure_similarity
from muniment.memory.rules.retrieval.rank import build_weights

GERMAN, LATIN, CHINESE = (
    CosineBands(auto=0.98, check=0.93, fallback=0.87, floor=floor, ceiling=0.95) for floor in (0.78, 0.79, 0.82)
)
MIXED = CosineBands(auto=0.97, check=0.91, fallback=0.84, floor=0.76, ceiling=0.85)
PROFILE = EmbedderProfile(
    auto=0.97,
    check=0.9,
    fallback=0.82,
    floor=0.75,
    ceiling=0.87,
    scripts=("latin", "cjk"),
    by_writing={"de": GERMAN, "latin": LATIN, "han": CHINESE, "mixed": MIXED},
)


@pytest.mark.parametrize(
    ("text", "writing"),
    [
        ("Where do I park my bike?", "en"),
        ("Bo: Lisbon 2024", "plain"),
        ("", "plain"),
        ("???", "plain"),
        ("Die Werkstatt hat den Rasenmäher noch nicht repariert.", "de"),
        ("Elle ne veut pas qu'on lui parle avant midi.", "fr"),
        ("Łódź: wieżowiec", "latin"),
        ("我们的帐篷在阁楼上", "han"),
        ("PostgreSQL 的备份放在哪里？", "han"),
        ("テントは屋根裏にあります", "kana"),
        ("東京都千代田区に引っ越した", "kana"),
        ("텐트는 다락방에 있습니다", "hangul"),
        ("Палатка лежит на чердаке", "cyrillic"),
        ("الخيمة في العلية", "other"),
        ("My teacher 山田 is from Kyoto and this is his book", "en"),
    ],
)
def test_a_writing_is_a_language_of_latin_letters_or_a_script(text: str, writing: str) -> None:
    """A name in another script does not change it, and Chinese characters beside kana are Japanese."""
    assert detect_writing(text) == writing


@pytest.mark.parametrize(
    ("text", "other", "bands"),
    [
        ("Where is my tent?", "The tent is in the attic.", PROFILE),
        ("tent attic", "tent", PROFILE),
        ("Wo ist denn das Zelt?", "Das Zelt ist auf dem Dachboden.", GERMAN),
        ("Wo ist denn das Zelt?", "Zelt: Dachboden", GERMAN),
        ("Wo ist denn das Zelt?", "Zelt: Dachböden", GERMAN),
        ("Zelt: Dachböden", "The tent is in the attic.", MIXED),
        ("Zelt: Dachböden", "Zelt", LATIN),
        ("Wo ist denn das Zelt?", "The tent is in the attic.", MIXED),
        ("帐篷在哪里？", "The tent is in the attic.", MIXED),
        ("帐篷在哪里？", "帐篷在阁楼上", CHINESE),
        ("Где палатка?", "Палатка на чердаке", PROFILE),
    ],
)
def test_a_cosine_is_read_by_both_writings(text: str, other: str, bands: CosineBands) -> None:
    """What does not show its language may be in the other's; a writing without bands of its own has the profile's."""
    assert choose_bands(PROFILE, text, other) is bands
    assert choose_bands(PROFILE, other, text) is bands


def test_a_profile_without_writings_is_one_for_all() -> None:
    """As that of the default embedder, whose results do not depend on what a text is written in."""
    profile = load_settings({}).find_profile("bge-small-en-v1.5-int8")
    assert choose_bands(profile, "帐篷在哪里？", "The tent is in the attic.") is profile


@pytest.mark.parametrize(
    ("text", "band"),
    [("Wir haben das Zelt nicht auf dem Dachboden.", "fallback"), ("They say the tent is in the attic.", "check")],
)
def test_bands_of_merging_are_those_of_the_writing(text: str, band: str) -> None:
    """One cosine is near for English and less so for German, where unrelated texts are nearer to each other."""
    space = Scope(owner="ana")
    new, known = (Candidate(text=text, category="activity", kind="episodic") for _ in range(2))
    memory = make_memory(known, MemoryId(UUID(int=1)), space, datetime(2026, 5, 4, tzinfo=UTC))
    assert measure_similarity(new.text, None, Neighbour(memory=memory, sim=0.91), PROFILE) == (0.91, band)


@pytest.mark.parametrize(
    ("query", "bands"), [("Wo ist denn das Zelt?", GERMAN), ("Where is the tent?", PROFILE), ("帐篷在哪里？", CHINESE)]
)
def test_candidates_are_picked_by_the_writing_of_the_question(query: str, bands: CosineBands) -> None:
    """The store does not know what a memory is written in."""
    weights = build_weights(query, PROFILE, load_settings({}).recall)
    assert (weights.floor, weights.ceiling) == (bands.floor, bands.ceiling)
