"""A consolidation as a graph: the same as in one call, step by step, and it goes on where a process has died."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any
from uuid import UUID, uuid4

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph.state import CompiledStateGraph

from muniment.graph.checkpointer import open_saver
from muniment.graph.consolidation import build
from muniment.graph.janitor import list_space_threads
from muniment.memory import bootstrap
from muniment.memory.client import Memory
from muniment.memory.config.settings import Settings
from muniment.memory.domain.consolidation import Run
from muniment.memory.domain.ids import Revision
from muniment.memory.domain.plan import Change, WritePlan
from muniment.memory.domain.scope import Scope
from muniment.memory.errors import BadInput
from muniment.memory.models.hash_embedder import HashEmbedder
from muniment.nodes.consolidation import ConsolidationInput, ConsolidationState
from muniment.nodes.state import Who
from muniment.testing.batch_server import ScriptedBatches
from muniment.testing.fakes import FixedClock
from muniment.testing.openai_server import Fails, structured
from tests.engine import note

Graph = CompiledStateGraph[ConsolidationState, Who, ConsolidationInput, ConsolidationState]
SAID = [
    *("The user waters the tomatoes", "The user waters the tomatoes.", "Rosa mended the lamp in the attic yesterday"),
    *(
        "Lamp in the attic mended again thanks to Rosa",
        "Theo sold the boat in spring",
        "In spring the boat was sold, says Theo",
    ),
]


def answer(body: dict[str, Any]) -> str:
    """A model for which the lamps are one, and nothing else is."""
    pairs = json.loads(body["messages"][-1]["content"])["pairs"]
    lamps = [all("lamp" in one[side]["text"].lower() for side in ("earlier", "later")) for one in pairs]
    return structured(
        {"pairs": [{"pair": n, "verdict": "same" if yes else "different"} for n, yes in enumerate(lamps, 1)]}
    )


@asynccontextmanager
async def served(
    settings: Settings, clock: FixedClock, reply: Callable[[dict[str, Any]], str] = answer, fail: Fails = None
) -> AsyncIterator[tuple[Memory, Settings]]:
    """An engine whose model is at a scripted server."""
    with ScriptedBatches(reply, fail=fail) as server:
        told = {"chat_model": "tiny-1", "base_url": server.base_url}
        tuned = settings.model_copy(update=told)
        async with bootstrap.create_memory(tuned, embedder=HashEmbedder(), clock=clock) as memory:
            yield memory, tuned


async def tell(memory: Memory, *owners: str) -> None:
    for owner in owners:
        await memory.ingest(Scope(owner=owner), [note(text) for text in SAID])


def thread() -> Any:
    return {"configurable": {"thread_id": str(uuid4())}}


def figures(run: Run) -> dict[str, Any]:
    """A record without what is of its own: id, space and time."""
    names = ("status", "seen", "checked", "same", "superseded", "distinct", "outdated", "unanswered", "shelved",
        "requests",
             "input_tokens", "output_tokens", "duplicates_before", "duplicates_after", "model", "prompt",
             "surveyed")  # fmt: skip
    return {name: getattr(run, name) for name in names}


async def test_the_graph_comes_to_the_same_as_one_call(settings: Settings, clock: FixedClock) -> None:
    """Equal records and equal memories; every step is there to be seen, with the texts, and the state is JSON."""
    async with served(settings, clock) as (memory, tuned):
        await tell(memory, "ana", "ben")
        graph = build(memory, tuned).compile(checkpointer=InMemorySaver())
        steps = [one async for one in graph.astream(ConsolidationInput(user="ana"), thread(), stream_mode="updates")]
        whole = await memory.admin.consolidate(Scope(owner="ben"))
        assert whole is not None
        (record,) = await memory.admin.list_runs(Scope(owner="ana"))
        assert figures(record) == figures(whole)
        assert (record.same, record.requests) == (2, 1)
        texts = [sorted(one.text for one in await memory.list(Scope(owner=owner))) for owner in ("ana", "ben")]
        assert texts[0] == texts[1]
        assert len(texts[0]) == 4
        assert [name for one in steps for name in one] == ["begin", "survey", "check", "apply", "check", "apply", "end"]
        shown = [pair for one in steps for pair in one.get("check", {}).get("shown", ())]
        assert {"same"} < {pair["verdict"] for pair in shown}
        assert {pair["by"] for pair in shown} == {"rules", "model"}
        assert "2 merged" in steps[-1]["end"]["told"]
        json.dumps(steps)


@pytest.mark.parametrize("stop", ["survey", "check", "apply"])
async def test_it_goes_on_where_a_process_has_died(
    database_url: str, settings: Settings, clock: FixedClock, stop: str
) -> None:
    """Another process, with the checkpoint alone, ends it as if nothing had happened; the model is asked once."""
    async with served(settings, clock) as (memory, tuned), open_saver(database_url) as saver:
        await tell(memory, "ana", "ben")
        config = thread()
        await (
            build(memory, tuned)
            .compile(checkpointer=saver, interrupt_after=[stop])
            .ainvoke(ConsolidationInput(user="ana"), config)
        )
        (open_,) = await memory.admin.list_runs(Scope(owner="ana"))
        assert open_.status == "running"
        assert await list_space_threads(saver, Scope(owner="ana").space) == [config["configurable"]["thread_id"]]
        async with bootstrap.create_memory(tuned, embedder=HashEmbedder(), clock=clock) as other:
            state = await build(other, tuned).compile(checkpointer=saver).ainvoke(None, config)
            assert state["run"]["status"] == "done"
            whole = await other.admin.consolidate(Scope(owner="ben"))
            (record,) = await other.admin.list_runs(Scope(owner="ana"))
        assert whole is not None
        assert figures(record) == figures(whole)


@pytest.mark.parametrize("back", [0, 2 * 86_400])
@pytest.mark.parametrize("step", ["apply", "end"])
async def test_a_step_whose_checkpoint_was_lost_is_not_done_twice(
    settings: Settings, clock: FixedClock, step: str, back: int
) -> None:
    """The database knows more than the checkpoint: the step is taken from there, whatever the clock said meanwhile."""
    async with served(settings, clock) as (memory, tuned):
        for owner in ("ana", "ben") if back else ():
            await memory.ingest(Scope(owner=owner), [note("The user reads a book about bees")])
            assert await memory.admin.consolidate(Scope(owner=owner))
        clock.advance(-back)
        await tell(memory, "ana", "ben")
        saver, config = InMemorySaver(), thread()
        graph: Graph = build(memory, tuned).compile(checkpointer=saver)
        await (
            build(memory, tuned)
            .compile(checkpointer=saver, interrupt_before=[step])
            .ainvoke(ConsolidationInput(user="ana"), config)
        )
        before = await graph.aget_state(config)
        await build(memory, tuned).compile(checkpointer=saver, interrupt_after=[step]).ainvoke(None, config)
        state = await graph.ainvoke(None, before.config)
        whole = await memory.admin.consolidate(Scope(owner="ben"))
        (record,) = await memory.admin.list_runs(Scope(owner="ana"), run=UUID(state["run"]["id"]))
        assert whole is not None
        assert figures(record) == figures(whole)
        assert state["run"]["status"] == "done"


async def test_what_has_changed_since_it_was_looked_at_is_left_alone(settings: Settings, clock: FixedClock) -> None:
    """However long the graph has stood still before it does what was found: a memory that says something else by then
    is not merged away, and the pair counts as outdated."""
    ana = Scope(owner="ana")
    async with served(settings, clock) as (memory, tuned):
        await tell(memory, "ana")
        saver, config = InMemorySaver(), thread()
        await (
            build(memory, tuned)
            .compile(checkpointer=saver, interrupt_before=["apply"])
            .ainvoke(ConsolidationInput(user="ana"), config)
        )
        told = next(one for one in await memory.list(ana) if one.text == SAID[1])
        now = replace(told, text="The user waters the roses")
        plan = WritePlan(
            scope=ana,
            expected_rev=Revision((await memory.read_status(ana))["rev"]),
            node="face",
            at=clock.now(),
            changes=(Change(action="UPDATE", before=told, after=now),),
        )
        await memory.engine.store.writes.commit(plan)
        state = await build(memory, tuned).compile(checkpointer=saver).ainvoke(None, config)
        assert (state["run"]["status"], state["run"]["same"], state["run"]["outdated"]) == ("done", 1, 1)
        assert {SAID[0], now.text} < {one.text for one in await memory.list(ana)}


async def test_the_next_run_of_a_thread(settings: Settings, clock: FixedClock) -> None:
    """It is of whoever it says, and writes: what was said to the one before is over with it, also where that found
    another."""
    async with served(settings, clock) as (memory, tuned):
        await tell(memory, "ana", "ben")
        graph, config = build(memory, tuned).compile(checkpointer=InMemorySaver()), thread()
        first = await graph.ainvoke(ConsolidationInput(user="ana", dry_run=True, limit=1), config)
        assert (first["run"]["dry"], first["run"]["checked"]) == (True, 1)
        held = await memory.admin.begin_run(Scope(owner="ana"))
        busy = await graph.ainvoke(ConsolidationInput(user="ana", limit=1), config)
        assert (held is None, busy["run"]) == (False, None)
        state = await graph.ainvoke(ConsolidationInput(dry_run=False), config, context=Who(user="ben"))
        assert state["space"] == str(Scope(owner="ben").space)
        assert state["run"]["checked"] > 1
        assert state["run"]["same"]


async def test_a_dry_run_writes_nothing(settings: Settings, clock: FixedClock) -> None:
    """No memory and no record; the verdicts are in the state."""
    async with served(settings, clock) as (memory, tuned):
        await tell(memory, "ana")
        state = await build(memory, tuned).compile().ainvoke(ConsolidationInput(user="ana", dry_run=True))
        assert state["run"]["same"] == 2
        assert len(await memory.list(Scope(owner="ana"))) == len(SAID)
        assert await memory.admin.list_runs(Scope(owner="ana")) == []


async def test_a_pair_that_gets_no_answer_is_known_by_its_tries(settings: Settings, clock: FixedClock) -> None:
    """The state carries how often it was asked in vain, and the graph shelves it as the call does."""
    async with served(settings, clock, lambda _: "?") as (memory, tuned):
        await tell(memory, "ana", "ben")
        graph = build(memory, tuned).compile(checkpointer=InMemorySaver())
        for night in range(1, 4):
            state = await graph.ainvoke(ConsolidationInput(user="ana"), thread())
            whole = await memory.admin.consolidate(Scope(owner="ben"))
            (record, *_) = await memory.admin.list_runs(Scope(owner="ana"))
            assert whole is not None
            assert figures(record) == figures(whole)
            assert record.unanswered > 0
            assert record.shelved == (record.unanswered if night == 3 else 0)
            assert night > 1 or "no answer" in json.dumps(state)
            clock.advance(86_400)


@pytest.mark.parametrize("tokens", [None, 1])
async def test_a_model_that_cannot_be_asked_ends_the_graph_too(
    settings: Settings, clock: FixedClock, tokens: int | None
) -> None:
    """It is down, or the budget is used up: no other prompt is tried, and the record says why, as that of the call
    does."""
    night = settings.consolidation.model_copy(update={"per_prompt": 5})
    tight = {"consolidation": night, "spend": settings.spend.model_copy(update={"daily_tokens": tokens})}
    fail: Fails = None if tokens else "server_error"
    async with served(settings.model_copy(update=tight), clock, fail=fail) as (memory, tuned):
        ana, ben = Scope(owner="ana"), Scope(owner="ben", tenant="beside")
        for who in (ana, ben):
            more = [note(text.replace("lamp", "clock").replace("boat", "sofa")) for text in SAID[2:]]
            await memory.ingest(who, [*map(note, SAID), *more])
        graph = build(memory, tuned).compile(checkpointer=InMemorySaver())
        steps = [one async for one in graph.astream(ConsolidationInput(user="ana"), thread(), stream_mode="updates")]
        whole = await memory.admin.consolidate(ben)
        (record,) = await memory.admin.list_runs(ana)
        assert whole is not None
        # Which pairs came first, of those that are equally near, is a matter of their ids.
        for name in ("status", "reason", "seen", "requests", "model", "prompt", "surveyed"):
            assert getattr(record, name) == getattr(whole, name)
        assert (record.status, record.requests) == (("over_budget", 1) if tokens else ("failed", 0))
        assert "ended early" in steps[-1]["end"]["told"]


async def test_a_space_that_is_busy_is_told_so(settings: Settings, clock: FixedClock) -> None:
    """One run at a time: the second graph ends at its first step."""
    async with served(settings, clock) as (memory, tuned):
        await tell(memory, "ana")
        graph = build(memory, tuned).compile()
        await memory.admin.begin_run(Scope(owner="ana"))
        state = await graph.ainvoke(ConsolidationInput(user="ana"))
        assert state["run"] is None
        assert "under way" in state["told"]


@pytest.mark.parametrize(
    "said", [{"limit": "7"}, {"limit": 0}, {"limit": True}, {"dry_run": "no"}, {"user": 7}, {"user": " "}]
)
async def test_what_is_not_valid_is_refused(memory: Memory, settings: Settings, said: Any) -> None:
    """By name, before anything is begun."""
    with pytest.raises(BadInput, match=next(iter(said))):
        await build(memory, settings).compile().ainvoke(said)


async def test_a_batch_ends_the_graph_and_not_the_run(settings: Settings, clock: FixedClock) -> None:
    """What the rules are sure of is done, the rest waits at the endpoint for a worker."""
    night = settings.consolidation.model_copy(update={"batch": True})
    async with served(settings.model_copy(update={"consolidation": night}), clock) as (memory, tuned):
        await tell(memory, "ana")
        state = await build(memory, tuned).compile().ainvoke(ConsolidationInput(user="ana"))
        assert (state["run"]["status"], state["run"]["same"]) == ("waiting", 1)
        assert "batch endpoint" in state["told"]


async def test_nobody_goes_on_with_the_run_of_another(memory: Memory, settings: Settings, clock: FixedClock) -> None:
    """Whose memory it is comes from who asks, at every step, not from the state."""
    await tell(memory, "ana", "eve")
    config = thread()
    saver = InMemorySaver()
    await (
        build(memory, settings)
        .compile(checkpointer=saver, interrupt_before=["apply"])
        .ainvoke(ConsolidationInput(user="ana"), config)
    )
    graph = build(memory, settings).compile(checkpointer=saver)
    await graph.aupdate_state(config, {"user": "eve"})
    with pytest.raises(Exception, match="run"):
        await graph.ainvoke(None, config)
    assert len(await memory.list(Scope(owner="ana"))) == len(await memory.list(Scope(owner="eve"))) == len(SAID)
