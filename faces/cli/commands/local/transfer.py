"""`local import` and `local export`: items between the local file and a user's memory in the database."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from muniment.faces.cli import options, session
from muniment.faces.cli.options import DEFAULT_USER, AsJson, User
from muniment.faces.cli.output import screen, terminal
from muniment.memory.config.settings import Settings, load_settings
from muniment.plugin.domain.item import ItemOwner

if TYPE_CHECKING:
    from muniment.plugin.stores.transfer import TransferReport

File = Annotated[
    str | None, typer.Option("--file", metavar="FILE", help="The local file; else plugin.file of the settings.")
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only count what there is; write nothing.")]


def import_items(user: User = DEFAULT_USER, file: File = None, is_dry: DryRun = False, as_json: AsJson = False) -> None:
    """Write a user's memories of the database into the local file, as far as they are single statements.

    What the file knows already is not added again, and what was forgotten there stays forgotten.

    For example:

      muniment local import --user ana --dry-run
    """
    _transfer(user, file, is_dry=is_dry, as_json=as_json, into_file=True)


def export_items(user: User = DEFAULT_USER, file: File = None, is_dry: DryRun = False, as_json: AsJson = False) -> None:
    """Write the items of the local file into a user's memory in the database.

    They are redacted, validated and merged as everything that is written there; what it knows already is not added.

    For example:

      muniment local export --user ana
    """
    _transfer(user, file, is_dry=is_dry, as_json=as_json, into_file=False)


def _transfer(user: str, file: str | None, *, is_dry: bool, as_json: bool, into_file: bool) -> None:
    settings = load_settings()
    if file is not None:
        plugin = settings.plugin.model_copy(update={"file": options.check_text(file, "--file")})
        settings = settings.model_copy(update={"plugin": plugin})
    owner = ItemOwner(user=options.check_name(user, "--user"), tenant=settings.tenant)
    report = session.run_async(_copy(settings, owner, is_dry=is_dry, quiet=as_json, into_file=into_file))
    if as_json:
        screen.print_json(_encode_report(owner, report, is_dry=is_dry))
        return
    screen.print_line(f"{owner.user}: {report.read:,} items read{', nothing written' if is_dry else ''}")
    for outcome, count in sorted(report.outcomes.items()):
        screen.print_line(f"  {outcome}: {count:,}")


async def _copy(settings: Settings, owner: ItemOwner, *, is_dry: bool, quiet: bool, into_file: bool) -> TransferReport:
    # The stores bring the embedder's and the database's libraries: nothing for `--help` to wait for.
    from muniment.plugin.stores.engine.store import EngineStore  # noqa: PLC0415
    from muniment.plugin.stores.local.store import open_local_store  # noqa: PLC0415
    from muniment.plugin.stores.transfer import transfer_items  # noqa: PLC0415

    async with session.open_memory(settings, quiet=quiet) as memory:
        local = open_local_store(settings, memory.engine.embedder if settings.plugin.vectors else None)
        engine = EngineStore(memory, settings.plugin)
        source, target = (engine, local) if into_file else (local, engine)
        try:
            with terminal.show_progress("items", None, quiet=quiet) as move:
                return await transfer_items(source, target, owner, datetime.now(UTC), is_dry=is_dry, on_progress=move)
        finally:
            await local.close()


def _encode_report(owner: ItemOwner, report: TransferReport, *, is_dry: bool) -> dict[str, Any]:
    return {"user": owner.user, "read": report.read, "outcomes": dict(report.outcomes), "dry_run": is_dry}
