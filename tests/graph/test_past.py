"""From an earlier checkpoint: a replay and a fork read memory as it was then, until they are asked for now."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command, StateSnapshot

from muniment.graph.checkpointer import open_saver
from muniment.graph.supervisor import build
from muniment.memory.client import Memory
from muniment.memory.config.settings import Settings
from muniment.memory.domain.scope import Scope
from muniment.nodes.state import Input, Who
from muniment.testing.fakes import FixedClock
from tests.graph.conftest import Talk, last
from tests.graph.test_model import scripted
from tests.graph.test_trouble import rows

__all__ = ["scripted"]
QUESTION = "Which city do I live in?"
PAST, PRESENT = "The user lives in Lisbon", "The user lives in Porto"


@pytest.fixture(params=["memory", "postgres"])
async def saver(request: pytest.FixtureRequest, database_url: str) -> AsyncIterator[BaseCheckpointSaver[Any]]:
    """LangGraph's own in memory, and ours."""
    if request.param == "memory":
        yield InMemorySaver()
        return
    async with open_saver(database_url) as opened:
        yield opened


@pytest.fixture
def here(talk: Callable[..., Talk], saver: BaseCheckpointSaver[Any]) -> Talk:
    return talk(None, saver)


def ana(here: Talk, thread: str | None = None) -> Scope:
    return Scope(owner="ana", tenant=here.settings.tenant, thread=thread, session=thread)


async def where(here: Talk, node: str, turn: int, thread: str = "a") -> StateSnapshot:
    """The checkpoint before this node of this turn, or with `end` the one after its last; turns are counted from 1."""
    wanted = (node,) if node != "end" else ()
    found = [
        one
        async for one in here.graph.aget_state_history(here.config(thread))
        if one.next == wanted and one.metadata and one.metadata["source"] == "loop"
    ]
    return found[::-1][turn - 1]


async def replay(here: Talk, at: StateSnapshot, **context: Any) -> dict[str, Any]:
    return await here.graph.ainvoke(None, at.config, context=Who(user="ana", **context))


async def fork(here: Talk, at: StateSnapshot, text: str, **context: Any) -> dict[str, Any]:
    said = Input(messages=[HumanMessage(text)])
    return await here.graph.ainvoke(said, at.config, context=Who(user="ana", **context))


async def story(here: Talk) -> dict[str, Any]:
    """A turn that tells, one that asks; then another thread says otherwise, and the first goes on."""
    await here.say("I live in Lisbon.")
    asked = await here.say(QUESTION)
    await here.say("I moved to Porto.", thread="b")
    await here.say("Thank you!")
    return asked


def knows(state: dict[str, Any]) -> set[str]:
    """Which of the two cities is in the context."""
    shown = "\n".join([state["stable"], *state["bullets"]])
    return {city for city in ("Lisbon", "Porto") if city in shown}


def read(state: dict[str, Any]) -> list[Any]:
    return [state[name] for name in ("rev", "stable", "bullets")]


async def test_the_next_turn_reads_what_is_known_now(here: Talk) -> None:
    """Without time travel nothing is in the past, whatever other threads have said in between."""
    await story(here)
    state = await here.say(QUESTION)
    assert (knows(state), state["as_of"]) == ({"Porto"}, None)


@pytest.mark.parametrize("node", ["__start__", "context"])
async def test_a_replay_reads_what_was_read(here: Talk, node: str) -> None:
    """The same revision, profile and bullets, though memory has changed since; the thread's cursor stays."""
    await here.memory.remember(ana(here), "The user plans to see the city of Coimbra", category="goals")
    asked = await story(here)
    assert here.settings.database_url is not None
    cursor = await rows(here.settings.database_url.get_secret_value(), _CURSORS)
    at = [one async for one in here.graph.aget_state_history(here.config("a")) if one.next == (node,)][1]
    again = await replay(here, at)
    assert read(again) == read(asked)
    assert again["bullets"]
    assert (knows(again), again["header"], again["as_of"]) == ({"Lisbon"}, "", asked["rev"])
    assert await rows(here.settings.database_url.get_secret_value(), _CURSORS) == cursor


_CURSORS = "select thread_id, rev from muniment.thread_revision order by 1"


async def test_a_replay_reads_what_was_forgotten_since(here: Talk) -> None:
    """Soft-deleted is not gone: as of then it was there."""
    await here.memory.remember(ana(here), "The user plans to see the Lisbon oceanarium", category="goals")
    asked = await here.say("What do I plan to see?")
    (one,) = await here.memory.list(ana(here))
    await here.memory.forget(ana(here), one.id)
    again = await replay(here, await where(here, "context", 1))
    assert again["bullets"] == asked["bullets"] == ["[goals] The user plans to see the Lisbon oceanarium"]
    assert (await here.say("What do I plan to see?", thread="b"))["bullets"] == []


async def test_a_replay_asked_for_now_reads_now(here: Talk) -> None:
    """`memory: now` in the context of the run is the way out; the branch stays in the present after it."""
    await story(here)
    again = await replay(here, await where(here, "context", 2), memory="now")
    assert (knows(again), again["as_of"]) == ({"Porto"}, None)
    assert knows(await here.say(QUESTION)) == {"Porto"}


@pytest.mark.parametrize("turn", [1, 2])
async def test_a_fork_reads_as_of_its_checkpoint(here: Talk, turn: int) -> None:
    """A new message at an earlier checkpoint finds what that checkpoint knew: what its turn had read, or written."""
    await story(here)
    at = await where(here, "end", turn)
    state = await fork(here, at, "And in which city do I live now?")
    assert (knows(state), state["rev"], state["as_of"]) == ({"Lisbon"}, 1, 1)


async def test_a_fork_stays_until_it_is_asked_for_now(here: Talk) -> None:
    """Its next turns read the same revision; one that is asked for now ends that, for those after it as well."""
    await story(here)
    await fork(here, await where(here, "end", 2), "Good morning!")
    await here.say("My sister lives in Faro.", thread="b")
    for _ in range(2):
        state = await here.say(QUESTION)
        assert (knows(state), state["rev"]) == ({"Lisbon"}, 1)
    now = await here.graph.ainvoke(
        Input(messages=[HumanMessage(QUESTION)]), here.config("a"), context=Who(user="ana", memory="now")
    )
    assert knows(now) == {"Porto"}
    after = await here.say(QUESTION)
    assert (knows(after), after["as_of"]) == ({"Porto"}, None)


async def test_a_fork_of_a_turn_that_read_nothing(here: Talk) -> None:
    """It reads what the turn before had read, and where none had, what the first one after it has."""
    too_long = "x" * (here.settings.limits.turn_chars + 1)
    await here.say(too_long, thread="c")
    await here.say("I live in Lisbon.")
    await here.say(QUESTION)
    await here.say(QUESTION, thread="c")
    await here.say(too_long)
    await here.say("I moved to Porto.", thread="b")
    await here.say("Thank you!")
    for at in (await where(here, "end", 3), await where(here, "episodic", 1, "c")):
        assert knows(await fork(here, at, QUESTION)) == {"Lisbon"}


async def test_a_fork_of_a_fork(here: Talk) -> None:
    """From a fork's checkpoint its revision holds, also after the fork itself was asked for now."""
    await story(here)
    await fork(here, await where(here, "end", 2), "Good morning!")
    first = await here.graph.aget_state(here.config("a"))
    await here.graph.ainvoke(
        Input(messages=[HumanMessage(QUESTION)]), here.config("a"), context=Who(user="ana", memory="now")
    )
    second = await fork(here, first, QUESTION)
    assert (knows(second), second["as_of"]) == ({"Lisbon"}, 1)
    third = await replay(here, [one async for one in here.graph.aget_state_history(here.config("a"))][-1])
    assert third["rev"] == 0


async def test_an_edited_message_is_asked_of_the_same_memory(here: Talk) -> None:
    """A fork by `update_state` before a turn reads what the turn had read, whether the run names the fork or not."""
    await here.say("Good morning!")
    await here.say("I live in Lisbon.", thread="b")
    asked = await here.say(QUESTION)
    await here.say("I moved to Porto.", thread="b")
    at = await where(here, "context", 2)
    said = [one for one in at.values["messages"] if isinstance(one, HumanMessage)][-1]
    edited = {"messages": [HumanMessage("In which city do I live?", id=said.id)]}
    for named in (True, False):
        made = await here.graph.aupdate_state(at.config, edited, as_node="__start__")
        state = await here.graph.ainvoke(None, made if named else here.config("a"), context=Who(user="ana"))
        assert (knows(state), state["rev"]) == ({"Lisbon"}, asked["rev"])
        assert [str(one.text) for one in state["messages"]][-2] == "In which city do I live?"


@pytest.mark.parametrize("node", ["__start__", "context"])
async def test_another_first_message(here: Talk, node: str) -> None:
    """Before the first turn a checkpoint knows nothing: other words there are asked of what the first ones were asked
    of."""
    await here.say("I live in Lisbon.", thread="b")
    asked = await here.say(QUESTION)
    await here.say("I moved to Porto.", thread="b")
    await here.say("Thank you!")
    at = [one async for one in here.graph.aget_state_history(here.config("a")) if one.next == (node,)][-1]
    state = await fork(here, at, "In which city do I live?")
    assert (knows(state), state["rev"], state["as_of"]) == ({"Lisbon"}, asked["rev"], asked["rev"])
    assert knows(await here.say(QUESTION)) == {"Lisbon"}
    assert knows(await fork(here, at, QUESTION, memory="now")) == {"Porto"}


async def test_a_message_that_is_sent_again(here: Talk) -> None:
    """The same message, given once more to the checkpoint before its turn, is asked of what the turn had read."""
    await here.say("Good morning!")
    await here.say("I live in Lisbon.", thread="b")
    at = await here.graph.aget_state(here.config("a"))
    asked = await here.say(QUESTION)
    await here.say("I moved to Porto.", thread="b")
    said = next(one for one in reversed(asked["messages"]) if isinstance(one, HumanMessage))
    again = await here.graph.ainvoke(Input(messages=[said]), at.config, context=Who(user="ana"))
    assert read(again) == read(asked)
    assert knows(again) == {"Lisbon"}


async def test_a_fork_by_update_then_a_message(here: Talk) -> None:
    """The thread is set back by an update; the next message, to no checkpoint in particular, is in the past."""
    await story(here)
    at = await where(here, "end", 2)
    await here.graph.aupdate_state(at.config, {"told_offline": True}, as_node="episodic")
    state = await here.say(QUESTION)
    assert (knows(state), state["rev"]) == ({"Lisbon"}, 1)


async def test_an_update_of_the_latest_checkpoint_is_no_past(here: Talk) -> None:
    """Nor is a run that names the latest checkpoint, as user interfaces do with every message."""
    await story(here)
    await here.graph.aupdate_state(here.config("a"), {"told_offline": True}, as_node="episodic")
    state = await here.say(QUESTION)
    assert (knows(state), state["as_of"]) == ({"Porto"}, None)
    latest = await here.graph.aget_state(here.config("a"))
    state = await fork(here, latest, QUESTION)
    assert (knows(state), state["as_of"]) == ({"Porto"}, None)
    latest = await here.graph.aget_state(here.config("a"))
    made = await here.graph.aupdate_state(latest.config, {"told_offline": True}, as_node="episodic")
    state = await fork(here, await here.graph.aget_state(made), QUESTION)
    assert (knows(state), state["as_of"]) == ({"Porto"}, None)


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
async def test_whenever_checkpoints_are_saved(here: Talk, durability: Any) -> None:
    """How soon LangGraph saves is no matter: a fork is in the past, a next turn is not."""

    async def say(text: str, config: Any) -> dict[str, Any]:
        said = Input(messages=[HumanMessage(text)])
        return await here.graph.ainvoke(said, config, context=Who(user="ana"), durability=durability)

    await say("I live in Lisbon.", here.config("a"))
    await say(QUESTION, here.config("a"))
    at = await here.graph.aget_state(here.config("a"))
    await here.say("I moved to Porto.", thread="b")
    for config, cities in (
        (here.config("a"), {"Porto"}), (at.config, {"Lisbon"}), (here.config("a"), {"Lisbon"}), (at.config, {"Lisbon"})
    ):  # fmt: skip
        assert knows(await say(QUESTION, config)) == cities


async def test_what_a_fork_says_is_remembered_today(here: Talk) -> None:
    """A fork's words are new facts of the present, which it does not read itself; a replay's are known already."""
    await story(here)
    replayed = await replay(here, await where(here, "context", 1))
    assert (replayed["writes"], replayed["unwritten"]) == ([], "")
    assert [one.text for one in await here.memory.list(ana(here))] == ["The user moved to Porto"]
    await here.memory.conversation.mark_seen(
        ana(here, "a"), (await here.memory.brief(ana(here, "a"), "supervisor", "Hi")).rev
    )
    state = await fork(here, await where(here, "end", 2), "I have a dog called Rex.")
    assert state["writes"]
    again = await here.say("Do I have a dog?")
    assert "Rex" not in again["stable"] + "".join(again["bullets"])
    told = await here.say("Do I have a dog?", thread="c")
    assert "Rex" in told["stable"] + told["header"] + "".join(told["bullets"])


async def test_an_interrupt_that_is_answered_is_no_past(memory: Memory, settings: Settings, saver: Any) -> None:
    """A run that is resumed, and the turn after it, read the present, also when the resume names the checkpoint."""
    here = Talk(memory, settings, build(memory, None, settings, interrupts=True).compile(checkpointer=saver))
    for thread, named in (("a", False), ("b", True)):
        await here.say(f"Call me {'Ana' if named else 'Anita'}.", thread=thread)
        waiting = await here.graph.aget_state(here.config(thread))
        assert waiting.next == ("consent",)
        await here.say("I live in Lisbon.", thread="c")
        config = waiting.config if named else here.config(thread)
        resumed = await here.graph.ainvoke(Command(resume="no"), config, context=Who(user="ana"))
        assert resumed["as_of"] is None
        state = await here.say(QUESTION, thread=thread)
        assert (knows(state), state["as_of"]) == ({"Lisbon"}, None)


async def test_a_turn_that_was_cut_short_is_no_past(here: Talk) -> None:
    """Finished later, it reads what it would have read; the next turn reads the present."""
    await here.say("I live in Lisbon.")
    stream = here.graph.astream(
        Input(messages=[HumanMessage(QUESTION)]),
        here.config("a"),
        context=Who(user="ana"),
        stream_mode="updates",
        durability="sync",
        interrupt_before=["supervisor"],
    )
    assert "context" in [name async for update in stream for name in update]
    await here.say("I moved to Porto.", thread="b")
    state = await here.graph.ainvoke(None, here.config("a"), context=Who(user="ana"))
    assert (knows(state), state["as_of"]) == ({"Lisbon"}, None)
    state = await here.say(QUESTION)
    assert (knows(state), state["as_of"]) == ({"Porto"}, None)


async def test_what_memory_cannot_say_any_more(here: Talk, clock: FixedClock) -> None:
    """A space that has not got so far (it was made anew) leaves the reply without memory, and says so."""
    await story(here)
    at = await where(here, "end", 2)
    made = await here.graph.aupdate_state(at.config, {"rev": 99}, as_node="episodic")
    state = await here.graph.ainvoke(Input(messages=[HumanMessage(QUESTION)]), made, context=Who(user="ana"))
    sentence = "Memory cannot say any more what it held at revision 99, so this reply was made without it."
    assert state["unread"] == sentence
    assert last(state).count(sentence) == 1
    assert (state["rev"], state["bullets"]) == (None, [])
    clock.advance(1)
    back = await here.graph.ainvoke(
        Input(messages=[HumanMessage(QUESTION)]), here.config("a"), context=Who(user="ana", memory="now")
    )
    assert knows(back) == {"Porto"}
