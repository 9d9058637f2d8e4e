"""The options that commands share, and the checks of their values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Annotated, Any

import typer

from muniment.memory import query_codec
from muniment.memory.config.settings import Settings
from muniment.memory.domain.ids import Revision
from muniment.memory.domain.query import Query
from muniment.memory.errors import BadInput
from muniment.memory.payload import parse_agent_query
from muniment.memory.query_codec import FILTER_KINDS

MAX_NAME_CHARS = 200

User = Annotated[str, typer.Option("--user", "-u", metavar="NAME", help="Whose memory. Nobody sees another's.")]
Project = Annotated[
    str | None,
    typer.Option(
        "--project", metavar="NAME", help="The project that is worked on; its memory is read, too, where it is shared."
    ),
]
Profile = Annotated[
    str | None, typer.Option("--profile", metavar="NAME", help="Of recall.profiles, in place of the agent's.")
]
Session = Annotated[
    str | None, typer.Option("--session", metavar="NAME", help="The session: what holds in it alone counts, too.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, errors too; the exit code stays the same.")]
Id = Annotated[str, typer.Argument(metavar="ID", help="A memory's id, or its first characters (4 or more).")]

Agent = Annotated[
    str, typer.Option("--agent", "-a", metavar="A", help="Who asks; its allowlist says what it may read.")
]
Categories = Annotated[
    list[str] | None, typer.Option("--category", "--categories", metavar="a,b", help="Only these; may be repeated.")
]
TopK = Annotated[int | None, typer.Option("--top-k", metavar="N", help="At most so many; else recall.top_k.")]
Budget = Annotated[
    int | None,
    typer.Option(
        "--budget", metavar="N", help="At most so many tokens; else recall.budget_tokens, four times that for full."
    ),
]
Threshold = Annotated[
    float | None,
    typer.Option("--threshold", metavar="X", help="From 0 to 1: less relevant is left out."),
]
Returns = Annotated[str, typer.Option("--return", metavar="bullets|full", help="Bullets, or whole memories.")]
Explain = Annotated[
    bool,
    typer.Option(
        "--explain", help="Show the parts of each score, the stages of the read, and what was left out and why."
    ),
]
Filter = Annotated[
    list[str] | None,
    typer.Option(
        "--filter", metavar="NAME=VALUE", help=f"Only what fits; may be repeated. Of {', '.join(FILTER_KINDS)}."
    ),
]
AsOf = Annotated[
    str | None,
    typer.Option(
        "--as-of",
        metavar="REV|TIME",
        help="As it was then: a whole number is a revision, else an ISO date or time in UTC. A date means its end.",
    ),
]

DEFAULT_USER = "me"


def check_name(value: str, option: str) -> str:
    """The name of a user or thread as typed. Raises BadInput: a correction could make one name of two."""
    if not value.strip():
        raise BadInput(f"{option}: is empty; give a name")
    if len(value) > MAX_NAME_CHARS:
        raise BadInput(f"{option}: has {len(value):,} characters; at most {MAX_NAME_CHARS} are allowed")
    if any(not char.isprintable() for char in value):
        raise BadInput(f"{option}: has a character that cannot be shown; use letters, digits and spaces")
    return value


def check_text(value: str, option: str) -> str:
    """A text as typed, with U+FFFD for bytes that were not UTF-8. Raises BadInput when it is empty."""
    if not value.strip():
        raise BadInput(f"{option}: is empty")
    return decode_text(value)


def decode_text(value: str) -> str:
    """A text as typed, with U+FFFD for bytes that were not UTF-8."""
    return value.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def split_list(values: Sequence[str] | None, option: str) -> tuple[str, ...]:
    """`a,b` as ("a", "b"), also of a repeated option; () for None. Raises BadInput for an empty text."""
    parts = tuple(part.strip() for value in values or () for part in value.split(",") if part.strip())
    if values and not parts:
        raise BadInput(f"{option}: is empty; name some, or leave it out")
    return parts


def check_agent(settings: Settings, agent: str, option: str = "--agent") -> None:
    """Raises BadInput for an agent without an allowlist."""
    if agent not in settings.allowlists:
        agents = ", ".join(sorted(settings.allowlists))
        raise BadInput(f"{option}: unknown agent {agent!r}; allowed: {agents}", agent=agent)


def build_query(
    settings: Settings, agent: str, text: str, arguments: Mapping[str, Any], filter_pairs: Sequence[str] | None
) -> Query:
    """A query as typed: its text, the other fields of `memory.query`, and its filters. Raises BadInput."""
    typed = decode_text(text) if text.strip() else ""
    return parse_agent_query(
        settings, agent, {"query": typed, "filters": parse_filters(filter_pairs or ()), **arguments}
    )


def parse_filters(pairs: Sequence[str]) -> dict[str, Any]:
    """`name=value` pairs as JSON has them: numbers, and true or false, where the filter is one. Raises BadInput."""
    parsed: dict[str, Any] = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or key not in FILTER_KINDS:
            raise BadInput(f"--filter: {pair!r} given, NAME=VALUE wanted; names: {', '.join(FILTER_KINDS)}")
        if key in parsed:
            raise BadInput(f"--filter: {key} is given twice, and a memory has one")
        parsed[key] = _parse_filter_value(key, value)
    return parsed


def _parse_filter_value(key: str, value: str) -> Any:
    kind = FILTER_KINDS[key]
    if kind is bool:
        if value not in ("true", "false"):
            raise BadInput(f"--filter: {key} is true or false")
        return value == "true"
    if kind is int:
        try:
            return int(value)
        except ValueError:
            raise BadInput(f"--filter: {key} is a whole number") from None
    return value


def parse_as_of(value: str | None) -> Revision | datetime | None:
    """The revision or time of `--as-of`; None without it. Raises BadInput."""
    return None if value is None else query_codec.parse_as_of(value)
