"""`plugin sync`: the local file and the server take over from each other what they have not got."""

from __future__ import annotations

from typing import Annotated

import typer

from muniment.faces.cli import options, session
from muniment.faces.cli.commands.plugin.outbox import encode_status
from muniment.faces.cli.options import AsJson
from muniment.faces.cli.output import screen
from muniment.memory.config.settings import Settings, load_settings
from muniment.memory.errors import StoreDown
from muniment.plugin.domain.item import ItemOwner
from muniment.plugin.domain.operation import OutboxStatus
from muniment.plugin.stores.hybrid.opening import open_hybrid_store


def sync_file(
    user: Annotated[
        str | None, typer.Option("--user", metavar="NAME", help="Whose items; else those of all users of the file.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Send what waits in the local file to the server, and take over what other machines have done. Fails where the
    two do not agree afterwards.

    For example:

      muniment plugin sync --user ana
    """
    settings = load_settings()
    owner = None if user is None else ItemOwner(tenant=settings.tenant, user=options.check_name(user, "--user"))
    is_done, status = session.run_async(_sync(settings, owner))
    if as_json:
        screen.print_json({"done": is_done} | encode_status(status))
    elif is_done:
        screen.print_line("The file and the server agree.")
    if not is_done:
        raise StoreDown(
            f"{status.waiting:,} operations wait on: {status.last_error or 'another process sends them'}. "
            "`muniment plugin outbox` shows more."
        )


async def _sync(settings: Settings, owner: ItemOwner | None) -> tuple[bool, OutboxStatus]:
    store = open_hybrid_store(settings, is_automatic=False)
    try:
        owners = await store.list_owners() if owner is None else [owner]
        results = [await store.sync_now(each) for each in owners]
        return all(results), await store.read_outbox_status()
    finally:
        await store.close()
