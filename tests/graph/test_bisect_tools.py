"""A turn in which the model called tools, made again: no tool runs, and a call has the result that it had."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
from langchain_core.messages import HumanMessage

from muniment.graph.checkpointer import open_thread_saver
from muniment.graph.replay.turns import SupervisorReplay, open_turn
from muniment.graph.saver import PooledSaver
from muniment.graph.supervisor import build
from muniment.memory.client import Memory
from muniment.memory.config.settings import Settings
from muniment.memory.domain.layers.bisection import Bisection
from muniment.memory.domain.scope import Scope
from muniment.memory.payload import encode_bisection
from muniment.memory.ports.llm import AnswerForm, ChatAnswer, ChatMessage, Tool, ToolCall
from muniment.nodes.state import Input, Who
from muniment.nodes.subagents import Subagent
from tests.engine import note

WHO = Scope(owner="ana", thread="a", session="a")
LIKES, LIVES = "The user likes fish", "The user lives in Porto"


@dataclass
class Waiter:
    """A model that looks a table up in the town that it is shown, and names what it is told.

    With `wanders` it asks for another town where it is not shown one."""

    wanders: bool = False
    prompts: list[list[ChatMessage]] = field(default_factory=list)
    offered: list[tuple[Tool, ...]] = field(default_factory=list)
    name: str = "waiter"

    async def chat(
        self, messages: Sequence[ChatMessage], tools: Sequence[Tool] = (), *, form: AnswerForm | None = None
    ) -> ChatAnswer:
        del form
        self.prompts.append([*messages])
        self.offered.append(tuple(tools))
        told = next((one.content for one in messages if one.role == "tool"), None)
        if told is not None:
            return self.answer(f"Go to {told}.")
        prompt = "\n".join(one.content for one in messages)
        town = "Porto" if LIVES in prompt else "Rome" if self.wanders else None
        if town is None:
            return self.answer("I cannot say.")
        call = ToolCall(id=f"c{len(self.prompts)}", name="find_table", arguments={"town": town, "seats": 2})
        return ChatAnswer(message=ChatMessage(role="assistant", content="", tool_calls=(call,)), model=self.name)

    def answer(self, text: str) -> ChatAnswer:
        return ChatAnswer(
            message=ChatMessage(role="assistant", content=text), model=self.name, input_tokens=9, output_tokens=3
        )

    async def close(self) -> None:
        return


class Desk:
    """A tool that counts how often it runs, and says something else each time."""

    def __init__(self) -> None:
        self.calls: list[dict[str, Any]] = []

    async def find_table(self, town: str, seats: int = 1) -> str:
        """Find a table in a town."""
        self.calls.append({"town": town, "seats": seats})
        return f"the Blue Door in {town}, table {len(self.calls)}"


@pytest.fixture
async def saver(settings: Settings) -> AsyncIterator[PooledSaver]:
    async with open_thread_saver(settings) as opened:
        yield opened


async def dine(memory: Memory, settings: Settings, saver: PooledSaver, desk: Desk, waiter: Waiter) -> None:
    """A thread with one question, which is answered by what the tool says."""
    await memory.ingest(Scope(owner="ana"), [note(LIKES, "constraints"), note(LIVES, "constraints")])
    graph = build(memory, waiter, settings, tools=[desk.find_table]).compile(checkpointer=saver)
    config: Any = {"configurable": {"thread_id": "a"}}
    await graph.ainvoke(Input(messages=[HumanMessage("Where shall we eat?")]), config, context=Who(user="ana"))
    assert desk.calls == [{"town": "Porto", "seats": 2}]


def name_sets(found: Bisection) -> list[list[str]]:
    return [[cause.statement.text.partition("] ")[2] for cause in one] for one in found.sets]


async def open_it(memory: Memory, waiter: Waiter, desk: Desk | None) -> SupervisorReplay:
    return await open_turn(memory, WHO, 0, model=waiter, tools=[desk.find_table] if desk else ())


async def test_a_tool_is_not_run_again(memory: Memory, settings: Settings, saver: PooledSaver) -> None:
    """The model gets the same definitions and the recorded result, to the byte; the cause is what made it call."""
    desk, waiter = Desk(), Waiter()
    await dine(memory, settings, saver, desk, waiter)
    prompts, offered = [*waiter.prompts], [*waiter.offered]
    waiter.prompts.clear()
    waiter.offered.clear()
    replay = await open_it(memory, waiter, desk)
    said = await replay.make_reply({each.key for each in replay.turn.shown})
    assert said == "Go to the Blue Door in Porto, table 1."
    assert [[one.content for one in prompt] for prompt in waiter.prompts] == [
        [one.content for one in prompt] for prompt in prompts
    ]
    assert [tool for tool in waiter.offered[0] if tool.name == "find_table"] == [
        tool for tool in offered[0] if tool.name == "find_table"
    ]
    found = await memory.bisect(WHO, replay, expect="blue door")
    assert (found.outcome, name_sets(found), found.strayed) == ("found", [[LIVES]], 0)
    assert found.reply_without == "I cannot say."
    assert len(desk.calls) == 1


@pytest.mark.parametrize("is_given", [True, False])
async def test_a_call_that_was_not_made_goes_another_way(
    memory: Memory, settings: Settings, saver: PooledSaver, is_given: bool
) -> None:
    """A reply ends with a call whose result nobody knows: it counts as one that does not match, and the result says so,
    again from the replies that are kept; also where the tools of the graph are not at hand."""
    desk = Desk()
    await dine(memory, settings, saver, desk, Waiter())
    wandering = Waiter(wanders=True)
    for _ in range(2):
        replay = await open_it(memory, wandering, desk if is_given else None)
        found = await memory.bisect(WHO, replay, expect="blue door")
        assert (found.outcome, name_sets(found)) == ("found", [[LIVES]])
        assert found.strayed > 0
        assert encode_bisection(found)["strayed"] == found.strayed
        assert found.reply_without is not None
        assert found.reply_without.startswith("It went another way: the turn has no call of find_table")
        assert json.dumps({"seats": 2, "town": "Rome"}) in found.reply_without
    assert found.reused == found.replies
    assert len(desk.calls) == 1


async def test_without_checkpoints_the_ledger_has_the_calls(
    memory: Memory, settings: Settings, saver: PooledSaver
) -> None:
    desk, waiter = Desk(), Waiter()
    await dine(memory, settings, saver, desk, waiter)
    async with saver._pool.connection() as conn:  # the janitor's own way takes a day of the clock
        await conn.execute("delete from checkpoints")
    replay = await open_it(memory, waiter, desk)
    assert not replay.turn.is_kept
    found = await memory.bisect(WHO, replay, expect="blue door")
    assert (found.outcome, name_sets(found)) == ("found", [[LIVES]])
    assert len(desk.calls) == 1


async def test_a_colleague_has_its_recorded_results_too(memory: Memory, settings: Settings, saver: PooledSaver) -> None:
    """A subagent works again in each replay, with the results that its tools had."""

    class Host(Waiter):
        async def chat(
            self, messages: Sequence[ChatMessage], tools: Sequence[Tool] = (), *, form: AnswerForm | None = None
        ) -> ChatAnswer:
            if any(tool.name == "find_table" for tool in tools):  # the colleague
                if messages[-1].role == "tool":
                    return self.answer(messages[-1].content)
                call = ToolCall(id="c", name="find_table", arguments={"town": messages[-1].content})
                return ChatAnswer(message=ChatMessage(role="assistant", content="", tool_calls=(call,)), model="host")
            prompt = "\n".join(one.content for one in messages)
            if "Report of the executor" in prompt:
                return self.answer("It is booked." if "table 1" in prompt else "It is full.")
            if LIVES not in prompt:
                return self.answer("I cannot say.")
            task = ToolCall(id="t", name="transfer_to_executor", arguments={"task": "Porto"})
            return ChatAnswer(message=ChatMessage(role="assistant", content="", tool_calls=(task,)), model="host")

    desk, host = Desk(), Host()
    executor = Subagent(name="executor", description="books", instructions="Book it.", tools=[desk.find_table])
    await memory.ingest(Scope(owner="ana"), [note(LIKES, "constraints"), note(LIVES, "constraints")])
    graph = build(memory, host, settings, subagents=[executor]).compile(checkpointer=saver)
    config: Any = {"configurable": {"thread_id": "a"}}
    await graph.ainvoke(Input(messages=[HumanMessage("Where shall we eat?")]), config, context=Who(user="ana"))
    assert len(desk.calls) == 1
    replay = await open_turn(memory, WHO, 0, model=host, subagents=[executor])
    found = await memory.bisect(WHO, replay, expect="booked")
    assert (found.outcome, name_sets(found), found.strayed) == ("found", [[LIVES]], 0)
    assert len(desk.calls) == 1
