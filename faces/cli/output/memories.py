"""Memories as a person reads them in a terminal: wrapped, with the category's label, the age, and what is special."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from muniment.faces.cli.output import screen
from muniment.memory import codec
from muniment.memory.config.schema import Category
from muniment.memory.domain.memory import StoredMemory
from muniment.memory.domain.query import Hit
from muniment.memory.payload import cite_source

_AGE_UNITS = (
    (60, 60, "minute"),
    (3_600, 3_600, "hour"),
    (86_400, 86_400, "day"),
    (61 * 86_400, 30.44 * 86_400, "month"),
    (731 * 86_400, 365.25 * 86_400, "year"),
)


_MIN_SHOWN = 0.0005  # the least part of a score that does not print as 0.000


def format_age(then: datetime, now: datetime) -> str:
    """The time since then: "just now", "1 hour ago", "3 days ago", "2 months ago"."""
    seconds = (now - then).total_seconds()
    age = "just now"
    for least, unit, name in _AGE_UNITS:
        if seconds >= least:
            count = int(seconds / unit)
            age = f"{count} {name}{'s' if count > 1 else ''} ago"
    return age


def get_label(slug: str, categories: Mapping[str, Category]) -> str:
    """The label of a category; the slug of one that is not configured any more."""
    return categories[slug].label if slug in categories else slug


def format_details(memory: StoredMemory, now: datetime) -> str:
    """Age, date and pin of a memory: "3 days ago, on 2026-10-04, pinned"."""
    details = [format_age(memory.updated_at, now)]
    if memory.event_time is not None:
        details.append(f"on {memory.event_time.astimezone(UTC):%Y-%m-%d}")
    if memory.expires_at is not None:
        details.append(f"until {memory.expires_at.astimezone(UTC):%Y-%m-%d %H:%M} UTC")
    if memory.pinned:
        details.append("pinned")
    return ", ".join(details)


def format_statement(memory: StoredMemory) -> str:
    """The text of a memory with what it comes from, and the place where alone it is found."""
    cited = cite_source(memory) if memory.source else ""
    return memory.text + cited + (f" (in {memory.place.replace(':', ' ', 1)} alone)" if memory.place else "")


def print_bullet(
    memory: StoredMemory, categories: Mapping[str, Category], now: datetime, *, shared_by: str | None = None
) -> None:
    """Print a memory as a bullet, wrapped at the terminal's width under its first word, with whose it is where somebody
    shares it."""
    owner = f", of the {shared_by}" if shared_by else ""
    text = Text.assemble(
        (f"{get_label(memory.category, categories)}{owner}: ", "bold"),
        screen.join_lines(format_statement(memory)),
        (f"  ({format_details(memory, now)})", "dim"),
    )
    bullet = Table.grid(padding=(0, 1))
    bullet.add_column(no_wrap=True)
    bullet.add_column(overflow="fold")
    bullet.add_row(Text("•"), text)
    Console(highlight=False).print(bullet)


def list_fields(memory: StoredMemory) -> dict[str, Any]:
    """A memory's fields as they are shown in full: all but `context`, which only helps to find it."""
    return {name: value for name, value in codec.encode_record(memory).items() if name != "context"}


def print_score(hit: Hit) -> None:
    """Print the score of a hit with its parts, and the channels that returned it."""
    parts = ", ".join(f"{name} {value:.3f}" for name, value in hit.parts.items() if abs(value) >= _MIN_SHOWN)
    places = ", ".join(f"{name} #{hit.ranks[name]}" if name in hit.ranks else name for name in hit.channels)
    screen.print_line(
        f"    {screen.shorten_id(hit.memory.id)}  score {hit.score:.3f} of {parts or 'nothing'} "
        f"({places or 'no channel'})"
    )
    if hit.words:
        screen.print_line(f"    words {', '.join(hit.words)}")
    related = f", related to {screen.shorten_id(hit.related_to)}" if hit.related_to else ""
    screen.print_line(f"    relevance {hit.relevance:.3f}, changed at revision {hit.memory.rev}{related}")
