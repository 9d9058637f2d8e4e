"""What a memory costs a reply: the supervisor graph while a slow and failing model extracts beside it, against no
memory.

python -m benchmarks.replies [--turns 30] [--latency 5] [--fail 0.5] [--reply 1] [--json]

Each message is said to both, in turns, in one process. Without memory: a graph of one node that gives the thread to the
same model, with the same checkpointer - what an agent is that has never heard of Muniment. A reply is there when the
model's words come out of the graph; what memory does after that ends the turn, before the next one can begin.
"""

from __future__ import annotations

import argparse
import json
import logging
import random
import sys
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

import numpy as np
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.graph import END, START, StateGraph
from langgraph.pregel import Pregel
from pydantic import SecretStr
from rich.table import Table

from benchmarks import harness
from muniment.graph.checkpointer import open_saver
from muniment.graph.supervisor import build
from muniment.memory import bootstrap
from muniment.memory.config import settings
from muniment.memory.models.openai.chat import OpenAIChat
from muniment.memory.ports.llm import ChatMessage, ChatModel
from muniment.nodes.state import Input, State, Who
from muniment.testing.openai_server import Fail, ScriptedOpenAI

SEED = 20261121
FAILURES: tuple[Fail, ...] = ("server_error", "cut_off", "empty")
LIMIT = 1.05
SAID = (
    "My sister Mara moved to Utrecht last spring.", "What should I cook tonight?", "I am allergic to walnuts.",
    "The roof of my workshop leaks again.", "How do I get rid of moss on a roof?",
    "I play the cello in an amateur orchestra.",
    "We rehearse every Thursday.", "Could you remind me how to read a bass clef?",
    "My goal is to run ten kilometres by June.",
    "Yesterday I ran six.", "I prefer short answers.", "Which stretches help a stiff calf?",
)  # fmt: skip


@dataclass(slots=True)
class Times:
    """Seconds until the reply was there, and until the turn was over, one of each for every turn."""

    reply: list[float] = field(default_factory=list)
    turn: list[float] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two: a graph, its thread, and what it took."""

    graph: Pregel[Any, Any, Any, Any]
    thread: str
    times: Times = field(default_factory=Times)

    async def say(self, text: str) -> None:
        """One turn, timed."""
        said = Input(messages=[HumanMessage(text)])
        started, there = perf_counter(), None
        stream = self.graph.astream(
            said,
            {"configurable": {"thread_id": self.thread}},
            context=Who(user="bench"),
            stream_mode="updates",
            durability="async",
        )
        async for update in stream:
            if there is None and "supervisor" in update:
                there = perf_counter() - started
        assert there is not None
        self.times.reply.append(there)
        self.times.turn.append(perf_counter() - started)


async def measure(turns: int, latency: float, fail: float, reply: float) -> dict[str, Any]:
    """Talk to both, one after the other, each first as often as the other."""
    dice = random.Random(SEED)
    fails = [dice.choice(FAILURES) if dice.random() < fail else None for _ in range(10_000)]
    with (
        ScriptedOpenAI("Thank you, I have made a note of that.", latency=reply) as quick,
        ScriptedOpenAI(extraction, latency=latency, fail=fails) as slow,
    ):
        async with harness.throwaway(settings.load_settings()) as own, sides(own, quick, slow) as both:
            machine = await harness.machine(await bootstrap.ensure_database(own))
            for side in both.values():
                await side.say("Good morning! What is the capital of Portugal?")
                side.times.reply.clear()
                side.times.turn.clear()
            with harness.bar("turns", turns) as tick:
                for n in range(turns):
                    for name in sorted(both, reverse=bool(n % 2)):
                        await both[name].say(SAID[n % len(SAID)])
                    tick(1)
    return {
        "turns": turns,
        "reply_model_seconds": reply,
        "extraction_model_seconds": latency,
        "extraction_failures": fail,
        "extraction_requests": len(slow.requests),
        "ratio": ratio(both, "reply"),
        "ratio_turn": ratio(both, "turn"),
        "limit": LIMIT,
        **{name: figures(side.times) for name, side in both.items()},
        "machine": machine,
    }


@asynccontextmanager
async def sides(own: settings.Settings, quick: ScriptedOpenAI, slow: ScriptedOpenAI) -> AsyncIterator[dict[str, Side]]:
    """With memory and a worker beside it, and without any, over one checkpointer."""
    replying, extracting = client(own, quick), client(own, slow)
    async with (
        bootstrap.create_memory(own, model=extracting) as memory,
        open_saver(await bootstrap.ensure_database(own)) as saver,
        bootstrap.run_worker(own, memory),
    ):
        with_memory = build(memory, replying, own).compile(checkpointer=saver)
        without = plain(replying).compile(checkpointer=saver)
        yield {"memory": Side(with_memory, "with"), "none": Side(without, "without")}
    await replying.close()


def plain(model: ChatModel) -> StateGraph[State, Who, Input, State]:
    """The least that talks: the thread goes to the model, its words into the thread."""

    async def supervisor(state: State) -> State:
        thread = [
            ChatMessage(role="user" if isinstance(one, HumanMessage) else "assistant", content=str(one.text))
            for one in state["messages"]
        ]
        answer = await model.chat([ChatMessage(role="system", content="Reply in one sentence."), *thread])
        return State(messages=[AIMessage(answer.message.content)])

    graph = StateGraph(State, context_schema=Who, input_schema=Input)
    graph.add_node("supervisor", supervisor)
    graph.add_edge(START, "supervisor")
    graph.add_edge("supervisor", END)
    return graph


def client(own: settings.Settings, server: ScriptedOpenAI) -> OpenAIChat:
    return OpenAIChat(
        "scripted",
        api_key=SecretStr("none"),
        base_url=server.base_url,
        timeout_seconds=own.model.timeout_seconds,
        max_retries=own.model.max_retries,
        max_output_tokens=own.model.max_output_tokens,
    )


def extraction(body: dict[str, Any]) -> str:
    """What the slow model finds: the turn that it is asked about, as one fact."""
    asked = json.loads(body["messages"][-1]["content"])
    if "extract_from" not in asked:
        return "{}"
    number = asked["extract_from"][0]
    text = next(one["text"] for one in asked["conversation"] if one["turn"] == number).rstrip(".?!")
    return json.dumps({"facts": [{
        "statement": f"The user said: {text}", "kind": "note", "predicate": "said", "object": text, "subject": "user",
        "negated": False, "single": False, "event_time": None, "persons": [], "entities": [], "location": None,
        "topic": None, "category": "activity", "importance": 2, "confidence": 0.9, "turns": [number],
    }]})  # fmt: skip


def ratio(both: dict[str, Side], what: str) -> float:
    """The median with memory over the median without."""
    return round(
        float(np.median(getattr(both["memory"].times, what)) / np.median(getattr(both["none"].times, what))), 4
    )


def figures(times: Times) -> dict[str, float]:
    """Milliseconds."""
    reply, turn = (np.percentile(one, (50, 95)) * 1000 for one in (times.reply, times.turn))
    return {
        "reply_p50_ms": round(float(reply[0]), 1),
        "reply_p95_ms": round(float(reply[1]), 1),
        "turn_p50_ms": round(float(turn[0]), 1),
        "turn_p95_ms": round(float(turn[1]), 1),
    }


def tables(found: dict[str, Any]) -> Iterator[Table]:
    """The report for people."""
    title = (
        f"{found['turns']} turns, replies of {found['reply_model_seconds']:g} s; beside them an extraction of "
        f"{found['extraction_model_seconds']:g} s that fails {found['extraction_failures']:.0%} of the time "
        f"({found['extraction_requests']} requests)"
    )
    header = ["", "reply p50 ms", "reply p95 ms", "turn p50 ms", "turn p95 ms"]
    rows = [[name, *found[name].values()] for name in ("memory", "none")]
    rows.append([f"memory / none (limit {LIMIT})", found["ratio"], None, found["ratio_turn"], None])
    yield harness.grid(title, header, rows)


def main(argv: Sequence[str] | None = None) -> int:
    """The command; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.replies", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--turns", type=int, default=30, metavar="N")
    parser.add_argument("--latency", type=float, default=5.0, metavar="S", help="seconds of the extracting model")
    parser.add_argument("--fail", type=float, default=0.5, metavar="P", help="how often it fails")
    parser.add_argument("--reply", type=float, default=1.0, metavar="S", help="seconds of the replying model")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    args = parser.parse_args(argv)
    logging.getLogger().addHandler(logging.NullHandler())  # the failures are the point
    if args.turns < 1:
        parser.error("--turns: a whole number of 1 or more wanted")
    return harness.run(measure(args.turns, args.latency, args.fail, args.reply), tables, as_json=args.json)


if __name__ == "__main__":
    sys.exit(main())
