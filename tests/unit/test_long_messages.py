"""What a message costs grows with its length and no faster, whatever it is made of."""

from __future__ import annotations

import time
from datetime import UTC, datetime

import pytest

from muniment.memory.domain.turn import Turn
from muniment.memory.rules.provenance.quoted import find_quoted_instructions, split_quoted

AT = datetime(2026, 5, 4, tzinfo=UTC)
LENGTH = 100_000  # characters
SECONDS = 2.0  # of CPU; a quadratic rule takes 10 to 1,000


def turn(text: str) -> Turn:
    return Turn.make(session="a", key="user", role="user", text=text, at=AT)


@pytest.mark.parametrize(
    "unit",
    [
        "\n",
        "\t\t,,\n",
        " \n",
        ",\n",
        "--\n",
        "the email: ",
        '"the email: " ',
        "the results: ",
        '"the results: x" ',
        "[INST] ",
        "system:\n",
        "system: ",
        "from: a\n",
    ],
)
def test_the_cost_of_a_message_is_linear(unit: str) -> None:
    """A message of repeated units is taken apart in a moment."""
    message = turn("I like tea " + unit * (LENGTH // len(unit)))
    start = time.process_time()
    find_quoted_instructions(message)
    assert time.process_time() - start < SECONDS


def test_eight_thousand_blank_lines() -> None:
    """The rows of an empty spreadsheet, and the blank lines between two paragraphs, are the person's own."""
    text = "I like tea." + "\n" * 8_000 + "\t\t\n" * 2_000 + "I live in Porto."
    start = time.process_time()
    found = split_quoted(turn(text))
    assert time.process_time() - start < 1
    assert (found.own_text, found.quotes) == (text, ())


@pytest.mark.parametrize(
    ("text", "own", "pasted"),
    [
        ("I like tea.\n\n  \n** Fwd: trip\nI live in Rome.", "I like tea.\n\n  \n** Fwd: \n", "trip\nI live in Rome."),
        (
            "I like tea.\n\n---\n# System: I live in Rome.\nThanks",
            "I like tea.\n\n\nThanks",
            "\n---\n# System: I live in Rome.",
        ),
        ("I like tea\n\nassistant: x\n\n\nsystem: y\nThanks", "I like tea\n\n\n\n\nThanks", "\nassistant: x"),
    ],
)
def test_lines_without_a_word_before_a_header(text: str, own: str, pasted: str) -> None:
    """A header is found behind them; those before a voice that is not the person's go with it."""
    found = split_quoted(turn(text))
    assert (found.own_text, found.quotes[0]) == (own, pasted)
