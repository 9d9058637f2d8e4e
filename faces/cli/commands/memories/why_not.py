"""`why-not`: why a memory is not in an answer."""

from __future__ import annotations

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
    Filter,
    Id,
    Profile,
    Project,
    Session,
    Threshold,
    TopK,
    User,
    build_query,
    check_agent,
    split_list,
)
from muniment.faces.cli.output import memories, screen
from muniment.memory.config.settings import load_settings
from muniment.memory.domain.query import Explanation
from muniment.memory.errors import NotFound
from muniment.memory.payload import encode_explanation


def explain_absence(
    memory_id: Id,
    text: Annotated[str, typer.Option("--query", "-q", metavar="TEXT", help="What was asked.")],
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
    as_json: AsJson = False,
) -> None:
    """Say why a memory is not in the answer to a query: the first reason that decides, or its place when it is in it.

    What narrows the answer is given as to `muniment query`, and it is made in the same way.

    For example:

      muniment why-not 4f2a --query "what may I not eat?" --agent supervisor

      muniment why-not 4f2a --query deadline --agent planner --categories tasks --filter importance_min=4

      muniment why-not 4f2a --query deadline --agent planner --as-of 12
    """
    settings = load_settings()
    scope = session.make_scope(settings, user, project=project, session=session_name)
    check_agent(settings, agent)
    arguments = {
        "categories": list(split_list(categories, "--category")),
        "top_k": top_k,
        "budget_tokens": budget,
        "threshold": threshold,
        "as_of": as_of,
        "profile": profile,
    }
    # What is not valid is refused before anything is opened.
    build_query(settings, agent, text, arguments, filters).require_question()

    async def work() -> Explanation:
        async with session.open_memory(settings, quiet=as_json) as memory:
            full_id = await memory.find_id(scope, memory_id)
            request = build_query(memory.engine.settings, agent, text, arguments, filters)
            return await memory.why_not(scope, agent, full_id, request)

    verdict = session.run_async(work())
    if verdict.reason == "other space or unknown":
        raise NotFound(
            f"no memory {verdict.id} in the space of {scope.owner!r}: it is of another space, or unknown",
            id=str(verdict.id),
        )
    if as_json:
        screen.print_json(encode_explanation(verdict))
    else:
        _print_verdict(verdict)


def _print_verdict(verdict: Explanation) -> None:
    if verdict.memory is not None:
        memory = verdict.memory
        screen.print_line(f"{screen.shorten_id(memory.id)}  [{memory.category}] {screen.join_lines(memory.text)}")
    screen.print_line(f"{verdict.reason}: {screen.join_lines(verdict.sentence)}")
    if verdict.hit is not None:
        memories.print_score(verdict.hit)
    screen.print_line(f"    at revision {verdict.rev}")
