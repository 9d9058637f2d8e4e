"""`query` and `why-not`: what an agent finds, and why it does not find something."""

from __future__ import annotations

import sys
from datetime import datetime
from typing import Annotated

import typer

from muniment.faces.cli import session
from muniment.faces.cli.options import (
    ME,
    Agent,
    AsJson,
    AsOf,
    Budget,
    Categories,
    Filter,
    Id,
    Threshold,
    TopK,
    User,
    known_agent,
    listed,
    request,
)
from muniment.faces.cli.output import memories as prose, screen
from muniment.memory import codec as wire
from muniment.memory.config.settings import Settings, load
from muniment.memory.domain.query import Answer, Hit, Verdict
from muniment.memory.errors import NotFound

_SHOWN = 0.0005  # what is not 0.000


def query(
    text: Annotated[str, typer.Argument(metavar="TEXT", help="What to look for, in your own words.")],
    agent: Agent,
    user: User = ME,
    categories: Categories = None,
    filters: Filter = None,
    top_k: TopK = None,
    budget: Budget = None,
    threshold: Threshold = None,
    as_of: AsOf = None,
    returns: Annotated[
        str, typer.Option("--return", metavar="bullets|full", help="Bullets, or whole memories.")
    ] = "bullets",
    explain: Annotated[
        bool, typer.Option("--explain", help="Show each score's parts, and what was left out and why.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Ask the memory, as one of the agents asks it with its tool `memory.query`.

    An agent reads only the categories of its allowlist. Asking for another refuses the whole request: exit code 3.

    For example:

      muniment query "what may I not eat?" --agent supervisor

      muniment query deadline --agent planner --categories tasks,goals --top-k 3 --explain

      muniment query deadline --agent planner --filter importance_min=4 --filter pinned=true

      muniment query "where do I live?" --agent supervisor --as-of 2026-05-01
    """
    settings = load()
    scope = session.scope_of(settings, user)
    known_agent(settings, agent)
    more = {"categories": list(listed(categories, "--category")), "top_k": top_k, "return": returns, "budget_tokens": budget,
            "threshold": threshold, "explain": explain, "as_of": as_of}  # fmt: skip
    asked = request(settings, text, "TEXT", more, filters)

    async def work() -> tuple[Answer, datetime]:
        async with session.opened(settings, quiet=as_json) as memory:
            return await memory.query(scope, agent, asked), memory.now()

    answer, now = session.run(work())
    if as_json:
        screen.show_json(wire.answer(answer, explain=explain))
    else:
        _show_answer(answer, settings, now, explain=explain)


def why_not(
    memory_id: Id,
    text: Annotated[str, typer.Option("--query", "-q", metavar="TEXT", help="What was asked.")],
    agent: Agent,
    user: User = ME,
    categories: Categories = None,
    filters: Filter = None,
    top_k: TopK = None,
    budget: Budget = None,
    threshold: Threshold = None,
    as_of: AsOf = None,
    as_json: AsJson = False,
) -> None:
    """Say why a memory is not in the answer to a query: the first reason that decides, or its place when it is in it.

    What narrows the answer is given as to `muniment query`, and it is made in the same way.

    For example:

      muniment why-not 4f2a --query "what may I not eat?" --agent supervisor

      muniment why-not 4f2a --query deadline --agent planner --categories tasks --filter importance_min=4

      muniment why-not 4f2a --query deadline --agent planner --as-of 12
    """
    settings = load()
    scope = session.scope_of(settings, user)
    known_agent(settings, agent)
    more = {"categories": list(listed(categories, "--category")), "top_k": top_k, "budget_tokens": budget, "threshold": threshold,
            "as_of": as_of}  # fmt: skip
    asked = request(settings, text, "--query", more, filters)

    async def work() -> Verdict:
        async with session.opened(settings, quiet=as_json) as memory:
            found = await session.find(memory, scope, memory_id)
            return await memory.why_not(scope, agent, found, asked)

    verdict = session.run(work())
    if verdict.reason == "other space or unknown":
        raise NotFound(
            f"no memory {verdict.id} in the space of {scope.owner!r}: it is of another space, or unknown",
            id=str(verdict.id),
        )
    if as_json:
        screen.show_json(wire.verdict(verdict))
    else:
        _show_verdict(verdict)


def _show_answer(answer: Answer, settings: Settings, now: datetime, *, explain: bool) -> None:
    long = sum(one.reason == "over budget" for one in answer.left_out)
    if not answer.hits:
        screen.whisper("What is relevant is longer than the budget." if long else "Nothing relevant is remembered.")
    for hit in answer.hits:
        _show_hit(hit, settings, now, whole=answer.returns == "full")
        if explain:
            _show_score(hit)
    if explain:
        for left in answer.left_out:
            screen.say(f"  left out {screen.short(left.id)}: {left.reason} (score {left.score:.3f})")
        screen.say(f"  {answer.tokens} tokens, at revision {answer.rev}")
    elif long and answer.hits:
        screen.whisper(
            f"{long} more {'is' if long == 1 else 'are'} relevant and beyond the budget; --budget gives more."
        )


def _show_hit(hit: Hit, settings: Settings, now: datetime, *, whole: bool) -> None:
    if sys.stdout.isatty():
        prose.show_bullet(hit.memory, settings.categories, now)
    else:
        screen.say(f"- [{hit.memory.category}] {screen.one_line(hit.memory.text)}")
    for name, value in prose.fields(hit.memory).items() if whole else ():
        if name not in ("category", "text"):
            screen.say(f"    {name}: {screen.one_line(str(value))}")


def _show_score(hit: Hit) -> None:
    parts = ", ".join(f"{name} {value:.3f}" for name, value in hit.parts.items() if abs(value) >= _SHOWN)
    places = ", ".join(f"{name} #{hit.ranks[name]}" if name in hit.ranks else name for name in hit.channels)
    screen.say(
        f"    {screen.short(hit.memory.id)}  score {hit.score:.3f} of {parts or 'nothing'} ({places or 'no channel'})"
    )
    if hit.words:
        screen.say(f"    words {', '.join(hit.words)}")
    screen.say(f"    relevance {hit.relevance:.3f}, changed at revision {hit.memory.rev}"
               + (f", related to {screen.short(hit.related_to)}" if hit.related_to else ""))  # fmt: skip


def _show_verdict(verdict: Verdict) -> None:
    if verdict.memory is not None:
        one = verdict.memory
        screen.say(f"{screen.short(one.id)}  [{one.category}] {screen.one_line(one.text)}")
    screen.say(f"{verdict.reason}: {screen.one_line(verdict.said)}")
    if verdict.hit is not None:
        _show_score(verdict.hit)
    screen.say(f"    at revision {verdict.rev}")
