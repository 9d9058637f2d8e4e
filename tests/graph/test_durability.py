"""How often a turn is saved, what a cut one leaves, and what a checkpoint holds."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage, ToolMessage
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from muniment.graph.checkpointer import open_saver
from muniment.graph.saver import PooledSaver
from muniment.graph.serializer import MessageSerializer
from muniment.memory.client import Memory
from muniment.memory.config.settings import Settings
from muniment.nodes.state import Input, Who
from tests.graph.conftest import STORY, Talk, last
from tests.graph.test_trouble import rows

_MAX_SAFE = 2**53  # a browser rounds larger numbers
USAGE: Any = {
    "input_tokens": 7,
    "output_tokens": 2,
    "total_tokens": 9,
    "input_token_details": {"cache_read": 4},
}
MESSAGES: dict[str, list[AnyMessage]] = {
    "short": [HumanMessage("Hi", id="1"), AIMessage("Hello", id="2", name="supervisor"), SystemMessage("Be kind.")],
    "tokens": [AIMessage("Hi", id="1", usage_metadata=USAGE), HumanMessage("Hi", id="2")],
    "calls": [AIMessage("", id="1", tool_calls=[{"name": "f", "args": {"x": 1}, "id": "c"}]), HumanMessage("Hi")],
    "blocks": [HumanMessage([{"type": "text", "text": "Hi"}], id="1")],
    "tags": [HumanMessage("Hi", id="1", additional_kwargs={"tags": ["work"]})],
    "metadata": [AIMessage("Hi", id="1", response_metadata={"model": "m"})],
    "tool": [ToolMessage("done", tool_call_id="c", id="1")],
    "more fields": [HumanMessage("Hi", id="1", example=True)],
    "half a character": [HumanMessage("\ud800", id="1")],
}


@pytest.mark.parametrize("name", MESSAGES)
def test_messages_are_read_by_either_serializer(name: str) -> None:
    """Ours reads what LangGraph's has written, and the other way round."""
    messages, ours, theirs = MESSAGES[name], MessageSerializer(), JsonPlusSerializer()
    expected = theirs.loads_typed(theirs.dumps_typed(messages))
    for written, read in ((ours, theirs), (theirs, ours), (ours, ours)):
        found = read.loads_typed(written.dumps_typed(messages))
        assert found == expected
        assert [one.model_dump() for one in found] == [one.model_dump() for one in expected]


def test_messages_that_are_read_share_nothing() -> None:
    serializer = MessageSerializer()
    packed = serializer.dumps_typed([HumanMessage("a"), HumanMessage("b")])
    one, other = serializer.loads_typed(packed)
    one.additional_kwargs["tags"] = ["x"]
    assert other.additional_kwargs == {}
    assert HumanMessage("c").additional_kwargs == {}
    assert serializer.loads_typed(packed)[0].additional_kwargs == {}


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often savers save."""
    counts: Counter[str] = Counter()
    for name in ("aput", "aput_writes"):

        def count(method: Callable[..., Any], name: str = name) -> Callable[..., Any]:
            async def call(*given: Any, **more: Any) -> Any:
                counts[name] += 1
                return await method(*given, **more)

            return call

        monkeypatch.setattr(PooledSaver, name, count(getattr(PooledSaver, name)))
    return counts


@pytest.mark.parametrize(("durability", "most"), [("exit", (1, 0)), ("async", (5, 5)), ("sync", (5, 5))])
async def test_how_often_a_turn_is_saved(
    talk: Callable[..., Talk], database_url: str, calls: Counter[str], durability: Any, most: tuple[int, int]
) -> None:
    async with open_saver(database_url) as saver:
        here = talk(None, saver)
        for text in (STORY, "What am I training for?", "Thank you!"):
            calls.clear()
            said = Input(messages=[HumanMessage(text)])
            await here.graph.ainvoke(said, here.config("a"), context=Who(user="ana"), durability=durability)
            assert (calls["aput"], calls["aput_writes"]) <= most
        assert not (await here.graph.aget_state(here.config("a"))).next


async def test_no_number_of_a_state_is_beyond_a_browser(talk: Callable[..., Talk], database_url: str) -> None:
    """And the ledger still has the hashes of all that was shown, with what the reply searched for."""
    here = talk()
    await here.say(STORY)
    states = [await here.say("What am I training for?"), await here.say("Who is Zoe?")]

    def list_numbers(value: Any) -> Iterator[int]:
        if isinstance(value, dict):
            value = [*value.values()]
        if isinstance(value, list):
            yield from (number for item in value for number in list_numbers(item))
        elif isinstance(value, int):
            yield value

    for state in states:
        values = {name: value for name, value in state.items() if name != "messages"}
        assert all(abs(number) < _MAX_SAFE for number in list_numbers(json.loads(json.dumps(values))))
        shown = here.memory.conversation.shingle_hashes(state["stable"], state["header"], *state["bullets"])
        statement = f"select recalled from muniment.turns where text = $${last(state)}$$"
        ((recalled,),) = await rows(database_url, statement)
        assert set(shown) | set(map(int, state["recalled"])) == set(recalled)


async def test_a_turn_that_is_cut_before_its_end_is_said_again(
    memory: Memory, settings: Settings, database_url: str, talk: Callable[..., Talk], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Saved at its end only, it leaves nothing in the thread; what memory has learned it does not learn twice."""
    record = memory.conversation.record

    async def fail(*_: Any) -> None:
        raise KeyError("cut")

    async with open_saver(database_url) as saver:
        here = talk(None, saver)
        said = Input(messages=[HumanMessage(STORY)])
        monkeypatch.setattr(memory.conversation, "record", fail)
        with pytest.raises(KeyError):
            await here.graph.ainvoke(said, here.config("a"), context=Who(user="ana"), durability="exit")
        monkeypatch.setattr(memory.conversation, "record", record)
        again = Input(messages=[HumanMessage(STORY)])
        state = await here.graph.ainvoke(again, here.config("a"), context=Who(user="ana"), durability="exit")
    assert state["messages"][-1].type == "ai"
    assert len(await rows(database_url, "select from muniment.memories where state = 'active'")) == 3
    changes = await rows(database_url, "select rev, action from muniment.journal order by rev")
    # The message was sent twice, which approves of what it says for the profile.
    assert changes == [(1, "ADD"), (2, "ADD"), (3, "ADD"), (4, "UPDATE")]
