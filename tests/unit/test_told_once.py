"""What a message says once is kept once, and what is said only on the way to it is not kept."""

from datetime import UTC, datetime

import pytest

from muniment.memory.domain.turn import Turn
from muniment.memory.rules.extraction.extract import extract_statements

AT = datetime(2026, 5, 8, 13, 56, tzinfo=UTC)  # a Friday


def kept(text: str) -> list[str]:
    """The statements of a message, without those that only correct what is known."""
    turn = Turn.make(session="s", key="k", role="user", text=text, at=AT)
    return [one.text for one in extract_statements(turn).candidates if not one.is_correction]


@pytest.mark.parametrize(
    ("text", "statements"),
    [
        ("My colleague Ines draws all the maps.", ["The user's colleague Ines draws all the maps."]),
        ("My friend Pavel is allergic to nuts", ["The user's friend Pavel is allergic to nuts"]),
        # a relative is known by the name, and so is who has no other line
        ("My sister Ida is 30", ["The user's sister is Ida", "The user's sister Ida is 30 years old"]),
        ("My colleague is Ines", ["The user's colleague is Ines"]),
    ],
)
def test_who_somebody_is_stands_in_what_they_do(text: str, statements: list[str]) -> None:
    """One line for an acquaintance and what is said of them."""
    assert kept(text) == statements


def test_a_note_has_whom_it_names() -> None:
    """So that it is found by the person, as the fact that it stands for would be."""
    turn = Turn.make(session="s", key="k", role="user", text="My colleague Ines draws all the maps.", at=AT)
    (note,) = extract_statements(turn).candidates
    assert note.fact is not None
    assert note.fact.persons == ("Ines",)


@pytest.mark.parametrize(
    ("text", "statements"),
    [
        ("哦不对，小雨昨天刚过完生日，已经九岁了。", ["小雨九岁"]),
        (
            "My sister Ida just had her birthday, she's 30",
            ["The user's sister is Ida", "The user's sister Ida is 30 years old"],
        ),
        (
            "No wait, my brother Tom lives in Oslo",
            ["The user's brother is Tom", "The user's brother Tom lives in Oslo"],
        ),
        ("I just had my birthday party on a boat", ["The user just had the user's birthday party on a boat."]),
    ],
)
def test_what_a_fact_follows_from_is_not_noted_beside_it(text: str, statements: list[str]) -> None:
    """Neither the birthday that an age follows from nor that something was wrong; without the fact it is."""
    assert kept(text) == statements


@pytest.mark.parametrize(
    ("text", "statements"),
    [
        (
            "Sorry, my cousin's name is Rowan, not Rowena. My old glasses deceived me.",
            ["The user's cousin is Rowan, not Rowena"],
        ),
        ("I looked at the label again: turns out I'm not allergic to latex.", ["The user is not allergic to latex"]),
        # it says something itself
        (
            "Sorry, my cousin's name is Rowan, not Rowena. I was diagnosed with asthma.",
            ["The user's cousin is Rowan, not Rowena", "The user was diagnosed with asthma."],
        ),
        # nothing is corrected
        (
            "My cousin's name is Rowan. My old glasses deceived me.",
            ["The user's cousin is Rowan", "The user's old glasses deceived the user."],
        ),
    ],
)
def test_how_a_correction_came_about_is_not_noted(text: str, statements: list[str]) -> None:
    """A sentence beside it that names nobody and nothing, and no day."""
    assert kept(text) == statements


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("I'm off to fetch the laundry, bye!", 0),
        ("好了我去开会了，回头见", 0),
        ("我去拿快递了，再见", 0),
        ("I'm moving to Lisbon on Friday, bye!", 1),
        ("I'm off to fetch the laundry every morning", 1),
    ],
)
def test_who_says_goodbye_tells_of_the_next_minutes(text: str, count: int) -> None:
    """Unless a name or a number is in it."""
    assert len(kept(text)) == count


@pytest.mark.parametrize("word", ["please", "thanks", "thank you"])
def test_a_courtesy_ends_what_is_asked(word: str) -> None:
    """Also without a comma behind it."""
    assert kept(f"Call me Jo {word} I own a kayak") == ["Preferred name is Jo", "The user owns a kayak."]
