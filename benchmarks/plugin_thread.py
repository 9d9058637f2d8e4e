"""A long thread: what is said in its third turn is asked for at the end, when that turn has left it.

One is of an agent of LangChain with summarization over the plugin's local file, one of the supervisor graph with a
limit of tokens. The model is a script that repeats what it is shown of the answer; its summaries are empty. The exit
code is 1 where the question is not answered, nothing has left, or a request has more tokens than the limit."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Awaitable, Callable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any, TypeAlias
from uuid import uuid4

from langchain.agents import create_agent
from langchain_core.messages import HumanMessage
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import SecretStr
from rich.table import Table

from benchmarks import harness
from muniment.chain import Host
from muniment.graph.supervisor import build
from muniment.graph.threads.commands import ThreadCommands
from muniment.langchain import ChainMiddleware, CompactingSummarization
from muniment.memory import bootstrap
from muniment.memory.config.settings import Settings, load_settings
from muniment.memory.rules.retrieval.render import count_tokens
from muniment.nodes.state import Input, Who
from muniment.plugin import open_plugin
from muniment.testing import ScriptedOpenAI

TOLD, ASKED, WANTED = (
    "We decided to use Postgres 16 for the billing service.",
    "Which database did we decide to use for the billing service?",
    "Postgres 16",
)
PLACE = 2  # of what is told, counted from 0
LIMIT = 2_000  # tokens of a thread
_TOPICS = ("the menu", "the garden", "the train to Porto", "the old clock", "the choir", "the stairs", "the roof")
_SECONDS = 30.0  # for a hook: the machine may have other work
_SUMMARY = "Context Extraction Assistant"  # in LangChain's request for a summary

Prompt: TypeAlias = list[dict[str, Any]]
Say: TypeAlias = Callable[[str], Awaitable[None]]


def answer(body: dict[str, Any]) -> str:
    """Return the script's answer: for the last question what is shown of it, else a sentence."""
    messages = body["messages"]
    if not str(messages[-1]["content"]).startswith(ASKED):
        return "I see, and thank you for telling me about it."
    return WANTED if any(WANTED in str(message["content"]) for message in messages) else "I do not know."


def make_line(number: int) -> str:
    """Return what the person says in a turn."""
    topic = _TOPICS[number % len(_TOPICS)]
    return TOLD if number == PLACE else f"Number {number}: what would you say about {topic}, roughly, in a few words?"


async def measure(settings: Settings, turns: int, limit: int = LIMIT, agent_limit: int | None = None) -> dict[str, Any]:
    """Return the figures of both threads, and whether all holds. The agent's limit, by default the same, is told to
    LangChain, which estimates tokens by length."""
    limits = {"create_agent": agent_limit or limit, "supervisor": limit}
    found: dict[str, Any] = {
        "create_agent": await _measure_agent(settings, turns, limits["create_agent"]),
        "supervisor": await _measure_graph(settings, turns, limits["supervisor"]),
    }
    holds = {
        name: each["answered"] and each["has_left"] and each["most_tokens"] <= limits[name]
        for name, each in found.items()
    }
    return {"turns": turns, "limits": limits, **found, "holds": holds}


async def _measure_agent(settings: Settings, turns: int, limit: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder, ScriptedOpenAI(answer) as server:
        plugin_settings = settings.plugin.model_copy(
            update={"enabled": True, "store": "local", "file": str(Path(folder, "plugin.sqlite")), "vectors": False}
        )
        model = ChatOpenAI(model="scripted", base_url=server.base_url, api_key=SecretStr("none"))
        opened = settings.model_copy(update={"plugin": plugin_settings})
        async with open_plugin(opened) as plugin, Host([plugin], before_seconds=_SECONDS) as host:
            chain = ChainMiddleware(host, user="ana")
            rules: Any = {"trigger": ("tokens", limit), "keep": ("tokens", limit // 2)}
            summing = CompactingSummarization(model, chain=chain, **rules)
            agent = create_agent(
                model, middleware=[chain, summing], checkpointer=InMemorySaver(), system_prompt="Be kind."
            )

            async def say(text: str) -> None:
                await agent.ainvoke({"messages": [HumanMessage(text)]}, {"configurable": {"thread_id": "long"}})

            await _talk(say, turns)
            await host.drain(_SECONDS)
        requests = [request.body for request in server.requests]
    return _describe([request for request in requests if _SUMMARY not in str(request["messages"])])


async def _measure_graph(settings: Settings, turns: int, limit: int) -> dict[str, Any]:
    limited = settings.model_copy(update={"threads": settings.threads.model_copy(update={"max_tokens": limit})})
    who = Who(user=f"thread-{uuid4()}")
    with ScriptedOpenAI(answer) as server:
        model = ChatOpenAI(model="scripted", base_url=server.base_url, api_key=SecretStr("none"), stream_usage=True)
        async with (
            bootstrap.open_memory(limited) as memory,
            Host([ThreadCommands(memory)], before_seconds=_SECONDS) as host,
        ):
            graph = build(memory, model, limited, host=host).compile(checkpointer=InMemorySaver())

            async def say(text: str) -> None:
                await graph.ainvoke(
                    Input(messages=[HumanMessage(text)]), {"configurable": {"thread_id": "long"}}, context=who
                )

            await _talk(say, turns)
            await host.drain(_SECONDS)
        requests = [request.body for request in server.requests]
    return _describe(requests)


async def _talk(say: Say, turns: int) -> None:
    for number in range(turns):
        await say(make_line(number))
    await say(ASKED)


def _describe(requests: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Whether the question is answered by what is recalled, how many tokens requests have with their system message and
    tools, and how much of each the next one begins with: without the last message, whose additions are of one turn."""
    prompts: list[Prompt] = [request["messages"] for request in requests]
    final = [str(message["content"]) for message in prompts[-1]]
    said = [f"{message['content']}" for message in prompts[-1][1:-1]]
    begun = ["\0".join(f"{message['role']} {message['content']}" for message in prompt[:-1]) for prompt in prompts]
    kept = [_measure_prefix(*pair) / len(pair[0]) for pair in pairwise(begun) if pair[0]]
    systems = [str(prompt[0]["content"]) for prompt in prompts]
    return {
        "answered": any(WANTED in text for text in final),
        "has_left": not any(TOLD in text for text in said),
        "most_tokens": max(map(_count_request, requests)),
        "prefix_median": round(median(kept), 3),
        "prefix_whole": round(sum(share == 1 for share in kept) / len(kept), 3),
        "system_equal": round(sum(one == two for one, two in pairwise(systems)) / max(len(systems) - 1, 1), 3),
    }


def _count_request(request: dict[str, Any]) -> int:
    texts = [str(message["content"]) for message in request["messages"]]
    return count_tokens("\n\n".join([*texts, json.dumps(request.get("tools", []), ensure_ascii=False)]))


def _measure_prefix(one: str, two: str) -> int:
    """The number of characters with which both begin."""
    pairs = enumerate(zip(one, two, strict=False))
    return next((n for n, (left, right) in pairs if left != right), min(len(one), len(two)))


def show(report: dict[str, Any]) -> Iterator[Table]:
    """Yield the table of a report."""
    names = ("answered", "has_left", "most_tokens", "prefix_median", "prefix_whole", "system_equal")
    rows = [(host, *(report[host][name] for name in names)) for host in ("create_agent", "supervisor")]
    yield harness.grid(f"{report['turns']} turns, at most {report['limits']} tokens", ("", *names), rows)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.plugin_thread", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("--turns", type=int, default=500)
    parser.add_argument("--limit", type=int, default=LIMIT, help="tokens of a request")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    args = parser.parse_args(argv)
    holds: list[bool] = []

    async def report() -> dict[str, Any]:
        async with harness.throwaway(load_settings()) as own:  # whose budget of tokens no other run has spent
            found = await measure(own, args.turns, args.limit)
        holds.extend(found["holds"].values())
        return found

    return harness.run(report(), show, as_json=args.json) or int(not holds or not all(holds))


if __name__ == "__main__":
    sys.exit(main())
