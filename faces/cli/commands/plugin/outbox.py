"""`plugin outbox`: what waits in the local file to be sent to the server."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from muniment.faces.cli import session
from muniment.faces.cli.options import AsJson
from muniment.faces.cli.output import screen, terminal
from muniment.memory.config.settings import Settings, load_settings
from muniment.plugin.domain.operation import OutboxStatus
from muniment.plugin.stores.hybrid.opening import open_hybrid_store


def show_outbox(as_json: AsJson = False) -> None:
    """Show what waits to be sent to the server, how sending went, and what the server has refused. No text is shown.

    For example:

      muniment plugin outbox --json
    """
    status = session.run_async(_read_status(load_settings()))
    if as_json:
        screen.print_json(encode_status(status))
        return
    screen.print_fields({name.replace("_", " "): value for name, value in _list_fields(status).items()})
    if status.aside:
        rows = [
            [each.verb, screen.shorten_id(each.item_id), _format_time(each.at), each.reason] for each in status.aside
        ]
        terminal.print_table(["set aside", "item", "done", "why"], rows)


def encode_status(status: OutboxStatus) -> dict[str, Any]:
    """Return the state of an outbox as JSON values."""
    times = ("oldest_at", "next_at", "sent_at")
    encoded = asdict(status) | {
        name: None if (at := getattr(status, name)) is None else at.isoformat() for name in times
    }
    encoded["aside"] = [asdict(each) | {"at": each.at.isoformat()} for each in status.aside]
    return encoded


def _list_fields(status: OutboxStatus) -> dict[str, str]:
    fields = {
        "waiting": f"{status.waiting:,}",
        "set aside": f"{status.aside_count:,}",
        "dropped": f"{status.dropped:,}",
    }
    if status.oldest_at is not None:
        fields["oldest"] = _format_time(status.oldest_at)
    if status.sent_at is not None:
        fields["last sent"] = _format_time(status.sent_at)
    if status.failures:
        fields["failures"] = f"{status.failures:,} in a row, the last {status.last_error}"
    if status.next_at is not None:
        fields["next attempt"] = _format_time(status.next_at)
    return fields


def _format_time(at: Any) -> str:
    return f"{at:%Y-%m-%d %H:%M} UTC"


async def _read_status(settings: Settings) -> OutboxStatus:
    store = open_hybrid_store(settings, is_automatic=False)
    try:
        return await store.read_outbox_status()
    finally:
        await store.close()
