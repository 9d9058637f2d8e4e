"""What stands in for a word of a query."""

from __future__ import annotations

import pytest

from muniment.memory.rules import words
from muniment.memory.rules.kindred import kindred


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ("What is my job?", "The user works as a carpenter"),
        ("Where do I live?", "The user moved to Berlin"),
        ("Am I married?", "The user's wife is Sue"),
        ("When is my birthday?", "The user was born on 3 May 1990"),
        ("What do I drive?", "The user's car is a Skoda"),
        ("我住在哪里？", "用户搬到柏林"),
        ("我结婚了吗？", "用户的妻子是王敏"),
    ],
)
def test_a_question_meets_what_tells_it(asked: str, told: str) -> None:
    """In other words than its own."""
    terms = words.terms(asked)
    assert not set(terms) & words.lexeme_set(told)
    assert {word for word, _ in kindred(terms)} & words.lexeme_set(told)


def test_a_word_of_the_query_stands_in_for_none() -> None:
    """It counts by itself; each other one is named with the place of the word that it stands in for."""
    terms = words.terms("Does my wife work? Is that a job?")
    found = kindred(terms)
    assert found
    assert not {word for word, _ in found} & set(terms)
    assert ("spous", terms.index("wife") + 1) in found
    assert ("career", terms.index("job") + 1) in found


def test_a_long_query_has_no_more_than_a_search_can_bear() -> None:
    """However many of its words have kindred."""
    many = words.terms(
        "live home city job work married wife child parent pet birthday ill allergy hobby car phone study travel"
    )
    assert len(kindred(many)) == 32
    assert kindred(()) == ()
