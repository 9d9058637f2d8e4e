"""`proxy usage`: what the exchanges of tokens came to, day by day."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from muniment.faces.cli import session
from muniment.faces.cli.commands.proxy.extra import Folder
from muniment.faces.cli.options import AsJson
from muniment.faces.cli.output import screen, terminal
from muniment.memory import codec
from muniment.memory.config.proxy_folder import load_proxy_settings
from muniment.memory.domain.tokens.usage import ProxyDay
from muniment.memory.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Sequence

_DAYS = 30
_COLUMNS = [
    "day (UTC)", "token", "requests", "refused", "prompt", "cached", "completion", "unreported", "memories", "bytes in",
    "bytes out", "mean ms", "longest ms",
]  # fmt: skip


def show_usage(
    folder: Folder = Path(),
    token: Annotated[
        str | None, typer.Option("--token", metavar="ID", help="Only this token: its id, or the beginning (4 or more).")
    ] = None,
    days: Annotated[
        int, typer.Option("--days", metavar="N", min=1, max=3650, help="So many days (UTC), today included.")
    ] = _DAYS,
    as_json: AsJson = False,
) -> None:
    """Show what the exchanges of each token came to by day: requests, tokens as the providers report them, memories
    shown, bytes and times.

    A request without a report of tokens is counted as unreported. A proxy that is killed loses the last second.

    For example:

      muniment proxy usage --token 4f2a91bc --days 7
    """
    settings = load_proxy_settings(folder)
    prefix = None if token is None else _check_prefix(token)

    async def work() -> Sequence[ProxyDay]:
        async with session.open_proxy_accounts(settings, quiet=as_json) as accounts:
            return await accounts.list_days(days=days)

    found = [day for day in session.run_async(work()) if prefix is None or str(day.token_id).startswith(prefix)]
    if as_json:
        screen.print_json({"days": [codec.encode_record(day) for day in found]})
    elif found:
        terminal.print_table(_COLUMNS, [_format_row(day) for day in found])
    else:
        terminal.print_hint("No token has been used in these days.")


def _check_prefix(typed_id: str) -> str:
    prefix = typed_id.strip().lower()
    if len(prefix) < session.MIN_ID_CHARS or set(prefix) - set("0123456789abcdef-"):
        raise BadInput(f"--token: that is no id: give {session.MIN_ID_CHARS} or more characters of one")
    return prefix


def _format_row(day: ProxyDay) -> list[Any]:
    counts = (
        day.requests, day.refused, day.prompt_tokens, day.cached_tokens, day.completion_tokens, day.unreported,
        day.memories, day.bytes_in, day.bytes_out, day.mean_ms, day.longest_ms,
    )  # fmt: skip
    return [day.day, screen.shorten_id(day.token_id), *(f"{count:,}" for count in counts)]
