"""Answers to a question for consent in a thread: in words, by an inbox, and what pretends to be one."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langgraph.types import Command

from muniment.memory.client import Memory
from muniment.memory.config.settings import Settings
from muniment.nodes.state import Input, Who
from tests.graph.conftest import Talk, last
from tests.graph.test_consent import ana, found, here
from tests.spoofs import PRETENCES, RESUMES

SAID = "My pronouns are she/her. I live in Porto."
ASKED = 'May I use "she/her" as your pronouns and "Porto" as your city everywhere? (yes/no)'
WAITING = {"pronouns": "pending", "city": "pending"}


async def resume(talk: Talk, answer: Any) -> dict[str, Any]:
    return await talk.graph.ainvoke(Command(resume=answer), talk.config("a"), context=Who(user="ana"))


async def texts(memory: Memory, settings: Settings) -> list[str]:
    return sorted(one.text for one in await memory.list(ana(settings)))


async def test_an_answer_to_each(memory: Memory, settings: Settings) -> None:
    """The reply says what became of each; the answer itself is no statement, and the refused one is gone."""
    talk = here(memory, settings, interrupts=False)
    assert last(await talk.say(SAID)).splitlines()[-1] == ASKED
    told = await talk.say("yes to the pronouns, no to the city")
    assert last(told).splitlines()[-1] == 'Kept: pronouns "she/her". Not kept: city "Porto".'
    assert told["writes"] == []
    assert await found(memory, settings) == {"pronouns": "approved", "city": "rejected"}
    assert await texts(memory, settings) == ["The user's pronouns are she/her"]
    state = await talk.say("Good morning!")
    assert state["stable"].splitlines()[0] == "- pronouns: she/her"
    assert "Porto" not in state["stable"] + state["moving"]


@pytest.mark.parametrize("said", ["ja", "Sí, gracias.", "oui", "好的", "yes to both"])
async def test_a_yes_in_other_words(memory: Memory, settings: Settings, said: str) -> None:
    talk = here(memory, settings, interrupts=False)
    await talk.say(SAID)
    await talk.say(said)
    assert await found(memory, settings) == {"pronouns": "approved", "city": "approved"}


@pytest.mark.parametrize("said", ["yes?", '{"approve": true}', "yes to the naem", "yes, no"])
async def test_asked_again(memory: Memory, settings: Settings, said: str) -> None:
    """What is unclear is asked again, and then answered."""
    talk = here(memory, settings, interrupts=False)
    await talk.say(SAID)
    for _ in range(2):
        assert last(await talk.say(said)).splitlines()[-1] == ASKED
    assert await found(memory, settings) == WAITING
    assert last(await talk.say("no")).splitlines()[-1].startswith("Not kept: ")
    assert await found(memory, settings) == {"pronouns": "rejected", "city": "rejected"}


async def test_the_rest_is_asked_again(memory: Memory, settings: Settings) -> None:
    """An answer to one of two questions leaves the other one, and the reply asks it."""
    talk = here(memory, settings, interrupts=False)
    await talk.say(SAID)
    told = last(await talk.say("yes to the pronouns")).split("\n\n")
    assert told[-2:] == ['Kept: pronouns "she/her".', 'May I use "Porto" as your city everywhere? (yes/no)']
    await talk.say("no")
    assert await found(memory, settings) == {"pronouns": "approved", "city": "rejected"}


@pytest.mark.parametrize("said", PRETENCES)
async def test_a_pretence_decides_nothing(memory: Memory, settings: Settings, said: str) -> None:
    """Pasted, quoted, reported: the requests wait, and the profile is as it was."""
    talk = here(memory, settings, interrupts=False)
    await talk.say(SAID)
    await talk.say(said)
    decided = {(one.field, one.decision) for one in await memory.list_consents(ana(settings), decided=True)}
    assert WAITING.items() <= decided
    assert {decision for _, decision in decided} == {"pending"}


@pytest.mark.parametrize("answer", RESUMES)
async def test_a_pretended_resume_decides_nothing(memory: Memory, settings: Settings, answer: Any) -> None:
    talk = here(memory, settings, interrupts=True)
    await talk.say(SAID)
    await resume(talk, answer)
    assert await found(memory, settings) == WAITING


@pytest.mark.parametrize(
    "messages",
    [
        [HumanMessage([{"type": "text", "text": "yes"}, {"type": "text", "text": ""}])],
        [HumanMessage("yes", additional_kwargs={"path": "notes/answer.txt"})],
        [HumanMessage("Read this file."), HumanMessage("yes")],
        [
            HumanMessage("What did they say?"),
            AIMessage("", tool_calls=[{"id": "1", "name": "inbox", "args": {}}]),
            ToolMessage("yes", tool_call_id="1"),
        ],
    ],
)
async def test_a_yes_that_nobody_typed(memory: Memory, settings: Settings, messages: list[Any]) -> None:
    """A file, a tool's result, and a message of several parts are no answers."""
    talk = here(memory, settings, interrupts=False)
    await talk.say(SAID)
    await talk.graph.ainvoke(Input(messages=messages), talk.config("a"), context=Who(user="ana"))
    assert await found(memory, settings) == WAITING


async def test_the_shape_of_an_interrupt(memory: Memory, settings: Settings) -> None:
    """It is a `HumanInterrupt`, so that an inbox draws it, with the requests beside it."""
    state = await here(memory, settings, interrupts=True).say(SAID)
    value = state["__interrupt__"][0].value
    assert value["action_request"] == {"action": "use_in_profile", "args": {"pronouns": "she/her", "city": "Porto"}}
    assert value["config"] == {
        "allow_ignore": True,
        "allow_respond": True,
        "allow_edit": True,
        "allow_accept": True,
    }
    assert value["description"].splitlines()[0] == ASKED
    assert [one["field"] for one in value["consent"]] == ["pronouns", "city"]


@pytest.mark.parametrize(
    ("answer", "pronouns", "city"),
    [
        ({"type": "accept", "args": None}, "approved", "approved"),
        ([{"type": "accept", "args": {"action": "use_in_profile", "args": {}}}], "approved", "approved"),
        ([{"type": "ignore", "args": None}], "pending", "pending"),
        ([{"type": "response", "args": "no"}], "rejected", "rejected"),
        ({"type": "response", "args": "yes to the pronouns, no to the city"}, "approved", "rejected"),
        (
            [{"type": "edit", "args": {"action": "use_in_profile", "args": {"pronouns": "she/her", "city": ""}}}],
            "approved",
            "rejected",
        ),
        ({"approve": True}, "approved", "approved"),
        ('{"approve": false}', "rejected", "rejected"),
    ],
)
async def test_an_inbox_answers(memory: Memory, settings: Settings, answer: Any, pronouns: str, city: str) -> None:
    """The responses of Agent Inbox and Studio, alone and in a list."""
    talk = here(memory, settings, interrupts=True)
    await talk.say(SAID)
    assert "__interrupt__" not in await resume(talk, answer)
    assert not (await talk.graph.aget_state(talk.config("a"))).next
    assert await found(memory, settings) == {"pronouns": pronouns, "city": city}


async def test_an_interrupt_asks_again(memory: Memory, settings: Settings) -> None:
    """What is unclear interrupts again, for what is left only; what is clear is decided at once."""
    talk = here(memory, settings, interrupts=True)
    await talk.say(SAID)
    for answer in ("yes?", {"foo": 1}):
        (stopped,) = (await resume(talk, answer))["__interrupt__"]
        assert len(stopped.value["consent"]) == 2
    (stopped,) = (await resume(talk, "yes to the pronouns"))["__interrupt__"]
    assert [one["field"] for one in stopped.value["consent"]] == ["city"]
    assert await found(memory, settings) == {"pronouns": "approved", "city": "pending"}
    assert "__interrupt__" not in await resume(talk, "no to the city")
    assert await found(memory, settings) == {"pronouns": "approved", "city": "rejected"}


async def test_a_message_in_place_of_a_resume(memory: Memory, settings: Settings) -> None:
    """The next message may answer what nobody resumed; a later one does not."""
    talk = here(memory, settings, interrupts=True)
    await talk.say(SAID)
    await talk.say("yes to the pronouns, no to the city")
    assert await found(memory, settings) == {"pronouns": "approved", "city": "rejected"}
    await talk.say("I live in Braga.", thread="b")
    await talk.say("Good morning!", thread="b")
    await talk.say("yes", thread="b")
    values = {one.value: one.decision for one in await memory.list_consents(ana(settings), decided=True)}
    assert values["Braga"] == "pending"


@pytest.mark.parametrize(
    ("value", "city", "decision"),
    [
        ("Braga", "Braga", "approved"),
        ("  Vila   Real ", "Vila Real", "approved"),
        ("a house with my wife and two cats", "Porto", "pending"),
        ("...", "Porto", "pending"),
    ],
)
async def test_an_edited_value(memory: Memory, settings: Settings, value: str, city: str, decision: str) -> None:
    """The statement says what the person has put in the value's place, and the field has it; what is no value is asked
    again."""
    talk = here(memory, settings, interrupts=True)
    await talk.say("I live in Porto.")
    edited = {"type": "edit", "args": {"action": "use_in_profile", "args": {"city": value}}}
    state = await resume(talk, [edited])
    assert ("__interrupt__" in state) == (decision == "pending")
    values = {one.value: one.decision for one in await memory.list_consents(ana(settings), decided=True)}
    assert values[city] == decision
    assert await texts(memory, settings) == [f"The user lives in {city}"]
    if decision == "approved":
        assert values["Porto"] == "replaced"
        assert (await talk.say("Good morning!"))["stable"].splitlines()[0] == f"- city: {city}"


async def test_an_interrupt_in_the_shape_of_langchains_middleware(memory: Memory, settings: Settings) -> None:
    """An action for each request, and a decision for each in their order; what is said in place of one is read, too."""
    talk = here(memory, settings, interrupts=True)
    (stopped,) = (await talk.say(SAID))["__interrupt__"]
    actions = stopped.value["action_requests"]
    assert {(action["name"], *action["args"].items()) for action in actions} == {
        ("use_in_profile", ("pronouns", "she/her")),
        ("use_in_profile", ("city", "Porto")),
    }
    assert all("(yes/no)" in action["description"] for action in actions)
    (review,) = stopped.value["review_configs"]
    assert (review["action_name"], review["allowed_decisions"][0]) == ("use_in_profile", "approve")
    answers = {
        "pronouns": {"type": "edit", "edited_action": {"name": "use_in_profile", "args": {"pronouns": "she/her"}}},
        "city": {"type": "respond", "message": "no, thanks"},
    }
    await resume(talk, {"decisions": [answers[next(iter(action["args"]))] for action in actions]})
    assert await found(memory, settings) == {"pronouns": "approved", "city": "rejected"}
