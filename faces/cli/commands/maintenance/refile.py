"""`refile`: memories go where facts of their kind are filed now."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Annotated

import typer

from muniment.faces.cli import session
from muniment.faces.cli.options import DEFAULT_USER, AsJson
from muniment.faces.cli.output import screen, terminal
from muniment.memory.config.settings import Settings, load_settings
from muniment.memory.domain.maintenance import RefilingResult
from muniment.memory.errors import BadInput


def refile_memories(
    user: Annotated[str | None, typer.Option("--user", "-u", metavar="NAME", help="Whose memory; else me.")] = None,
    everybody: Annotated[bool, typer.Option("--all", help="Everybody's.")] = False,
    undo: Annotated[bool, typer.Option("--undo", help="Move them back to where they were.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Count them, and move nothing.")] = False,
    as_json: AsJson = False,
) -> None:
    """Move memories of former versions to the category that facts of their kind have now.

    Allergies, diets, medicine and whatever the user cannot or never does go to constraints, skills to knowledge,
    experience to history, pastimes to interests, deadlines to tasks. Each move is in the history, and --undo takes them
    back, but for memories that were filed elsewhere since. Refuses where the settings have categories or allowlists of
    their own. Can be repeated.

    For example:

      muniment refile --all --dry-run

      muniment refile --user ana --undo
    """
    if everybody and user is not None:
        raise BadInput("--all and --user: give one of them")
    settings = load_settings()
    results = session.run_async(
        _refile_spaces(settings, None if everybody else user or DEFAULT_USER, undo=undo, dry=dry_run, quiet=as_json)
    )
    if as_json:
        screen.print_json({"spaces": [_result_to_json(result) for result in results]})
        return
    counts: Counter[tuple[str, str]] = Counter()
    for result in results:
        counts.update(result.counts)
    for (former, new), count in sorted(counts.items()):
        screen.print_line(f"{count:,} from {former} to {new}")
    if not counts:
        screen.print_line("Nothing is to be moved." if dry_run else "Nothing was to be moved.")


async def _refile_spaces(
    settings: Settings, user: str | None, *, undo: bool, dry: bool, quiet: bool
) -> list[RefilingResult]:
    async with session.open_memory(settings, quiet=quiet) as memory:
        admin = memory.admin
        refile = admin.undo_refiling if undo else admin.refile_space
        scopes = await admin.list_spaces(settings.tenant) if user is None else [session.make_scope(settings, user)]
        results = []
        with terminal.show_progress("spaces", len(scopes), quiet=quiet) as move:
            for scope in scopes:
                results.append(await refile(scope, dry=dry))
                move(1)
        return results


def _result_to_json(result: RefilingResult) -> dict[str, object]:
    moved: Sequence[dict[str, object]] = [
        {"from": former, "to": new, "memories": count} for (former, new), count in result.counts.items()
    ]
    return {"user": result.scope.owner, "owner_type": result.scope.owner_type, "moved": moved}
