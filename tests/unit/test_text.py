"""Cleaning: what a text looks like before anything reads it."""

import unicodedata

import pytest
from hypothesis import given, strategies as st

from muniment.memory.rules.language.tokens import normalize_text, parse_vocabulary

ANY_TEXT = st.text(st.characters(exclude_categories=()))  # lone surrogates too


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("Cafe\u0301", "Caf\u00e9"),
        ("a\x00b", "a\ufffdb"),
        ("a\ud800b", "a\ufffdb"),
        ("\ud83d\ude00", "\U0001f600"),
        ("\u201cI\u2019m \u2018in\u2019\u201d", "\"I'm 'in'\""),
        ("bell\x07 escape\x1b tab\t", "bell escape tab\t"),
        ("one\r\ntwo\rthree\n", "one\ntwo\nthree\n"),
        ("safe\u202egpj.exe\u2066x\u2069", "safegpj.exex"),
        ("שלום עולם", "שלום עולם"),
        ("مرحبا", "مرحبا"),
        ("👩\u200d👩\u200d👧\u200d👦 🏳️\u200d🌈", "👩\u200d👩\u200d👧\u200d👦 🏳️\u200d🌈"),
        ("“你好”", '"你好"'),
        ("", ""),
    ],
)
def test_clean(said: str, kept: str) -> None:
    """Look-alikes become one, what cannot be read goes, what people write stays."""
    assert normalize_text(said) == kept


@given(ANY_TEXT)
def test_clean_again_changes_nothing(text: str) -> None:
    """A clean text is NFC, encodable, free of controls, and stays as it is."""
    once = normalize_text(text)
    assert normalize_text(once) == once == unicodedata.normalize("NFC", once)
    once.encode()
    assert not any(ord(c) < 32 and c not in "\n\t" for c in once)


def test_vocabulary_is_the_words_of_a_prose_list() -> None:
    """Lines and blanks do not count."""
    assert parse_vocabulary(" one two\n  three ") == {"one", "two", "three"}
