"""What a line of an import states: the same as a turn in which its owner says it, all of it or nothing."""

from datetime import UTC, datetime

import pytest

from muniment.memory.domain.turn import Turn
from muniment.memory.rules.extraction.extract import extract_statements
from muniment.memory.rules.extraction.import_lines import extract_line
from muniment.memory.rules.language.english_words import conjugate_verb, get_base_verb
from muniment.memory.rules.statements.third_person import rewrite_first_person
from tests.engine import NOON

SAID = [
    ("The user lives in Rome", "I live in Rome"),
    ("user lives in rome", "i live in rome"),
    ("User currently works at Acme as an engineer.", "I currently work at Acme as an engineer."),
    ("Ana is allergic to nuts and doesn't eat meat", "I am allergic to nuts and don't eat meat"),
    ("The user likes Dr. Lee and lives in Rome. Ana has a cat!", "I like Dr. Lee and live in Rome. I have a cat!"),
    ("User's brother lives in Rome and works at Acme", "my brother lives in Rome and works at Acme"),
    ("Clara is the user's sister", "Clara is my sister"),
    ("Ben lives with the user", "Ben lives with me"),
    ("The user works in the US, in IT", "I work in the US, in IT"),
    ("The user's pronouns are she/her", "my pronouns are she/her"),
    ("The user moved, watches films and has a dog", "I moved, watches films and have a dog"),
    ("用户住在罗马，用户的猫很老", "我住在罗马，我的猫很老"),
    ("Likes hiking in the Alps", "I like hiking in the Alps"),
    ("works as a nurse and lives in rome", "i work as a nurse and live in rome"),
    ("Currently lives in Rome.", "I currently live in Rome."),
    ("Is allergic to nuts", "I am allergic to nuts"),
    ("Can't eat gluten", "I can't eat gluten"),
    ("Name is Ana", "my Name is Ana"),
    ("Pronouns are she/her", "my Pronouns are she/her"),
]
ANOTHER_VOICE = [
    "The user lives in Rome with her husband",
    "I think the user lives in Rome",
    "The user's sister is Clara. She lives in Rome",
    "Users live in Rome",
    "The user and the user's mom baked bread",
    "Ben and the user live in Rome",
    "Ana-Maria lives in Rome",
    "Anabel lives in Rome",
    "用户体验很重要",
    "用户住在罗马，他很老",
]
NOTHING = [
    "Likes hiking in the Alps. Ben too",
    "Likes the user's dog",
    "Likes hiking?",
    "Likes her job",
    "Likes hiking, said Tom",
    "Works at Acme, Ben lives in Rome",
    "Lives in Rome. Likes hiking",
    "Is Ana",
    "Is Ana vegan",
    "Is there any milk",
    "Has Ben called",
    "Name is on the list",
    "Plays by Shakespeare are long",
    "Works of art",
    "Studies show coffee is good",
    "Knows Ben lives in Oslo",
    "Lives in fear",
    "Does Ana live in Rome",
    "Ana Silva lives in Rome",
    "The user's brother's wife lives in Rome",
    "Ben thinks the user lives in Rome",
    "The user knows Ben lives in Oslo and works at Acme",
    "The user lives in Rome. Something else was there, too",
    "The user lives in Rome but works in Milan",
    "If the user lives in Rome, the train is cheap",
    "Does the user live in Rome?",
    "The user lives in Rome and Ben lives in Oslo",
    "The user never works on Friday",
    "Forget that I live in Rome",
    "I live in Rome. Remember how we did this",
    '"""\nI live in Rome\n"""',
]


def line(text: str, at: datetime = NOON) -> Turn:
    return Turn.make(session="import", key="", role="user", text=text, at=at)


@pytest.mark.parametrize(("text", "said"), SAID)
def test_what_is_written_of_somebody(text: str, said: str) -> None:
    """It is what they would say of themselves."""
    assert rewrite_first_person(text, "ana") == said


@pytest.mark.parametrize("text", ANOTHER_VOICE)
def test_another_voice(text: str) -> None:
    """Whoever speaks besides, or may be meant by a pronoun, is not taken for the owner."""
    assert rewrite_first_person(text, "ana") == text


@pytest.mark.parametrize("owner", ["me", "A", "7", ".*"])
def test_an_owner_without_a_name(owner: str) -> None:
    """What is no name stands for nobody in a sentence."""
    assert rewrite_first_person(f"{owner} is old", owner) == f"{owner} is old"


def test_a_verb_and_back() -> None:
    """The first person of every third person is the verb that it comes from."""
    verbs = "live like work study play go watch wash fix pass buzz use tie try do have enjoy need embed say kiss ski"
    assert [get_base_verb(conjugate_verb(verb)) for verb in verbs.split()] == verbs.split()
    assert [get_base_verb(verb) for verb in ("was", "moved", "can", "Rome", "less", "is")] == [
        "was", "moved", "can", "Rome", "less", "am",
    ]  # fmt: skip


def test_a_line_is_read_as_a_turn() -> None:
    """It gives the same facts as the person's own words."""
    for theirs, own in (("User is allergic to peanuts", "I am allergic to peanuts"), ("用户住在罗马", "我住在罗马")):
        (known,) = extract_statements(line(own)).facts
        (found,) = extract_line(line(theirs), "ana", has_date=False)
        assert (found.fact, found.text, found.category, found.context) == (known.fact, known.text, known.category, None)


@pytest.mark.parametrize(
    ("text", "statement"),
    [
        ("Likes hiking", "The user likes hiking"),
        ("Name is Ana", "The user's name is Ana"),
        ("Works as a nurse", "The user works as a nurse"),
        ("Lives in Rome", "The user lives in Rome"),
        ("Is allergic to nuts", "The user is allergic to nuts"),
    ],
)
def test_a_line_that_leaves_its_owner_out(text: str, statement: str) -> None:
    """It is the owner's in an import; in a chat no fact is read in it."""
    (found,) = extract_line(line(text), "ana", has_date=False)
    assert found.text == statement
    assert extract_statements(line(text)).facts == ()


def test_whose_home_it_is() -> None:
    """A brother's is not the user's."""
    (found,) = extract_line(line("The user's brother lives in Rome"), "ana", has_date=False)
    assert found.fact is not None
    assert found.fact.subject == "user's brother"


@pytest.mark.parametrize("text", NOTHING)
def test_what_is_not_read(text: str) -> None:
    """What the rules do not understand to the last word states nothing."""
    assert extract_line(line(text), "ana", has_date=True) == ()


def test_several_statements() -> None:
    """Each of them has the whole line around it."""
    text = "User works at Acme and lives in Rome"
    found = extract_line(line(text), "ana", has_date=False)
    assert [(one.text, one.context) for one in found] == [
        ("The user works at Acme", text),
        ("The user lives in Rome", text),
    ]


def test_when_it_was_written() -> None:
    """What means another day on another day is read only where the day is known."""
    text = "The user moved to Rome last month"
    assert extract_line(line(text), "ana", has_date=False) == ()
    (found,) = extract_line(line(text, datetime(2024, 5, 4, tzinfo=UTC)), "ana", has_date=True)
    assert found.text == "The user moved to Rome in April 2024"
    assert extract_line(line("The user's birthday is 5 May"), "ana", has_date=False)
