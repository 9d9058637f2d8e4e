"""How often a model asks memory itself, and whether it should: conversations of 200 turns with the supervisor.

python -m benchmarks.on_demand [FILE] [--json] [--split dev|held-out|all] [--misses]

In each conversation a person asks every question about a space of FILE (as `benchmarks.precision` has it), and says 150
things in between that memory is not needed for: small talk, requests, general questions. A scripted model is asked over
HTTP and does as its instructions say: it calls `memory_query` for a question about the person's world where the
confidence at the end of the message is below 0.5, with the person's words, once. The prompt *had* the answer where all
statements of it stand in it. `needless` is the share of the turns in which the model called though the prompt had the
answer, `missed` the share in which it did not call though the prompt lacked what memory has; `found` the share of the
calls for what was lacking after which nothing is lacking. Questions that nothing answers are counted apart (`idle`).
The spaces whose names end in `-b` are held out: nothing is tuned on them."""

from __future__ import annotations

import asyncio
import json
import re
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import cycle, islice
from pathlib import Path
from typing import Any

from langchain_core.callbacks import AsyncCallbackHandler
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import SecretStr
from rich.table import Table

from benchmarks import harness
from benchmarks.precision import FILE, load_space
from muniment.graph.supervisor import build
from muniment.memory import bootstrap
from muniment.memory.client import Memory
from muniment.memory.config import settings
from muniment.memory.models.openai.chat import OpenAIChat
from muniment.nodes.confidence import LOW
from muniment.nodes.state import Input, Who
from muniment.testing.openai_answers import Reply
from muniment.testing.openai_server import ScriptedOpenAI, tool_call

TURNS = 200
WANTED = {"share": 0.10, "query_p95_ms": 200.0}  # at most: of turns with a call, and of a call
CONFIDENCE = re.compile(r"\n\nConfidence of memory: ([0-9.]+)\Z")
OTHERS = (
    "Good morning!", "Thanks!", "That helps, thank you.", "Haha, very good.", "Hm, let me think about it.",
    "Never mind.", "See you tomorrow.", "I'm back.", "OK.", "That was quick.", "What a day.", "Sounds good to me.",
    "Good night!", "Write me two lines for a birthday card.", "Make that shorter.", "Now make it rhyme.",
    "Translate 'good luck' into French.", "Give me three synonyms of 'steady'.",
    "Turn this into bullet points: rain, wind, sun.", "Say it more politely.", "Write a haiku about trains.",
    "Explain photosynthesis to a child.", "Give me a riddle.", "Another one, please.", "Suggest a name for a boat.",
    "Draft a polite way to decline an invitation.", "Count from ten to one in Italian.",
    "What is the capital of Peru?", "How many ounces are in a pound?", "Who wrote Middlemarch?",
    "What does 'ersatz' mean?", "How do planes stay in the air?", "What is the square root of 1024?",
    "When did the Berlin Wall fall?", "Is a tomato a fruit?", "Why is the sky blue?",
    "What is the boiling point of water at altitude?", "I slept badly.", "It rains again.",
    "The train was late today.", "The coffee is cold.", "Monday again.",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A question of a conversation: what answers it, what the prompt had of that, and what came of a call."""

    space: str
    split: str
    text: str
    gold: frozenset[str]
    prompt: str
    confidence: float
    has_called: bool
    result: str

    @property
    def had(self) -> bool:
        """Whether the prompt has all that answers."""
        return all(text in self.prompt for text in self.gold)

    @property
    def has_found(self) -> bool:
        """Whether nothing is lacking after the call."""
        return all(text in self.prompt + self.result for text in self.gold)


@dataclass(slots=True)
class Script:
    """The scripted model: what it is asked, and about which questions it may call."""

    questions: frozenset[str]
    prompts: dict[str, tuple[str, float]] = field(default_factory=dict)
    results: dict[str, str] = field(default_factory=dict)

    def answer(self, body: Mapping[str, Any]) -> Reply:
        """Call where the instructions say so, and note what it was asked."""
        messages = body["messages"]
        if messages[-1]["role"] == "tool":
            self.results[self._read_question(messages)] = read_results(str(messages[-1]["content"]))
            return "Here it is."
        text = self._read_question(messages)
        last = str(messages[-1]["content"])
        found = CONFIDENCE.search(last)
        confidence = float(found[1]) if found else 1.0
        if text in self.questions and text not in self.prompts:
            self.prompts[text] = "\n".join(str(message["content"]) for message in messages), confidence
            if confidence < LOW:
                return tool_call("memory_query", {"query": text})
        return "Fine."

    def _read_question(self, messages: Sequence[Mapping[str, Any]]) -> str:
        """The person's own words in the last message of theirs."""
        last = next(str(one["content"]) for one in reversed(messages) if one["role"] == "user")
        return CONFIDENCE.sub("", last).partition("\n\n<recalled-memory>")[0].strip()


class Clock(AsyncCallbackHandler):
    """The seconds of each call of a tool."""

    def __init__(self) -> None:
        self.seconds: list[float] = []
        self._began: dict[Any, float] = {}

    async def on_tool_start(self, *_: Any, run_id: Any, **__: Any) -> None:
        """Begin to count."""
        self._began[run_id] = time.perf_counter()

    async def on_tool_end(self, *_: Any, run_id: Any, **__: Any) -> None:
        """End it."""
        self.seconds.append(time.perf_counter() - self._began.pop(run_id))


async def measure(base: settings.Settings, file: Path, split: str) -> dict[str, Any]:
    """Hold a conversation about each space of a split, and count."""
    content = json.loads(await asyncio.to_thread(file.read_text, encoding="utf-8"))
    spaces = [space for space in content["spaces"] if split in (space["split"], "all")]
    clock, asked = Clock(), list[Asked]()
    unbounded = base.model_copy(update={"spend": base.spend.model_copy(update={"daily_tokens": None})})
    async with harness.throwaway(unbounded) as own:
        machine = await harness.machine(await bootstrap.ensure_database(own))
        async with bootstrap.create_memory(own) as memory:
            with harness.bar("turns", TURNS * len(spaces)) as tick:
                for space in spaces:
                    await load_space(memory, space)
                    asked += await converse(memory, own, space, clock)
                    tick(TURNS)
    return {
        "file": file.name,
        "split": split,
        "embedder": own.embedder,
        "wanted": WANTED,
        **score(asked, len(spaces)),
        "query_p50_ms": quantile(clock.seconds, 0.5),
        "query_p95_ms": quantile(clock.seconds, 0.95),
        "by_split": {
            name: score([one for one in asked if one.split == name], sum(space["split"] == name for space in spaces))
            for name in harness.SPLITS
        },
        "by_space": {space["id"]: score([one for one in asked if one.space == space["id"]], 1) for space in spaces},
        "misses": [describe(one) for one in asked if one.gold and one.had is one.has_called],
        "machine": machine,
    }


async def converse(memory: Memory, own: settings.Settings, space: dict[str, Any], clock: Clock) -> list[Asked]:
    """One conversation of 200 turns, its questions spread among the rest."""
    questions = {question["text"]: question for question in space["questions"]}
    script = Script(frozenset(questions))
    with ScriptedOpenAI(script.answer) as server:
        model = OpenAIChat("scripted", api_key=SecretStr("none"), base_url=server.base_url, max_retries=0)
        graph = build(memory, model, own).compile(checkpointer=InMemorySaver())
        config: Any = {"configurable": {"thread_id": space["id"]}, "callbacks": [clock]}
        for text in spread(list(questions)):
            said = Input(messages=[HumanMessage(text)])
            await graph.ainvoke(said, config, context=Who(user=f"{space['id']} first"))
        await model.close()
    texts = {one["id"]: one["text"] for one in space["statements"]}
    return [
        Asked(
            space=space["id"],
            split=space["split"],
            text=text,
            gold=frozenset(texts[id_] for id_ in question["gold"]),
            prompt=script.prompts[text][0],
            confidence=script.prompts[text][1],
            has_called=text in script.results,
            result=script.results.get(text, ""),
        )
        for text, question in questions.items()
    ]


def spread(questions: Sequence[str]) -> list[str]:
    """The turns of a conversation: the questions at equal distances among the other things."""
    others = list(islice(cycle(OTHERS), TURNS - len(questions)))
    turns: list[str] = []
    for n, question in enumerate(questions):
        turns += others[n * len(others) // len(questions) : (n + 1) * len(others) // len(questions)]
        turns.append(question)
    return turns


def score(asked: Sequence[Asked], conversations: int) -> dict[str, Any]:
    """The shares of turns in [0, 1], and the numbers of questions that they come from."""
    turns = max(1, TURNS * conversations)
    had = [one for one in asked if one.gold and one.had]
    lacking = [one for one in asked if one.gold and not one.had]
    empty = [one for one in asked if not one.gold]
    called = [one for one in lacking if one.has_called]
    return {
        "turns": TURNS * conversations,
        "share": round(sum(one.has_called for one in asked) / turns, 4),
        "needless": round(sum(one.has_called for one in had) / turns, 4),
        "missed": round(sum(not one.has_called for one in lacking) / turns, 4),
        "idle": round(sum(one.has_called for one in empty) / turns, 4),
        "found": round(sum(one.has_found for one in called) / len(called), 4) if called else None,
        "had": len(had),
        "had_called": sum(one.has_called for one in had),
        "lacking": len(lacking),
        "lacking_called": len(called),
        "empty": len(empty),
        "empty_called": sum(one.has_called for one in empty),
    }


def describe(one: Asked) -> dict[str, Any]:
    """What was asked, how confident memory was, and what was lacking."""
    lacking = sorted(text for text in one.gold if text not in one.prompt)
    return {"space": one.space, "question": one.text, "confidence": one.confidence, "lacking": lacking}


def quantile(seconds: Sequence[float], share: float) -> float | None:
    """A quantile in milliseconds; None of nothing."""
    ordered = sorted(seconds)
    return round(1000 * ordered[min(len(ordered) - 1, int(share * len(ordered)))], 1) if ordered else None


def read_results(content: str) -> str:
    """The texts of a tool's answer, which is JSON in a fence; those of an error are nothing."""
    rows = [line for line in content.splitlines() if line.startswith("{")]
    return "\n".join(str(hit["text"]) for row in rows for hit in json.loads(row).get("results", ()))


def tables(found: dict[str, Any]) -> Iterator[Table]:
    """The report for people."""
    header = ["", "turns", "with a call %", "needless %", "missed %", "idle %", "found %", "had", "lacking", "empty"]
    groups = {**found["by_space"], **found["by_split"], found["split"]: found}
    title = (
        f"Embedder {found['embedder']}; a call took {found['query_p50_ms']} ms (p95 {found['query_p95_ms']}); wanted: "
        f"a call in less than {WANTED['share']:.0%} of the turns, p95 below {WANTED['query_p95_ms']:.0f} ms"
    )
    yield harness.grid(title, header, [[name, *_cells(part)] for name, part in groups.items() if part["turns"]])


def _cells(part: dict[str, Any]) -> list[object]:
    shares = [part[name] for name in ("share", "needless", "missed", "idle", "found")]
    counts = [f"{part[f'{name}_called']} of {part[name]}" for name in ("had", "lacking", "empty")]
    return [part["turns"], *(None if share is None else f"{100 * share:.1f}" for share in shares), *counts]


def main(argv: Sequence[str] | None = None) -> int:
    """The command; returns the exit code."""
    return harness.run_halves("on_demand", __doc__, FILE, measure, tables, argv)


if __name__ == "__main__":
    sys.exit(main())
