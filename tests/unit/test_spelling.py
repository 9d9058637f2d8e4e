"""Typing errors in a query: which words are perhaps some, and what they are read as."""

import pytest

from muniment.memory.rules.retrieval.question import find_unknown_words
from muniment.memory.rules.retrieval.spelling import correct_words

VOCABULARY = ("marmalade", "orchestra", "trumpet", "blanket", "planet", "plants", "archivist")


@pytest.mark.parametrize(
    ("typed", "right"),
    [
        ("marmalde", "marmalade"),  # a letter is left out
        ("trummpet", "trumpet"),  # one is there twice
        ("trupmet", "trumpet"),  # two have changed places
        ("trumoet", "trumpet"),  # one is another
        ("orchest", "orchestra"),  # the end is missing
        ("archivits", "archivist"),
        ("Marmalde", "marmalade"),
    ],
)
def test_a_typing_error_is_read_as_the_nearest_word(typed: str, right: str) -> None:
    unknown = find_unknown_words(
        f"Where is the {typed}?", {"marmald", "trummpet", "trupmet", "trumoet", "orchest", "archivit"}
    )
    assert correct_words(f"Where is the {typed}?", unknown, VOCABULARY) == f"Where is the {right}?"


@pytest.mark.parametrize(
    ("text", "missing"),
    [
        ("Where is the trumpet?", {"trumpet"}),  # a word as the vocabulary has it
        ("Where is the trupmet?", set()),  # a memory has it as it stands
        ("Where is the trup?", {"trup"}),  # too short
        ("trupmet 在哪里?", {"trupmet"}),
        ("trupmet sogodeke befaka", {"trupmet"}),  # in no language that is known
    ],
)
def test_other_words_are_no_typing_errors(text: str, missing: set[str]) -> None:
    assert find_unknown_words(text, missing) == []


@pytest.mark.parametrize(
    ("typed", "vocabulary"),
    [("planex", ("planet", "planer")), ("drumpet", ("trumpet",)), ("trxxpet", ("trumpet",))],
)
def test_what_is_near_to_none_or_to_two_words_stays(typed: str, vocabulary: tuple[str, ...]) -> None:
    """Another first letter is another word; and where two words are as near, neither is meant for certain."""
    assert correct_words(f"The {typed}", [typed], vocabulary) is None
