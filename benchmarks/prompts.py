"""What a provider's prompt cache can keep: 20 turns with the supervisor, and how much of each prompt began the one
before.

python -m benchmarks.prompts [--json]

The prompts are those that a scripted model gets over HTTP: tools first, as providers read them, then the messages in
order. What two prompts share is counted to the first byte that differs, in tokens as Muniment counts them. Beside it,
from the same prompts, what would be left if what is recalled stood before the conversation, in the system's message.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256
from itertools import pairwise, takewhile
from operator import eq
from typing import Any

from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import SecretStr
from rich.table import Table

from benchmarks import harness
from muniment.graph.supervisor import build
from muniment.memory import bootstrap
from muniment.memory.config import settings
from muniment.memory.domain.scope import Scope
from muniment.memory.models.openai.chat import OpenAIChat
from muniment.memory.payload import FENCE_OPEN
from muniment.memory.rules.retrieval.render import count_tokens
from muniment.nodes.state import Input, Who
from muniment.testing.openai_answers import Reply
from muniment.testing.openai_server import ScriptedOpenAI, tool_call

LIMIT = 0.85
KNOWN = (
    ("profile", "The user is lactose intolerant"), ("profile", "The user speaks Portuguese and German"),
    ("goals", "The user is training for the Lisbon marathon in October"),
    ("goals", "The user wants to read more poetry"),
    ("preferences", "The user prefers short answers"), ("preferences", "The user likes hiking in the morning"),
    ("tasks", "The user has to renew the passport before June"),
    ("relationships", "The user's sister Mara lives in Utrecht"),
)  # fmt: skip
SAID = (
    "Good morning!", "How is my marathon training plan?", "Which poems should I read?", "What do I have to renew?",
    "Where does my sister live?", "Could you suggest a hike for Sunday?", "And one that is shorter?", "Thanks!",
    "What should I cook tonight?", "I am allergic to walnuts.", "Then what should I cook?", "Anything without an oven?",
    "My goal is to swim two kilometres by May.", "How far may I swim this week?",
    "When do I have to leave for the pool?",
    "What was the name of my sister's city again?", "Remind me of my passport.", "Which languages do I speak?",
    "Write me two lines for a birthday card, please.", "Good night!",
)  # fmt: skip
ANSWER = "Of course. Here is what I would do: begin with the shorter one, see how it feels, and tell me how it went."
LOOKED_UP = 7  # every so many turns the model asks memory itself


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """The first prompt of a turn. `shared` and `shared_recalled_first` are tokens that began the turn before's."""

    turn: int
    tokens: int
    shared: int
    shared_recalled_first: int
    lasting: str  # the hash of what stands before the conversation
    recalled: bool
    new_profile: bool  # the profile is another than in the turn before

    @property
    def share(self) -> float:
        """Of the prompt's tokens those that began the turn before's."""
        return self.shared / self.tokens


async def measure(base: settings.Settings | None = None) -> dict[str, Any]:
    """Talk for 20 turns and compare each prompt with the last of the turn before."""
    with ScriptedOpenAI(replies) as server:
        async with harness.throwaway(base or settings.load_settings()) as own:
            firsts = await talk(own, server)
            machine = await harness.machine(await bootstrap.ensure_database(own))
    bodies = [request.body for request in server.requests]
    found = list(compare(bodies, firsts))
    kept = [one.share for one in found if not one.new_profile]
    return {
        "turns": len(SAID),
        "requests": len(bodies),
        "least": round(min(kept), 4),
        "limit": LIMIT,
        "share": round(sum(one.shared for one in found) / sum(one.tokens for one in found), 4),
        "share_recalled_first": round(
            sum(one.shared_recalled_first for one in found) / sum(one.tokens for one in found), 4
        ),
        "prompts": [asdict(one) | {"share": round(one.share, 4)} for one in found],
        "machine": machine,
    }


async def talk(own: settings.Settings, server: ScriptedOpenAI) -> list[int]:
    """All turns in one thread, and between them somebody else's words in another; where each turn's requests begin."""
    model = OpenAIChat(
        "scripted",
        api_key=SecretStr("none"),
        base_url=server.base_url,
        timeout_seconds=own.model.timeout_seconds,
        max_retries=own.model.max_retries,
        max_output_tokens=own.model.max_output_tokens,
    )
    firsts: list[int] = []
    async with bootstrap.create_memory(own) as memory:
        scope = Scope(owner="bench", tenant=own.tenant)
        for category, text in KNOWN:
            await memory.remember(scope, text, category=category)
        graph = build(memory, model, own).compile(checkpointer=InMemorySaver())
        with harness.bar("turns", len(SAID)) as tick:
            for n, text in enumerate(SAID):
                firsts.append(len(server.requests))
                said = Input(messages=[HumanMessage(text)])
                await graph.ainvoke(said, {"configurable": {"thread_id": "prompts"}}, context=Who(user="bench"))
                if n % 5 == 0:
                    await memory.remember(
                        scope, f"The user has an appointment number {n} with the dentist", category="tasks"
                    )
                tick(1)
    await model.close()
    return firsts


def replies(body: Mapping[str, Any]) -> Reply:
    """Every few turns the scripted model looks into memory first."""
    messages = body["messages"]
    asked = sum(message["role"] == "user" for message in messages)
    if asked % LOOKED_UP == 0 and not any(message["role"] == "tool" for message in messages):
        return tool_call("memory_query", {"query": "what the person plans"})
    return ANSWER


def compare(bodies: Sequence[Mapping[str, Any]], firsts: Sequence[int]) -> Iterator[Prompt]:
    """The first prompt of every turn but the first, beside the last of the turn before."""
    for turn, (before, at) in enumerate(pairwise(firsts), 2):
        last, now = bodies[at - 1], bodies[at]
        yield Prompt(
            turn=turn,
            tokens=count_tokens(written(now)),
            shared=common(written(last), written(now)),
            shared_recalled_first=common(written(recalled_first(last)), written(recalled_first(now))),
            lasting=lasting(now),
            recalled=moves(now) is not None,
            new_profile=lasting(now) != lasting(bodies[before]),
        )


def written(body: Mapping[str, Any]) -> str:
    """A request as one text, in the order in which providers read it."""
    parts = [*body.get("tools", ()), *body["messages"]]
    return "\n".join(json.dumps(part, ensure_ascii=False) for part in parts)


def recalled_first(body: Mapping[str, Any]) -> dict[str, Any]:
    """The same request as it is often made: what is recalled stands in the system's message."""
    at = moves(body)
    if at is None:
        return dict(body)
    messages = [dict(message) for message in body["messages"]]
    text, recalled = split_recalled(messages[at]["content"])
    messages[at]["content"] = text
    messages[0]["content"] += f"\n\n{recalled}"
    return {**body, "messages": messages}


def moves(body: Mapping[str, Any]) -> int | None:
    """Which message ends with what is recalled: the last one of the user."""
    messages = body["messages"]
    return next(
        (n for n, one in enumerate(messages) if one["role"] == "user" and FENCE_OPEN in (one["content"] or "")), None
    )


def split_recalled(content: str) -> tuple[str, str]:
    """The person's own words, and the block behind them."""
    text, fence, block = content.partition(FENCE_OPEN)
    return text.rstrip(), fence + block


def lasting(body: Mapping[str, Any]) -> str:
    """The hash of the tools and the first message, to the byte."""
    return sha256(written({**body, "messages": body["messages"][:1]}).encode()).hexdigest()[:16]


def common(one: str, other: str) -> int:
    """Tokens up to the first character that differs."""
    return count_tokens(other[: sum(takewhile(bool, map(eq, one, other)))])


def tables(found: dict[str, Any]) -> Iterator[Table]:
    """The report for people."""
    header = ["turn", "tokens", "began the one before", "share %", "recalled first: share %", "", ""]
    rows = [
        [
            one["turn"],
            one["tokens"],
            one["shared"],
            f"{one['share']:.0%}",
            f"{one['shared_recalled_first'] / one['tokens']:.0%}",
            "recalled" if one["recalled"] else "",
            "new profile" if one["new_profile"] else "",
        ]
        for one in found["prompts"]
    ]
    title = (
        f"{found['turns']} turns: {found['share']:.0%} of all prompts began the one before, at least "
        f"{found['least']:.0%} "
        f"while the profile stays (limit {found['limit']:.0%}); recalled first {found['share_recalled_first']:.0%}"
    )
    yield harness.grid(title, header, rows)


def main(argv: Sequence[str] | None = None) -> int:
    """The command; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.prompts", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    args = parser.parse_args(argv)
    return harness.run(measure(), tables, as_json=args.json)


if __name__ == "__main__":
    sys.exit(main())
