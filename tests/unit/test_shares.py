"""A query with several names: the hits of each name get their share."""

from dataclasses import replace
from uuid import uuid4

import pytest

from muniment.memory.config.settings import load_settings
from muniment.memory.domain.ids import MemoryId
from muniment.memory.domain.memory import StoredMemory
from muniment.memory.domain.query import Hit, Omission
from muniment.memory.domain.search import SearchHit
from muniment.memory.rules.retrieval.rank import RankingContext, rank_hits
from tests.engine import NOON

SETTINGS = load_settings({"HOME": "/nonexistent"})
RANKING = RankingContext(
    query="Where do Ana and Ben live?",
    at=NOON,
    profile=SETTINGS.find_profile("default"),
    recall=SETTINGS.recall,
    categories={},
    threshold=0.2,
    cut_share=0.6,
    names=frozenset({"ana", "ben"}),
)
ABOUT_ANA = {
    "Ana lives in Porto": 0.68,
    "Ana lives with two cats": 0.66,
    "Ana lived in Rome before": 0.64,
    "Ana rents a flat": 0.62,
}
ABOUT_BEN = {"Ben has a house in Braga": 0.4, "Ben grows tomatoes": 0.28}


def rank_texts(cosines: dict[str, float], context: RankingContext = RANKING) -> tuple[list[str], dict[str, str]]:
    texts = {MemoryId(uuid4()): text for text in cosines}
    hits = [
        SearchHit(
            memory=StoredMemory(
                id=id_, kind="semantic", category="goals", text=text, created_at=NOON, updated_at=NOON, actor_id=None
            ),
            cosine=cosines[text],
            keyword=0.0,
        )
        for id_, text in texts.items()
    ]
    ranked = list(rank_hits(hits, context))
    left: dict[str, str] = {texts[each.id]: each.reason for each in ranked if isinstance(each, Omission)}
    return [each.memory.text for each in ranked if isinstance(each, Hit)], left


def test_the_hits_of_each_name_come_by_turns() -> None:
    """The best one of Ben is second, and is not cut beside the best one of Ana; what is far below Ben's best one is."""
    ana, (home, tomatoes) = list(ABOUT_ANA), ABOUT_BEN
    kept, left = rank_texts(ABOUT_ANA | ABOUT_BEN)
    assert kept == [ana[0], home, *ana[1:]]
    assert left == {tomatoes: "far below the best"}


def test_without_shares_one_name_takes_all() -> None:
    kept, left = rank_texts(ABOUT_ANA | ABOUT_BEN, replace(RANKING, names=frozenset({"ana"})))
    assert kept == list(ABOUT_ANA)
    assert left == dict.fromkeys(ABOUT_BEN, "far below the best")


@pytest.mark.parametrize(
    "cosines",
    [
        {"Ana met Ben in Rome": 0.68, "Ana and Ben live in Porto": 0.6, "Ben married Ana": 0.55},
        {"Ana lives in Porto": 0.68, "The user lives in Rome": 0.66, "Ana rents a flat": 0.6},
        {"The user lives in Rome": 0.66, "Porto is by the sea": 0.6},
    ],
)
def test_nothing_changes_where_the_hits_have_the_same_names(cosines: dict[str, float]) -> None:
    assert rank_texts(cosines) == (list(cosines), {})


def test_a_hit_without_a_name_keeps_its_place_and_its_cut() -> None:
    """It is judged beside the best one of all."""
    first, other, low = "The user lives next to both", "The user rents a flat", "The user has a bike"
    ana, (home, tomatoes) = list(ABOUT_ANA), ABOUT_BEN
    kept, left = rank_texts({first: 0.7, **ABOUT_ANA, other: 0.63, **ABOUT_BEN, low: 0.27})
    assert kept[0] == first
    assert kept.index(home) < kept.index(ana[2])
    assert kept.index(other) > kept.index(ana[1])
    assert left == {tomatoes: "far below the best", low: "far below the best"}


def test_a_speaker_is_a_name() -> None:
    """A turn that somebody said is of that name."""
    turns = [
        StoredMemory(
            id=MemoryId(uuid4()),
            kind="episodic",
            category="activity",
            text=text,
            created_at=NOON,
            updated_at=NOON,
            actor_id=actor,
        )
        for text, actor in (("I moved to Porto", "Ana"), ("The flat is small", "Ana"), ("We stay in Braga", "Ben"))
    ]
    hits = [
        SearchHit(memory=turn, cosine=cosine, keyword=0.0)
        for turn, cosine in zip(turns, (0.68, 0.66, 0.4), strict=True)
    ]
    kept = [each.memory.text for each in rank_hits(hits, RANKING) if isinstance(each, Hit)]
    assert kept == ["I moved to Porto", "We stay in Braga", "The flat is small"]
