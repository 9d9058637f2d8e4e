"""`query`: what an agent finds."""

from __future__ import annotations

import sys
from datetime import datetime
from typing import Annotated

import typer

from muniment.faces.cli import session
from muniment.faces.cli.options import (
    DEFAULT_USER,
    Agent,
    AsJson,
    AsOf,
    Budget,
    Categories,
    Explain,
    Filter,
    Profile,
    Project,
    Returns,
    Session,
    Threshold,
    TopK,
    User,
    build_query,
    check_agent,
    split_list,
)
from muniment.faces.cli.output import memories, screen, terminal
from muniment.memory.config.settings import Settings, load_settings
from muniment.memory.domain.query import Answer, Hit
from muniment.memory.payload import encode_answer


def query_memory(
    text: Annotated[
        str, typer.Argument(metavar="TEXT", help="What to look for, in your own words; * for what is newest.")
    ],
    agent: Agent,
    user: User = DEFAULT_USER,
    categories: Categories = None,
    filters: Filter = None,
    top_k: TopK = None,
    budget: Budget = None,
    threshold: Threshold = None,
    project: Project = None,
    session_name: Session = None,
    as_of: AsOf = None,
    profile: Profile = None,
    returns: Returns = "bullets",
    explain: Explain = False,
    as_json: AsJson = False,
) -> None:
    """Ask the memory, as one of the agents asks it with its tool `memory.query`.

    An agent reads only the categories of its allowlist. Asking for another refuses the whole request: exit code 3.

    For example:

      muniment query "what may I not eat?" --agent supervisor

      muniment query deadline --agent planner --categories tasks,goals --top-k 3 --explain

      muniment query deadline --agent planner --filter importance_min=4 --filter pinned=true

      muniment query "where do I live?" --agent supervisor --as-of 2026-05-01

      muniment query "what do we deploy with?" --agent planner --project atlas --explain
    """
    settings = load_settings()
    scope = session.make_scope(settings, user, project=project, session=session_name)
    check_agent(settings, agent)
    arguments = {
        "categories": list(split_list(categories, "--category")),
        "top_k": top_k,
        "return": returns,
        "budget_tokens": budget,
        "threshold": threshold,
        "explain": explain,
        "as_of": as_of,
        "profile": profile,
    }
    build_query(settings, agent, text, arguments, filters)  # what is not valid is refused before anything is opened

    async def work() -> tuple[Answer, datetime]:
        async with session.open_memory(settings, quiet=as_json) as memory:
            request = build_query(memory.engine.settings, agent, text, arguments, filters)
            return await memory.query(scope, agent, request), memory.now()

    answer, now = session.run_async(work())
    if as_json:
        screen.print_json(encode_answer(answer, explain=explain))
    else:
        _print_answer(answer, settings, now, explain=explain)


def _print_answer(answer: Answer, settings: Settings, now: datetime, *, explain: bool) -> None:
    over_budget = sum(omission.reason == "over budget" for omission in answer.omissions)
    if not answer.hits:
        terminal.print_hint(
            "What is relevant is longer than the budget." if over_budget else "Nothing relevant is remembered."
        )
    for hit in answer.hits:
        _print_hit(hit, settings, now, is_full=answer.returns == "full")
        if explain:
            memories.print_score(hit)
    if answer.degraded:
        terminal.print_hint("The embedder does not answer: this was found by words alone.")
    if explain:
        for omission in answer.omissions:
            screen.print_line(
                f"  left out {screen.shorten_id(omission.id)}: {omission.reason} (score {omission.score:.3f})"
            )
        for stage in answer.stages:
            counts = ", ".join(f"{name} {count}" for name, count in stage.counts.items())
            screen.print_line(f"  {stage.name}: {stage.milliseconds:.2f} ms{f' ({counts})' if counts else ''}")
        screen.print_line(f"  {answer.tokens} tokens, at revision {answer.rev}")
    elif over_budget and answer.hits:
        terminal.print_hint(
            f"{over_budget} more {'is' if over_budget == 1 else 'are'} relevant and beyond the budget; "
            "--budget gives more."
        )


def _print_hit(hit: Hit, settings: Settings, now: datetime, *, is_full: bool) -> None:
    if sys.stdout.isatty():
        memories.print_bullet(hit.memory, settings.categories, now, shared_by=hit.shared_by)
    else:
        owner = f", of the {hit.shared_by}" if hit.shared_by else ""
        screen.print_line(
            f"- [{hit.memory.category}{owner}] {screen.join_lines(memories.format_statement(hit.memory))}"
        )
    for name, value in memories.list_fields(hit.memory).items() if is_full else ():
        if name not in ("category", "text"):
            screen.print_line(f"    {name}: {screen.join_lines(str(value))}")
