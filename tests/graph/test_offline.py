"""The graph without a model: what it remembers, for whom, and what it says."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver

from muniment.graph.supervisor import build
from muniment.memory import bootstrap
from muniment.memory.client import Memory
from muniment.memory.config.settings import Settings
from muniment.memory.domain.scope import Scope
from muniment.nodes.state import Input, Who
from tests.engine import Leaving
from tests.graph.conftest import STORY, Talk, last


async def test_another_thread_shows_what_changed_once(talk: Callable[..., Talk]) -> None:
    """A second thread is told at most three changes, and the turn after is told none."""
    ana = talk()
    first = await ana.say(STORY)
    assert {one["category"] for one in first["writes"]} >= {"profile", "goals"}
    told = await ana.say("Good morning.", thread="b")
    lines = told["header"].splitlines()
    assert lines[0].startswith("Memory updates since rev ")
    assert 1 <= len(lines[1:]) <= 3
    assert any("Ana" in line for line in lines)
    again = await ana.say("What should I eat?", thread="b")
    assert again["header"] == ""


async def test_another_user_sees_nothing(talk: Callable[..., Talk]) -> None:
    """Nothing of one user's memory reaches another, whatever the thread is called."""
    ana = talk()
    await ana.say(STORY)
    bob = await ana.say("What am I training for?", thread="b", user="bob")
    assert (bob["header"], bob["bullets"], bob["stable"]) == ("", [], "")
    assert "Lisbon" not in last(bob)
    assert "nothing in memory" in last(bob)


async def test_a_question_is_answered_from_memory(talk: Callable[..., Talk]) -> None:
    """Without a model the reply quotes what is remembered."""
    ana = talk()
    await ana.say(STORY)
    assert "Lisbon" in last(await ana.say("What marathon am I training for?", thread="b"))
    assert "Ana" in last(await ana.say("What is my name?", thread="b"))


async def test_a_question_in_other_words_is_answered_from_memory(talk: Callable[..., Talk]) -> None:
    """Of what lasts that is quoted which tells it, though it shares no word with the question."""
    ana = talk()
    for text in ("I am lactose intolerant.", "I live in Lisbon.", "I moved to Porto.", "Good morning."):
        await ana.say(text)
    assert last(await ana.say("Where do I live?")) == "From memory:\n- [profile] The user moved to Porto"
    assert "nothing in memory" in last(await ana.say("Who is Zoe?"))


async def test_no_model_is_said_once(talk: Callable[..., Talk]) -> None:
    """Each thread is told once how to configure a model."""
    ana = talk()
    replies = [last(await ana.say(text)) for text in ("I live in Lisbon.", "I have a dog called Rex.")]
    assert ["MUNIMENT_MODEL" in reply for reply in replies] == [True, False]
    assert "OPENAI_API_KEY" in replies[0]
    assert "OPENAI_BASE_URL" in replies[0]


async def test_messages_hold_nothing_but_the_talk(talk: Callable[..., Talk]) -> None:
    """Two turns are four messages."""
    ana = talk()
    await ana.say(STORY)
    state = await ana.say("I run every day.")
    assert [one.type for one in state["messages"]] == ["human", "ai", "human", "ai"]


async def test_two_messages_at_once_are_both_learned(talk: Callable[..., Talk]) -> None:
    """What the user said since the last reply is one turn."""
    ana = talk()
    said = [HumanMessage("Call me Ana."), HumanMessage("I am lactose intolerant.")]
    state = await ana.graph.ainvoke(Input(messages=[*said]), ana.config("a"))
    texts = " ".join(one["text"] for one in state["writes"])
    assert "Ana" in texts
    assert "lactose" in texts


async def test_no_message_is_no_reply(talk: Callable[..., Talk]) -> None:
    """A run without a message says nothing and writes nothing."""
    ana = talk()
    state = await ana.graph.ainvoke(Input(messages=[]), ana.config("a"))
    assert state["messages"] == []
    assert state["writes"] == []


@pytest.mark.parametrize("interrupts", [False, True])
async def test_what_was_not_forgotten_is_told(memory: Memory, settings: Settings, interrupts: bool) -> None:
    """The reply ends with it, whatever else is asked; what was forgotten needs no such word."""
    talk = Talk(
        memory, settings, build(memory, None, settings, interrupts=interrupts).compile(checkpointer=InMemorySaver())
    )
    assert last(await talk.say("Forget my job. Call me Ana.")).count('Nothing was forgotten for "my job"') == 1
    gone = await talk.say("Forget my name.", thread="b")
    assert [one["action"] for one in gone["writes"]] == ["DELETE"]
    assert "forgotten" not in last(gone)
    assert "forgotten" not in last(await talk.say("Should I forget my job?", thread="b"))


async def test_every_message_since_the_last_reply_is_looked_for(talk: Callable[..., Talk]) -> None:
    """Whoever asks, gets no answer and says something else has asked nevertheless; what is too long to read hides
    nothing."""
    ana = talk()
    goal = "The user plans to see the Lisbon oceanarium"
    await ana.memory.remember(Scope(owner="ana", tenant=ana.settings.tenant), goal, category="goals")
    told = ("x " * ana.settings.limits.turn_chars, "What do I plan to see in Lisbon?", "Hello?")
    said = Input(messages=[HumanMessage(text) for text in told])
    state = await ana.graph.ainvoke(said, ana.config("a"), context=Who(user="ana"))
    assert state["bullets"] == [f"[goals] {goal}"]


async def test_a_conversation_goes_on_without_the_embedder(settings: Settings) -> None:
    """What is said meanwhile is remembered and recalled, by its words; nobody sees an error."""
    embedder = Leaving()
    async with bootstrap.create_memory(settings, embedder=embedder) as memory:
        ana = Talk(memory, settings, build(memory, None, settings).compile(checkpointer=InMemorySaver()))
        await ana.say("I live in Lisbon.")
        embedder.leave()
        kept = await ana.say("I play the cello in an orchestra.")
        assert [one["text"] for one in kept["writes"]] == ["The user plays the cello in an orchestra."]
        assert (kept["unread"], kept["unwritten"]) == ("", "")
        assert "cello" in last(await ana.say("Which orchestra do I play in?", thread="b"))
        assert "Lisbon" in last(await ana.say("Do I live in Lisbon?", thread="c"))
