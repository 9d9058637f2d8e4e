"""The confidence of memory in what a model is shown: a number that falls with what is lacking."""

from __future__ import annotations

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage

from muniment.nodes.confidence import LOW, format_confidence, measure_confidence
from muniment.nodes.state import State


def confidence(text: str, *, relevance: float = 0.0, stable: str = "", bullets: tuple[str, ...] = ()) -> float:
    said, told = HumanMessage("My sister plays chess.", id="1"), AIMessage("Nice.", id="2")
    messages: list[AnyMessage] = [said, told, HumanMessage(text, id="3")]
    state = State(messages=messages, asked=["3"], relevance=relevance, stable=stable, bullets=[*bullets])
    return measure_confidence(state, text)


def test_what_asks_nothing_needs_nothing() -> None:
    """A statement has the confidence 1, and no line about it."""
    assert confidence("I live in Lisbon.") == 1.0
    assert format_confidence(State(confidence=1.0)) == ""
    assert format_confidence(State(confidence=0.4)) == "Confidence of memory: 0.40"


def test_relevance_and_words_make_it() -> None:
    """A memory that is near and has the words gives all of it; the profile and the conversation have words, too."""
    bullet = "[tasks] The passport expires in June"
    assert confidence("When does my passport expire?", relevance=1.0, bullets=(bullet,)) == 1.0
    assert confidence("When does my passport expire?", relevance=0.5, bullets=(bullet,)) == 0.7
    assert confidence("When does my passport expire?") == 0.0 < LOW
    assert confidence("Which passport languages do I speak?", stable="- The user speaks two languages") == 0.27
    assert confidence("Does my sister play chess?") == 0.4


def test_a_question_without_words_is_of_its_relevance() -> None:
    """The words of the question itself do not count as known."""
    assert confidence("Who am I?", relevance=0.5) == 0.7
