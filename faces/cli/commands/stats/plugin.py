"""`stats plugin`: what the plugin of hosts decided, did and cost."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Annotated

import typer

from muniment.faces.cli import options, session
from muniment.faces.cli.commands.stats.spend import Days
from muniment.faces.cli.options import AsJson
from muniment.faces.cli.output import screen, terminal
from muniment.memory.config.settings import Settings, load_settings
from muniment.plugin.book import stats_view
from muniment.plugin.book.opening import open_book
from muniment.plugin.domain.book import PluginStats


def show_plugin(
    days: Days = 7,
    user: Annotated[
        str | None, typer.Option("--user", "-u", metavar="NAME", help="Only of this user; else of all.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Count what the plugin of hosts did: searches and finds, tokens added, writes, refusals by reason, remote calls
    and latency, by policy.

    The hosts are those with these settings: with the store `engine` all of the database, else those of the local file.

    For example:

      muniment stats plugin --days 30 --json
    """
    settings = load_settings()
    owner = None if user is None else options.check_name(user, "--user")
    stats = session.run_async(read_plugin_stats(settings, owner, days))
    if as_json:
        screen.print_json({"tenant": settings.tenant, "user": owner, "days": days, **stats_view.encode_stats(stats)})
        return
    if not stats.turns:
        screen.print_line(f"The plugin has seen no turn in {days} days.")
        return
    terminal.print_table(list(stats_view.COLUMNS), stats_view.list_policy_rows(stats))
    for columns, rows in (
        (["not written, why", "times"], stats_view.list_refusal_rows(stats.refusals)),
        (["store and step", "median ms", "p95 ms"], stats_view.list_latency_rows(stats)),
    ):
        if rows:
            screen.print_line("")
            terminal.print_table(columns, rows)


async def read_plugin_stats(settings: Settings, user: str | None, days: int) -> PluginStats:
    """Return what was counted in the last days, of a user or of all of the settings' tenant. Raises StoreError."""
    async with open_book(settings) as book:
        return await book.read_stats(settings.tenant, user, datetime.now(UTC) - timedelta(days=days))
