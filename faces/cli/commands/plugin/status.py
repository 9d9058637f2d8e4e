"""`plugin status`: how the plugin of hosts is set up, and what it did in a week."""

from __future__ import annotations

from typing import Any

from muniment.faces.cli import session
from muniment.faces.cli.commands.stats.plugin import read_plugin_stats
from muniment.faces.cli.options import AsJson
from muniment.faces.cli.output import screen
from muniment.memory.config.settings import load_settings
from muniment.memory.errors import StoreError
from muniment.plugin.book.opening import make_file_book

_DAYS = 7


def show_status(as_json: AsJson = False) -> None:
    """Show whether the plugin is enabled, its store, its file or address, its policies, and what waits to be sent.

    For example:

      muniment plugin status
    """
    settings = load_settings()
    plugin = settings.plugin
    described: dict[str, Any] = {
        "enabled": plugin.enabled,
        "store": plugin.store,
        "policy": plugin.policy,
        "other_policy": plugin.other_policy,
        "other_share": plugin.other_share if plugin.other_policy else None,
        "shadow": plugin.shadow,
        "policies": sorted(plugin.policies),
    }
    if plugin.store in ("remote", "hybrid"):
        described["url"] = plugin.url
    if plugin.store != "engine":
        described["book"] = str(make_file_book(settings).path)
    try:
        stats = session.run_async(read_plugin_stats(settings, None, _DAYS))
        described |= {"turns_in_7_days": stats.turns, "queue_length": stats.queue_length}
    except StoreError as error:  # the set-up is shown without what cannot be read
        described["problem"] = screen.format_error(error)
    if as_json:
        screen.print_json(described)
        return
    shown = {name.replace("_", " "): _format_value(value) for name, value in described.items() if value is not None}
    screen.print_fields(shown)


def _format_value(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ", ".join(value) or "none" if isinstance(value, list) else str(value)
