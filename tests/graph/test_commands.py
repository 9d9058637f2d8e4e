"""The supervisor graph with a chain: commands, a session that is off, and what leaves the prompts of a long thread."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from muniment.chain import Addition, Host, Message, TurnContext
from muniment.graph.supervisor import build
from muniment.graph.threads.commands import ThreadCommands
from muniment.memory.client import Memory
from muniment.memory.config.settings import Settings
from muniment.memory.domain.scope import Scope
from muniment.memory.errors import StoreDown
from muniment.memory.ports.llm import ChatMessage, Tool
from muniment.testing.fakes import FixedClock, ScriptedChat
from tests.graph.conftest import Talk, last
from tests.graph.test_long_threads import LEFT_OUT

MOST = 1_200  # tokens of a request; some eight hundred are instructions and tools


class Prompts:
    """A model that answers each prompt, and keeps it."""

    def __init__(self) -> None:
        self.seen: list[Sequence[ChatMessage]] = []
        self.tools: list[list[str]] = []
        self.texts: list[str] = []  # all of a request

    def __call__(self, messages: Sequence[ChatMessage], tools: Sequence[Tool]) -> str:
        self.seen.append(messages)
        self.tools.append([tool.name for tool in tools])
        self.texts.append("\n\n".join([*(each.content for each in messages), json.dumps([*map(asdict, tools)])]))
        return f"I see, this is answer {len(self.seen)}."


def start(memory: Memory, settings: Settings, prompts: Prompts, *middlewares: Any) -> tuple[Talk, Host]:
    host = Host(middlewares or [ThreadCommands(memory)], before_seconds=30)
    graph = build(memory, ScriptedChat(prompts), settings, host=host).compile(checkpointer=InMemorySaver())
    return Talk(memory, settings, graph), host


async def test_commands_are_answered_without_a_model(memory: Memory, settings: Settings, clock: FixedClock) -> None:
    """The list, a pin and why: none of it is learned, recorded, or shown to a model later (P-20..P-23)."""
    prompts = Prompts()
    here, host = start(memory, settings, prompts)
    await here.say("I am allergic to walnuts.")
    await host.drain(5)
    (known,) = await memory.list(Scope(owner="ana"))
    listed = last(await here.say("/memory"))
    assert "walnuts" in listed
    assert str(known.id)[:4] in listed
    await here.say(f"/memory pin {str(known.id)[:8]}")
    assert (await memory.get(Scope(owner="ana"), str(known.id))).pinned
    assert len(prompts.seen) == 1
    clock.advance(60)
    state = await here.say("Which nuts am I allergic to, walnuts?")
    await host.drain(5)
    why = last(await here.say("/memory why"))
    assert "walnuts" in why
    assert "each turn" in why
    said = " ".join(message.content for prompt in prompts.seen for message in prompt)
    assert "/memory" not in said
    assert [message.type for message in state["messages"]] == ["human", "ai"] * 4
    session = await memory.sessions.get(Scope(owner="ana"), "a")
    assert [turn.role for turn in session.turns] == ["user", "assistant"] * 2
    assert len(await memory.list(Scope(owner="ana"))) == 1


async def test_a_session_that_is_off_reads_and_writes_nothing(memory: Memory, settings: Settings) -> None:
    """It holds for a new process, too, and for this session alone."""
    prompts = Prompts()
    here, host = start(memory, settings, prompts)
    await here.say("I am allergic to walnuts.", thread="b")
    await here.say("/memory off")
    await host.drain(5)
    here, _ = start(memory, settings, prompts)
    await here.say("I am allergic to peanuts. What else am I allergic to?")
    assert "walnuts" not in str(prompts.seen[-1])
    assert prompts.tools[-1] == []
    assert [one.text for one in await memory.list(Scope(owner="ana"))] == ["The user is allergic to walnuts"]
    await here.say("What am I allergic to?", thread="b")
    assert "walnuts" in str(prompts.seen[-1])
    await here.say("/memory on")
    await here.say("What am I allergic to?")
    assert "walnuts" in str(prompts.seen[-1])
    texts = [turn.text for turn in (await memory.sessions.get(Scope(owner="ana"), "a")).turns]
    assert not any("peanuts" in text for text in texts)


class Watcher:
    """A middleware that adds a text, and keeps what leaves."""

    def __init__(self) -> None:
        self.left: list[list[Message]] = []
        self.is_down = False

    async def before_prompt(self, context: TurnContext) -> TurnContext:
        added = Addition(source="test", text="Added to the turn.", placement="user")
        lasting = Addition(source="test", text="Added for good.", placement="system")
        return replace(context, additions=(added, lasting))

    async def before_compact(self, context: TurnContext, messages: Sequence[Message]) -> None:
        if self.is_down:
            raise StoreDown("away")
        self.left.append(list(messages))


async def test_what_leaves_a_prompt_is_told_once_and_built(memory: Memory, settings: Settings) -> None:
    """The session is built when messages leave; where that fails they stay, and the thread begins alike in between."""
    told = settings.model_copy(update={"threads": settings.threads.model_copy(update={"max_tokens": MOST})})
    prompts, watcher = Prompts(), Watcher()
    here, _ = start(memory, told, prompts, watcher, ThreadCommands(memory))
    for number in range(30):
        watcher.is_down = number == 12
        await here.say(f"Let us talk about chapter {number} of the long book on old clocks and all of their makers.")
    told_of = [message.text for batch in watcher.left for message in batch]
    assert len(told_of) == len(set(told_of))
    assert told_of[0].startswith("Let us talk about chapter 0 ")
    assert 1 <= len(watcher.left) <= 8
    final = "".join(message.content for message in prompts.seen[-1][1:])
    assert LEFT_OUT in final
    assert not any(text in final for text in told_of)
    assert max(map(memory.conversation.count_tokens, prompts.texts)) <= MOST + 25  # of the turn at which they stay
    assert "Added to the turn." in prompts.seen[-1][-1].content
    assert prompts.seen[-1][0].content.endswith("Added for good.")
    session = await memory.sessions.get(Scope(owner="ana"), "a")
    assert session.session.built_to >= len(told_of)


async def test_what_cannot_be_written_stays(memory: Memory, settings: Settings) -> None:
    told = settings.model_copy(update={"threads": settings.threads.model_copy(update={"max_tokens": MOST})})
    prompts, watcher = Prompts(), Watcher()
    watcher.is_down = True
    here, _ = start(memory, told, prompts, watcher)
    for number in range(20):
        await here.say(f"Let us talk about chapter {number} of the long book on old clocks and all of their makers.")
    assert "chapter 0 " in str(prompts.seen[-1])
    watcher.is_down = False
    await here.say("Well.")
    assert "chapter 0 " not in str(prompts.seen[-1])
    assert watcher.left[0][0].text.startswith("Let us talk about chapter 0 ")


@pytest.mark.parametrize("text", ["/memory", "/memory forget 1234"])
async def test_a_command_is_the_first_word_of_a_thread(memory: Memory, settings: Settings, text: str) -> None:
    """A thread that begins with a command goes on like any other, also without a model."""
    graph = build(memory, None, settings, host=Host([ThreadCommands(memory)], before_seconds=30))
    here = Talk(memory, settings, graph.compile(checkpointer=InMemorySaver()))
    state = await here.say(text)
    assert [message.type for message in state["messages"]] == ["human", "ai"]
    assert last(state)
    state = await here.say("I am allergic to walnuts.")
    assert "walnuts" in last(state)
    assert len(await memory.list(Scope(owner="ana"))) == 1
