"""A long conversation: what goes before a model is bounded, and what is left out is in memory first."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage

from muniment.graph.supervisor import build
from muniment.memory.client import Memory
from muniment.memory.config.settings import Settings
from muniment.memory.domain.scope import Scope
from muniment.memory.ports.llm import ChatMessage, Tool
from muniment.nodes.chain.prompt_window import MESSAGE_TOKENS, find_start, list_readable, list_waiting
from muniment.nodes.chain.turns import choose_first
from muniment.nodes.dialogue import build_prompt
from muniment.nodes.state import Input, State, Who
from muniment.testing.fakes import ScriptedChat
from tests.graph.conftest import Talk, last
from tests.graph.test_trouble import rows

MOST = 1_100  # tokens of a request; some eight hundred are instructions and tools
LEFT_OUT = "Earlier messages of this conversation are left out."


def count_words(text: str) -> int:
    return len(text.split())


def conversation(count: int) -> State:
    messages: list[AnyMessage] = [
        (AIMessage if n % 2 else HumanMessage)(f"number {n} " + "word " * 8, id=str(n)) for n in range(count)
    ]
    return State(messages=messages, asked=[str(count - 1)])


def prompt_of(state: State, most: int = 140) -> list[ChatMessage]:
    messages = list_readable(state["messages"], 100_000)
    start = find_start(messages, list_waiting(state), most, count_words)
    return build_prompt(state, "Be kind.", 100_000, str(messages[start].id) if start else "")


def test_a_short_thread_is_whole() -> None:
    prompt = prompt_of(conversation(9))
    assert LEFT_OUT not in "".join(message.content for message in prompt)
    assert [message.role for message in prompt] == ["system", *["user", "assistant"] * 4, "user"]


def test_a_long_thread_is_bounded_and_begins_alike_for_many_turns() -> None:
    """At most so many tokens, never less than the half; the beginning changes with every half that is full."""
    beginnings = []
    for count in range(11, 101, 2):
        said = prompt_of(conversation(count))[1:]
        assert LEFT_OUT in said[0].content
        assert said[-1].content.startswith(f"number {count - 1} ")
        size = sum(count_words(message.content) + MESSAGE_TOKENS for message in said) - count_words(LEFT_OUT)
        assert 56 <= size <= 140 + 14
        beginnings.append((said[0].content, said[1].content))
    assert len(set(beginnings)) <= len(beginnings) // 2


def test_what_goes_beside_a_thread_counts() -> None:
    """The system message and the tools take their part of the limit; what has left stays away when they shrink."""
    messages = conversation(21)["messages"]
    start = find_start(messages, {"20"}, 100, count_words)
    assert sum(count_words(str(each.text)) for each in messages[start:]) > 50
    beside = find_start(messages, {"20"}, 100, count_words, beside="word " * 60)
    assert sum(count_words(str(each.text)) for each in messages[beside:]) <= 40
    assert find_start(messages, {"20"}, 100, count_words, held=beside) == beside
    assert find_start(messages, {"20"}, 100, count_words, beside="word " * 200) == 20


async def test_what_has_left_a_prompt_stays_away(settings: Settings) -> None:
    """Where there is room again, the beginning of the prompt stays as it is."""
    at = datetime(2026, 5, 4, 9, tzinfo=UTC)
    state = conversation(21) | State(left="10")
    assert await choose_first(None, state, Scope(owner="ana"), settings, count_words, "", at) == "10"
    assert await choose_first(None, conversation(21), Scope(owner="ana"), settings, count_words, "", at) == ""


def test_what_memory_does_not_have_stays() -> None:
    """A message that waits for memory is not left out, nor what comes after it; nor are instructions."""
    state = conversation(61) | State(to_learn={"20": "2026-05-04T09:00:00+00:00"})
    assert "number 20 " in prompt_of(state)[1].content
    state = conversation(61) | State(to_record={"30": "2026-05-04T09:00:00+00:00"})
    assert prompt_of(state)[2].content.startswith("number 31 ")
    state = State(messages=[SystemMessage("Speak French."), *conversation(61)["messages"]], asked=["60"])
    assert "Speak French." in prompt_of(state)[0].content


async def test_a_thread_goes_on_beyond_what_a_model_reads(memory: Memory, settings: Settings) -> None:
    """The model gets the latest messages only; what left is in the ledger and in memory, and is found there."""
    told = settings.model_copy(update={"threads": settings.threads.model_copy(update={"max_tokens": MOST})})
    prompts: list[Sequence[ChatMessage]] = []
    requests: list[str] = []

    def reply(messages: Sequence[ChatMessage], tools: Sequence[Tool]) -> str:
        prompts.append(messages)
        requests.append("\n\n".join([*(each.content for each in messages), json.dumps([*map(asdict, tools)])]))
        return "I see, and I thank you for telling me so much about it today."

    here = Talk(memory, told, build(memory, ScriptedChat(reply), told).compile())
    state = await here.say("I am allergic to walnuts.")
    for number in range(15):
        said = [*state["messages"], HumanMessage(f"Let us talk about chapter {number} of the long book on old clocks.")]
        state = await here.graph.ainvoke(Input(messages=said), here.config("a"), context=Who(user="ana"))
    assert last(state).startswith("I see")
    dialogue = "".join(message.content for message in prompts[-1][1:])
    assert LEFT_OUT in dialogue
    assert "chapter 14" in dialogue
    assert "I am allergic" not in dialogue
    assert "chapter 12" in dialogue
    assert max(map(memory.conversation.count_tokens, requests)) <= MOST
    assert [one.text for one in await memory.list(Scope(owner="ana"))][-1] == "The user is allergic to walnuts"
    assert here.settings.database_url is not None
    turns = await rows(here.settings.database_url.get_secret_value(), "select text from muniment.turns")
    assert ("I am allergic to walnuts.",) in turns
    assert len(turns) == 32
