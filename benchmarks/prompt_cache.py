"""How much of an agent's prompts a provider's cache holds with `MemoryMiddleware`, beside those without memory.

python -m benchmarks.prompt_cache [--turns 20] [--words 6] [--json]

A scripted model answers over HTTP with `--words` times 20 words. A prompt is held as far as it begins like an earlier
one of its thread; the share is of all tokens of the thread's prompts. A profile of ten memories is there before. In the
thread `usual` one turn of 20 adds to it, in `everyday` one in six, in `telling` each does, and in `correcting` one in
seven replaces something that stands there.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from langchain.agents import create_agent
from langchain_core.messages import HumanMessage
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import SecretStr
from rich.table import Table

from benchmarks import harness, prompts, turn
from muniment.langchain import MemoryMiddleware
from muniment.memory import bootstrap
from muniment.memory.client import Memory
from muniment.memory.config.settings import load_settings
from muniment.memory.domain.scope import Scope
from muniment.memory.rules.retrieval.render import count_tokens
from muniment.testing import ScriptedOpenAI

LIMIT = 0.9
PROFILE = (
    "My name is Ana.", "I live in Lisbon.", "I work as a nurse.", "I am lactose intolerant.", "I am a vegetarian.",
    "I am allergic to penicillin.", "I am 34 years old.", "My budget for food is 80 euros a week.", "I can't swim.",
    "I never drink alcohol.",
)  # fmt: skip
THINGS = (
    "peanuts", "walnuts", "shellfish", "pollen", "latex", "kiwis", "mustard", "celery", "eggs", "sesame", "soy",
    "strawberries", "wasps", "cats", "dust", "nickel", "lupins", "wheat", "cashews", "mangoes",
)  # fmt: skip
SYSTEM = (
    "You are the assistant of a small kitchen. " + "Answer in plain sentences, and say where you are not sure. " * 12
)
REPLY = "Here is what I would do first, and why, with what you have at home and the time that you have tonight. "
SAYS: dict[str, Callable[[int], str]] = {
    "usual": lambda number: prompts.SAID[number % len(prompts.SAID)],
    "everyday": turn.say,
    "telling": lambda number: f"I am allergic to {THINGS[number % len(THINGS)]}.",
    "correcting": lambda number: turn.say(number) if number % 7 else f"I live in {turn.CITIES[number // 7]} now.",
}


async def measure(turns: int, words: int) -> dict[str, Any]:
    """All threads, each with and without memory."""
    async with harness.throwaway(load_settings()) as own, bootstrap.create_memory(own) as memory:
        threads = {name: await compare(memory, name, turns, words) for name in SAYS}
        dsn = await bootstrap.ensure_database(own)
        machine = await harness.machine(dsn)
        return {"turns": turns, "words": words, "limit": LIMIT, "threads": threads, "machine": machine}


async def compare(memory: Memory, name: str, turns: int, words: int) -> dict[str, float]:
    """The shares of one thread without and with memory, the ratio of the two, and the tokens of the last prompts."""
    for text in PROFILE:
        await memory.remember(Scope(owner=name), text)
    plain = await converse(SAYS[name], turns, REPLY * words)
    ours = await converse(SAYS[name], turns, REPLY * words, MemoryMiddleware(memory, user=name))
    share, share_memory = share_cached(plain), share_cached(ours)
    return {
        "share": round(share, 3),
        "share_memory": round(share_memory, 3),
        "ratio": round(share_memory / share, 3),
        "tokens": count_tokens(plain[-1]),
        "tokens_memory": count_tokens(ours[-1]),
    }


async def converse(
    say: Callable[[int], str], turns: int, reply: str, middleware: MemoryMiddleware | None = None
) -> list[str]:
    """The prompts of a thread, as texts."""
    with ScriptedOpenAI(reply) as server:
        model = ChatOpenAI(model="scripted", base_url=server.base_url, api_key=SecretStr("none"))
        ours = [middleware] if middleware else []
        agent = create_agent(model, middleware=ours, system_prompt=SYSTEM, checkpointer=InMemorySaver())
        for number in range(turns):
            await agent.ainvoke({"messages": [HumanMessage(say(number))]}, {"configurable": {"thread_id": "1"}})
            if middleware:
                await middleware.finish_learning()
        return [prompts.written(request.body) for request in server.requests]


def share_cached(texts: Sequence[str]) -> float:
    """The share of the tokens of all prompts by which a prompt begins like an earlier one."""
    held = 0
    for number, text in enumerate(texts):
        held += max((prompts.common(earlier, text) for earlier in texts[:number]), default=0)
    return held / sum(map(count_tokens, texts))


def tables(found: dict[str, Any]) -> Iterator[Table]:
    """The report for people."""
    names = list(next(iter(found["threads"].values())))
    rows = [[thread, *(one[name] for name in names)] for thread, one in found["threads"].items()]
    yield harness.grid(
        f"Cached share of prompts, {found['turns']} turns; limit of the ratios {LIMIT}", ["", *names], rows
    )


def main(argv: Sequence[str] | None = None) -> int:
    """The command; returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.prompt_cache", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("--turns", type=int, default=20, metavar="N", help="of each thread")
    parser.add_argument("--words", type=int, default=6, metavar="N", help="times 20: the words of a reply")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    args = parser.parse_args(argv)
    if args.turns < 2 or args.words < 1:
        parser.error("--turns: 2 or more; --words: 1 or more")
    return harness.run(measure(args.turns, args.words), tables, as_json=args.json)


if __name__ == "__main__":
    sys.exit(main())
