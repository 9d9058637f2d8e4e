"""The quick look before redaction lets nothing pass that redaction would change."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, strategies as st

from muniment.memory.rules.language.tokens import normalize_text
from muniment.memory.rules.redaction import redact
from muniment.memory.rules.redaction.redact import needs_no_redaction, redact_secrets
from muniment.memory.rules.redaction.secret_data import load_secret_data

PATTERNS = [
    pattern
    for found in vars(redact).values()
    for pattern in (found if isinstance(found, tuple) else (found,))
    if isinstance(pattern, re.Pattern)
]
NAMES = [
    name.rstrip("*")
    for kind in ("passwords", "keys", "phrases", "logins", "codes")
    for names in load_secret_data("password_words").get_table(kind, ",").values()
    for name in names
]
JOINTS = [": ", " is ", " ", " = ", "\n", " | ", "是"]
NAMED = st.builds("{}{}{}".format, st.sampled_from(NAMES), st.sampled_from(JOINTS), st.text(min_size=1))
SECRETS = [NAMED, *(st.from_regex(pattern) for pattern in PATTERNS)]
WORDS = st.sampled_from(
    [
        "the",
        "pin",
        "is",
        "4",
        "1",
        "23",
        "DE89",
        "3704",
        "0044",
        "0532",
        "0130",
        "00",
        "5500",
        "0055",
        "5555",
        "5559",
        "otp",
        "Ⅷ",
        "٣",
        "my",
        "K",
        "ı",
    ]
)


def test_the_patterns_of_redaction_are_found() -> None:
    """The test below looks at them all."""
    assert len(PATTERNS) >= 10
    assert len(NAMES) >= 100


@given(st.one_of(*SECRETS), st.booleans(), st.booleans())
def test_what_a_pattern_of_redaction_matches(text: str, email: bool, phone: bool) -> None:
    """A text around which any pattern was written passes only if redaction leaves it as it is."""
    passes(text, email, phone)


@given(st.lists(WORDS).map(" ".join), st.booleans(), st.booleans())
def test_numbers_in_words(text: str, email: bool, phone: bool) -> None:
    """Cards, accounts and codes made of pieces do not pass."""
    passes(text, email, phone)
    passes(text.replace(" ", ""), email, phone)


@given(st.text())
def test_any_text(text: str) -> None:
    """Nor does what cleaning would change."""
    passes(text, True, True)


def passes(text: str, email: bool, phone: bool) -> None:
    if needs_no_redaction(text, email=email, phone=phone):
        assert normalize_text(text) == text
        assert redact_secrets(text, email=email, phone=phone, patterns=()) == (text, 0)


@pytest.mark.parametrize(
    "text", ["We planted eleven quince trees in 2024", "我们种了树", "It cost 12 euros; a fair price!", ""]
)
def test_an_ordinary_text_passes(text: str) -> None:
    """Otherwise the look would be for nothing."""
    assert needs_no_redaction(text, email=True, phone=True)


@pytest.mark.parametrize(
    "text", ["ſk-abcdefghij0123456789", "tab\there\x01", "“quoted”", "mail ana@example.org", "call +49 30 1234567"]
)
def test_what_is_in_doubt_does_not(text: str) -> None:
    """Letters that a pattern reads as others, controls, quotes, addresses and numbers."""
    assert not needs_no_redaction(text, email=True, phone=True)


@pytest.mark.parametrize(
    "mark",
    [
        "a_b",
        "-----",
        "sk-",
        "glpat-",
        "://",
        ":AA",
        "AKIA",
        "ASIA",
        "xox",
        "AIza",
        "eyJ",
        "Bearer",
        "Basic",
        "token",
        "secret",
        "pass",
        "pw",
        "KEY",
        "GB12",
    ],
)
def test_what_a_secret_has_in_it_does_not(mark: str) -> None:
    """However little else of one there is: redaction has the last word."""
    assert not needs_no_redaction(f"The {mark} of it")
