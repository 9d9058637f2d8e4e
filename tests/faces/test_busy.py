"""A command that finds another process at the same: what a person and a program are told."""

from __future__ import annotations

from datetime import datetime

import psycopg
import pytest

from muniment.graph import janitor
from tests.faces.conftest import Muniment


@pytest.mark.parametrize(
    ("lock", "command", "doing"),
    [
        ("hashtext('muniment index')", ("index", "--user", "ana"), "making indexes"),
        ("hashtext('muniment embedder switch')", ("embedder", "switch", "hash-256"), "switching the embedder"),
        (str(janitor._LOCK), ("checkpoints", "prune"), "pruning checkpoints"),
    ],
)
def test_a_lock_that_another_process_holds(
    muniment: Muniment, environment: dict[str, str], lock: str, command: tuple[str, ...], doing: str
) -> None:
    """Its own exit code, with what the other one does, since when, and as which process of Postgres; then it can be
    done."""
    assert muniment("remember", "I live in Porto", "--user", "ana").code == 0
    with psycopg.connect(environment["MUNIMENT_DATABASE_URL"]) as other:
        row = other.execute(f"select now(), pg_backend_pid(), pg_advisory_xact_lock({lock})").fetchone()
        assert row is not None
        since, pid = row[:2]
        said = muniment(*command)
        assert (said.code, said.out) == (7, "")
        assert f"another process is {doing}" in said.err
        assert f"since {since:%Y-%m-%d %H:%M} UTC (process {pid} of Postgres): wait" in said.err
        told = muniment(*command, "--json").json["error"]
        assert (told["type"], datetime.fromisoformat(told["since"]), told["pid"]) == ("Busy", since, pid)
    assert muniment(*command).code == 0
