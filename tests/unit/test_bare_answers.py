"""A bare answer to a question of the assistant, as a full sentence: no word of it twice, whatever it repeats."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from muniment.memory.domain.memory import Role
from muniment.memory.domain.turn import Turn
from muniment.memory.rules.extraction.clauses import complete_answer
from muniment.memory.rules.extraction.extract import extract_statements
from muniment.memory.rules.language.lexicon import load_lexicon
from muniment.memory.rules.statements.bare_answers import ANSWER_STARTS

NOON = datetime(2026, 5, 4, 12, tzinfo=UTC)
PREPOSITIONS = sorted(load_lexicon("merging.en").get_words("prepositions"))
# A question for each start of an answer, and what a person may answer.
QUESTIONS = {
    "My name is ": ("What's your name?", "Ana"),
    "Call me ": ("What should I call you?", "Ana"),
    "I live in ": ("Where do you live?", "Porto"),
    "I work at ": ("Where do you work?", "Acme"),
    "I work for ": ("Who do you work for?", "Acme"),
    "I'm from ": ("Where are you from?", "Porto"),
    "I'm ": ("How old are you?", "34"),
    "叫我": ("怎么称呼您？", "小敏"),
    "我叫": ("您叫什么名字？", "王小敏"),
    "我住在": ("您住在哪里？", "杭州"),
    "我来自": ("您来自哪里？", "杭州"),
}
STARTS = [start for _, start in ANSWER_STARTS]


def say(text: str, role: Role = "user") -> Turn:
    return Turn.make(session="s", key=f"{role} {text}", role=role, text=text, at=NOON)


def read(question: str, answer: str) -> list[str]:
    extraction = extract_statements(say(answer), previous=(say(question, "assistant"),))
    return [one.text for one in extraction.facts]


def list_ends(start: str) -> list[str]:
    """The ends of a start that a person may repeat: of whole words, or of Chinese characters."""
    if start.endswith(" "):
        words = start.split()
        return [" ".join(words[n:]) + " " for n in range(1, len(words))]
    return [start[n:] for n in range(1, len(start)) if start[n] not in "我叫"]  # these begin a sentence of their own


@pytest.mark.parametrize("start", STARTS)
def test_what_an_answer_repeats_of_its_start_is_said_once(start: str) -> None:
    """Every start of the table: an answer with the end of it, in any case, says what the bare answer says."""
    question, answer = QUESTIONS[start]
    (plain,) = read(question, answer)
    for end in list_ends(start):
        for repeated in (end, end.capitalize(), end.upper()):
            assert read(question, repeated + answer) == [plain]
        if start.endswith(" "):
            assert read(question, f"Currently {end}{answer}") == [plain]


@pytest.mark.parametrize("start", [start for start in STARTS if start.split()[-1] in PREPOSITIONS])
def test_another_preposition_takes_the_place_of_that_of_the_start(start: str) -> None:
    """Whatever preposition an answer begins with, there is one in the sentence."""
    question, answer = QUESTIONS[start]
    own = start.rsplit(maxsplit=1)[-1]
    for preposition in PREPOSITIONS:
        said = complete_answer(f"{preposition.title()} {answer}", [say(question, "assistant")]).split()
        assert said == [*start.split()[:-1], preposition, answer]
        assert (own in said) == (own == preposition)


def test_a_part_of_a_start_is_no_answer() -> None:
    for said in ("in", "In", "live in"):
        assert read("Where do you live?", said) == []


def test_every_start_has_a_question() -> None:
    """So that the properties above hold for the whole table."""
    assert set(QUESTIONS) == set(STARTS)
    for start, (question, answer) in QUESTIONS.items():
        assert complete_answer(answer, [say(question, "assistant")]) == start + answer
