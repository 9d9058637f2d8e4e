"""`query`, `list`, `show`, `history`: what is remembered, and what became of it."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from muniment.faces.cli import screen, session
from muniment.faces.cli.options import ME, AsJson, Id, User, listed, words
from muniment.memory import wire
from muniment.memory.errors import BadInput
from muniment.memory.records import Answer, JournalEntry, Memory, Neighbour, Query, Scope
from muniment.memory.settings import Settings, load

SHORT_ID = 8


def query(
    text: Annotated[str, typer.Argument(metavar="TEXT", help="What to look for, in your own words.")],
    agent: Annotated[
        str, typer.Option("--agent", "-a", metavar="A", help="Who asks; its allowlist says what it may read.")
    ],
    user: User = ME,
    categories: Annotated[
        str | None, typer.Option(metavar="a,b", help="Only these; all must be on the allowlist.")
    ] = None,
    top_k: Annotated[int | None, typer.Option("--top-k", metavar="N", help="At most so many.")] = None,
    budget: Annotated[int | None, typer.Option(metavar="N", help="At most so many tokens.")] = None,
    threshold: Annotated[
        float | None, typer.Option(metavar="X", help="From 0 to 1: less relevant is left out.")
    ] = None,
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
    """
    settings = load()
    scope = session.scope_of(settings, user)
    if agent not in settings.allowlists:
        raise BadInput(
            f"--agent: unknown agent {agent!r}; allowed: {', '.join(sorted(settings.allowlists))}", agent=agent
        )
    recall = settings.recall
    request = wire.query(
        {"query": words(text, "TEXT"), "categories": list(listed(categories)), "top_k": top_k, "return": returns,
         "budget_tokens": budget, "threshold": threshold, "explain": explain},
        Query(text="", top_k=recall.top_k, budget_tokens=recall.budget_tokens),
    )  # fmt: skip

    async def work() -> Answer:
        async with session.opened(settings, quiet=as_json) as memory:
            return await memory.query(scope, agent, request)

    answer = session.run(work())
    if as_json:
        screen.show_json(wire.answer(answer, explain=explain))
    else:
        _show_answer(answer, explain=explain)


def _show_answer(answer: Answer, *, explain: bool) -> None:
    if not answer.hits:
        screen.whisper("Nothing relevant is remembered.")
    for hit in answer.hits:
        screen.say(f"- [{hit.memory.category}] {screen.one_line(hit.memory.text)}")
        if answer.returns == "full":
            for name, value in _fields(hit.memory).items():
                if name not in ("category", "text"):
                    screen.say(f"    {name}: {screen.one_line(str(value))}")
        if explain:
            parts = ", ".join(f"{name} {value:.3f}" for name, value in hit.parts.items())
            screen.say(
                f"    {str(hit.memory.id)[:SHORT_ID]}  score {hit.score:.3f} = {parts} ({', '.join(hit.channels)})"
            )
        if explain and hit.related_to:
            screen.say(f"    related to {str(hit.related_to)[:SHORT_ID]}")
    if explain:
        for left in answer.left_out:
            screen.say(f"  left out {str(left.id)[:SHORT_ID]}: {left.reason} (score {left.score:.3f})")
        screen.say(f"  {answer.tokens} tokens, at revision {answer.rev}")


def list_memories(
    user: User = ME,
    categories: Annotated[str | None, typer.Option(metavar="a,b", help="Only these.")] = None,
    states: Annotated[
        str, typer.Option("--state", metavar="a,b", help=f"Of {', '.join(session.STATES)}; or all.")
    ] = "active",
    limit: Annotated[int, typer.Option(metavar="N", min=1, help="At most so many.")] = 100,
    offset: Annotated[int, typer.Option(metavar="N", min=0, help="Leave out the first so many.")] = 0,
    as_json: AsJson = False,
) -> None:
    """List the memories of a user, newest change first.

    For example:

      muniment list

      muniment list --user ana --categories profile,goals

      muniment list --state soft_deleted     # what can be restored
    """
    settings = load()
    scope = session.scope_of(settings, user)
    wanted = session.STATES if states == "all" else listed(states)
    if unknown := next((one for one in wanted if one not in session.STATES), None):
        raise BadInput(f"--state: unknown state {unknown!r}; allowed: {', '.join(session.STATES)}, all")

    async def work() -> list[Memory]:
        async with session.opened(settings, quiet=as_json) as memory:
            found = await memory.list(scope, categories=listed(categories), states=wanted, limit=limit, offset=offset)
            return list(found)

    found = session.run(work())
    if as_json:
        screen.show_json({"user": scope.owner, "memories": [_fields(one) for one in found]})
        return
    if not found:
        screen.whisper("Nothing is remembered here.")
    rows = [
        [str(one.id)[:SHORT_ID], f"{one.category}{' *' if one.pinned else ''}", one.importance, one.text]
        for one in found
    ]
    if rows:
        screen.show_table(["id", "category", "imp", "text"], rows)


def show(memory_id: Id, user: User = ME, as_json: AsJson = False) -> None:
    """Show one memory with all that is known about it, whatever its state.

    For example:

      muniment show 4f2a
    """
    settings = load()
    scope = session.scope_of(settings, user)

    async def work() -> tuple[Memory, list[Neighbour]]:
        async with session.opened(settings, quiet=as_json) as memory:
            found = await memory.get(scope, await session.find(memory, scope, memory_id))
            return found, list(await memory.related(scope, found.id))

    found, related = session.run(work())
    fields = _fields(found)
    if as_json:
        beside = [{"id": str(one.memory.id), "text": one.memory.text, "strength": round(one.sim, 4)} for one in related]
        screen.show_json(fields | ({"related": beside} if beside else {}))
        return
    screen.show_fields(fields)
    for one in related:
        screen.say(f"related {one.sim:.2f}  {str(one.memory.id)[:SHORT_ID]}  {screen.one_line(one.memory.text)}")


def history(
    memory_id: Annotated[
        str | None, typer.Argument(metavar="[ID]", help="A memory's id; without it, the whole space.")
    ] = None,
    user: User = ME,
    limit: Annotated[int, typer.Option(metavar="N", min=1, help="At most so many.")] = 100,
    as_json: AsJson = False,
) -> None:
    """Show what happened to a memory, or to all of them, newest first. Nothing is ever taken out of it.

    For example:

      muniment history 4f2a

      muniment history --limit 10
    """
    settings = load()
    scope = session.scope_of(settings, user)

    entries = session.run(_history(settings, scope, memory_id, limit, quiet=as_json))
    if as_json:
        screen.show_json({"user": scope.owner, "history": [wire.entry(one) for one in entries]})
        return
    if not entries:
        screen.whisper("Nothing has happened yet.")
        return
    rows = [[one.rev, f"{one.ts:%Y-%m-%d %H:%M}", one.action, one.node, str(one.memory_id)[:SHORT_ID], one.category, _told(one)]
            for one in entries]  # fmt: skip
    screen.show_table(["rev", "when (UTC)", "action", "by", "id", "category", "text"], rows)


def _told(entry: JournalEntry) -> str:
    """The text of a line, with the decision that it stands for."""
    decided = entry.meta.get("consent")
    if not decided:
        return entry.text
    field = f"{entry.meta['field']} = {entry.meta['value']}, " if "field" in entry.meta else ""
    return f"{entry.text}  (consent {decided}: {field}by {entry.meta.get('by')})"


async def _history(
    settings: Settings, scope: Scope, typed: str | None, limit: int, *, quiet: bool
) -> list[JournalEntry]:
    async with session.opened(settings, quiet=quiet) as memory:
        memory_id = await session.find(memory, scope, typed) if typed else None
        return list(await memory.history(scope, memory_id, limit))


def _fields(one: Memory) -> dict[str, Any]:
    """A memory as it is shown: without the words around it, which only help to find it."""
    return {name: value for name, value in wire.memory(one).items() if name != "context"}
