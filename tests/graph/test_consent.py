"""Consent in the graph: asked by an interrupt or by the last line of a reply, answered by a resume or by the next
words."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from muniment.graph.checkpointer import open_saver
from muniment.graph.supervisor import build
from muniment.memory.client import Memory
from muniment.memory.config.settings import Settings
from muniment.memory.domain.ids import TurnId
from muniment.memory.domain.memory import Fact
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import Candidate
from muniment.memory.errors import StoreDown
from muniment.nodes.state import Input, Who
from tests.graph.conftest import Talk, last

ASKED = 'May I use "Ana" as your name everywhere? (yes/no)'
BOTH = 'May I use "Ana" as your name and "Porto" as your city everywhere? (yes/no)'


def here(
    memory: Memory, settings: Settings, *, interrupts: bool, saver: BaseCheckpointSaver[Any] | None = None
) -> Talk:
    graph = build(memory, None, settings, interrupts=interrupts).compile(checkpointer=saver or InMemorySaver())
    return Talk(memory, settings, graph)


def ana(settings: Settings) -> Scope:
    return Scope(owner="ana", tenant=settings.tenant)


async def found(memory: Memory, settings: Settings) -> dict[str, str]:
    """What became of each field's request."""
    return {one.field: one.decision for one in await memory.list_consents(ana(settings), decided=True)}


@pytest.mark.parametrize(
    ("said", "decision"),
    [("yes", "approved"), ("Sure, thanks!", "approved"), ("好的", "approved"), ("可以。", "approved"),
        ("No.", "rejected"),
     ("no, please don't", "rejected"), ("不要", "rejected"), ("不", "rejected")],
)  # fmt: skip
async def test_a_clear_answer_in_the_chat(memory: Memory, settings: Settings, said: str, decision: str) -> None:
    """It decides what the last reply asked, in English and Chinese, and the reply says so."""
    talk = here(memory, settings, interrupts=False)
    assert last(await talk.say("Call me Ana. I live in Porto.")).splitlines()[-1] == BOTH
    told = await talk.say(said)
    kept = "Kept" if decision == "approved" else "Not kept"
    assert last(told).splitlines()[-1] == f'{kept}: city "Porto", preferred name "Ana".' or "Ana" in last(told)
    assert last(told).splitlines()[-1].startswith(f"{kept}: ")
    assert await found(memory, settings) == {"preferred_name": decision, "city": decision}
    lines = [one.meta["by"] for one in await memory.history(ana(settings)) if "consent" in one.meta]
    assert lines == ["ana", "ana"]


@pytest.mark.parametrize(
    "said", ["What is the time?", "Yes, I will go to Rome tomorrow", "no idea", "好的，帮我订机票", "Call me maybe"]
)
async def test_other_words_leave_it_waiting(memory: Memory, settings: Settings, said: str) -> None:
    """What is no clear answer decides nothing, and a yes to something later does not either."""
    talk = here(memory, settings, interrupts=False)
    await talk.say("My pronouns are she/her.")
    await talk.say(said)
    await talk.say("yes")
    assert (await found(memory, settings))["pronouns"] == "pending"


async def test_a_yes_belongs_to_its_thread(memory: Memory, settings: Settings) -> None:
    """Another thread's yes, and another user's, answer other questions."""
    talk = here(memory, settings, interrupts=False)
    await talk.say("Call me Ana.", thread="a")
    await talk.say("yes", thread="b")
    await talk.say("yes", thread="c", user="ben")
    assert await found(memory, settings) == {"preferred_name": "pending"}
    await talk.say("yes", thread="a")
    assert await found(memory, settings) == {"preferred_name": "approved"}


async def test_what_a_job_found_is_asked_with_the_next_turn(memory: Memory, settings: Settings) -> None:
    """A request that was made after the reply is asked about once, in the thread whose words it comes from."""
    talk = here(memory, settings, interrupts=False)
    await talk.say("Everybody at work says Annie.")
    turns = [one for one in await memory.export(ana(settings)) if one["type"] == "turn"]
    (turn,) = [one["turn_id"] for one in turns if one["role"] == "user"]
    fact = Fact(kind="identity", predicate="preferred_name", object="Annie", single=True)
    one = Candidate(text="Preferred name is Annie", category="profile", fact=fact, turns=(TurnId(UUID(turn)),))
    await memory.keep_candidates(ana(settings), [one])
    assert "(yes/no)" not in last(await talk.say("Good morning!", thread="b"))
    assert last(await talk.say("Good morning!")).endswith('May I use "Annie" as your name everywhere? (yes/no)')
    assert "(yes/no)" not in last(await talk.say("What is the time?"))
    assert await found(memory, settings) == {"preferred_name": "pending"}


async def test_a_question_in_the_persons_language(memory: Memory, settings: Settings) -> None:
    """A Chinese value is asked about in Chinese; what needs no consent is not asked about."""
    talk = here(memory, settings, interrupts=False)
    assert last(await talk.say("叫我小明。")).splitlines()[-1] == '可以在所有对话中把"小明"作为您的称呼吗？（是/否）'
    assert "yes/no" not in last(await talk.say("I want to learn Rust."))


async def test_the_question_is_no_part_of_the_ledger(memory: Memory, settings: Settings) -> None:
    """What was asked is a matter of the profile: neither memory nor ledger takes it for something said."""
    talk = here(memory, settings, interrupts=False)
    await talk.say("Call me Ana.")
    assert "(yes/no)" not in str(await memory.export(ana(settings)))


@pytest.mark.parametrize(
    ("answer", "decision"),
    [
        (True, "approved"),
        ("yes", "approved"),
        (False, "rejected"),
        ("No", "rejected"),
        ("perhaps", "pending"),
        (7, "pending"),
    ],
)
async def test_an_interrupt_is_resumed(
    memory: Memory, settings: Settings, database_url: str, answer: Any, decision: str
) -> None:
    """The compiled graph stops with the question after everything else is done, also over a restart."""
    async with open_saver(database_url) as saver:
        state = await here(memory, settings, interrupts=True, saver=saver).say("Call me Ana.")
    (stopped,) = state["__interrupt__"]
    (request,) = stopped.value["consent"]
    assert (request["field"], request["value"], request["question"]) == ("preferred_name", "Ana", ASKED)
    assert "(yes/no)" not in last(state)
    assert await found(memory, settings) == {"preferred_name": "pending"}
    async with open_saver(database_url) as saver:
        talk = here(memory, settings, interrupts=True, saver=saver)
        after = await talk.graph.ainvoke(Command(resume=answer), talk.config("a"), context=Who(user="ana"))
        assert "__interrupt__" not in after
        assert not (await talk.graph.aget_state(talk.config("a"))).next
    assert await found(memory, settings) == {"preferred_name": decision}


async def test_each_request_has_its_own_answer(memory: Memory, settings: Settings) -> None:
    """A resume may name the requests; what it does not name waits on."""
    talk = here(memory, settings, interrupts=True)
    state = await talk.say("Call me Ana. I live in Porto. My pronouns are she/her.")
    ids = {one["field"]: one["id"] for one in state["__interrupt__"][0].value["consent"]}
    answer = {ids["preferred_name"]: True, ids["city"]: "no"}
    await talk.graph.ainvoke(Command(resume=answer), talk.config("a"), context=Who(user="ana"))
    assert await found(memory, settings) == {"preferred_name": "approved", "city": "rejected", "pronouns": "pending"}


async def test_what_was_decided_meanwhile_keeps_nothing_waiting(memory: Memory, settings: Settings) -> None:
    """Another thread has another city, and a yes to both questions is one to the name."""
    talk = here(memory, settings, interrupts=True)
    await talk.say("Call me Ana. I live in Porto.")
    await talk.say("I live in Lisbon now.", thread="b")
    await talk.graph.ainvoke(Command(resume="yes"), talk.config("a"), context=Who(user="ana"))
    told = {one.value: one.decision for one in await memory.list_consents(ana(settings), decided=True)}
    assert told == {"Ana": "approved", "Porto": "replaced", "Lisbon": "pending"}


async def test_going_on_without_an_answer(memory: Memory, settings: Settings) -> None:
    """A plain message instead of a resume is a turn like any other; the request waits."""
    talk = here(memory, settings, interrupts=True)
    await talk.say("Call me Ana.")
    state = await talk.say("Good morning!")
    assert "__interrupt__" not in state
    assert [one.type for one in state["messages"]] == ["human", "ai", "human", "ai"]
    assert await found(memory, settings) == {"preferred_name": "pending"}


async def test_a_failing_memory_asks_nothing(
    memory: Memory, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without memory there is nothing to ask; an answer that cannot be written is told, and the request waits."""

    async def down(*_: Any, **__: Any) -> Any:
        raise StoreDown

    talk = here(memory, settings, interrupts=False)
    with monkeypatch.context() as patch:
        patch.setattr(memory.engine.store.reads, "find_neighbours", down)
        assert "(yes/no)" not in last(await talk.say("Call me Ana."))
    assert "(yes/no)" in last(await talk.say("My pronouns are she/her."))
    with monkeypatch.context() as patch:
        patch.setattr(memory.engine.store.writes, "commit", down)
        assert "Memory is unavailable" in last(await talk.say("yes"))
    assert set((await found(memory, settings)).values()) == {"pending"}


async def test_denied_turns_leave_nothing(memory: Memory, settings: Settings) -> None:
    """A message with a denied tag, path or project is answered and kept nowhere but in its thread."""
    rules = settings.redact.model_copy(
        update={"deny_tags": ("private",), "deny_paths": ("*/secrets/*",), "deny_projects": ("falcon",)}
    )
    memory.engine = memory.engine.rebuild(settings=settings.model_copy(update={"redact": rules}))
    talk = here(memory, settings, interrupts=False)
    for more, who in (
        ({"tags": ["Private"]}, Who(user="ana")),
        ({"path": "/a/secrets/b.md"}, Who(user="ana")),
        ({}, Who(user="ana", project="Falcon")),
    ):
        said = Input(messages=[HumanMessage("Call me Ana. I live in Porto.", additional_kwargs=more)])
        state = await talk.graph.ainvoke(said, talk.config(str(more)), context=who)
        assert state["writes"] == []
    rows = await memory.export(ana(settings))
    assert {row["type"] for row in rows} <= {"space", "thread"}
