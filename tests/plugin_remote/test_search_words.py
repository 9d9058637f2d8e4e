"""What a search sends to a service (P-85): words, and no sentence."""

from __future__ import annotations

import pytest

from muniment.memory.rules.language.tokens import extract_terms
from muniment.plugin.stores.remote.search_words import list_search_words
from muniment.plugin.stores.remote.shapes import SearchShape
from tests.plugin_stores.items import ask


@pytest.mark.parametrize(
    "text",
    ["Which cache do we use for the running deployments?", "我们上次的数据库迁移做到哪里了", "Release 2.1 of Atlas"],
)
def test_the_words_are_those_of_the_text_and_no_sentence_is(text: str) -> None:
    """A service finds by them what it would find by the text."""
    sent = SearchShape.from_query(ask(text)).text
    assert set(extract_terms(sent)) == set(extract_terms(text))
    assert text not in sent
    assert sent.split() == sorted(sent.split())


def test_a_long_text_sends_few_words() -> None:
    """A pasted book does not leave the machine."""
    assert len(list_search_words(" ".join(f"word{number}" for number in range(10_000))).split()) == 64
    assert not list_search_words("of the and is")
