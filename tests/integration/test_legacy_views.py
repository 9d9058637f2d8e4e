"""The tables of a former design as views: read-only, each row for who may see the row below it."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import psycopg
import pytest

from muniment.testing.fakes import FixedClock
from tests.engine import NOON, engine, said, scope

VIEWS = (
    "memory_sessions", "memory_session_events", "memory_observations", "memory_entries", "memory_materializations",
    "memory_links", "memory_consolidation_runs", "memory_projection_conflicts",
)  # fmt: skip


def look(url: str, view: str, space: Any, categories: str = "*") -> list[dict[str, Any]]:
    """The rows of a view as the application sees them, which has entered a space."""
    with psycopg.connect(url, row_factory=psycopg.rows.dict_row) as conn:
        conn.execute(
            "select muniment.enter_space(%s, %s), set_config('role', 'muniment_app', true)",
            (space, None if categories == "*" else categories.split(",")),
        )
        return conn.execute(f"select * from muniment.{view}").fetchall()


async def test_the_views_follow_what_there_is(database_url: str) -> None:
    """One session is seen under the former names; another user and an allowlist see their own, and nobody writes."""
    clock = FixedClock(NOON)
    async with engine(database_url, clock=clock) as memory:
        who, turn = scope(), said("I am lactose intolerant. I live in Porto.")
        await memory.learn(who, turn)
        await memory.conversation.record(who, [turn])
        await memory.learn(scope("ben"), said("I live in Rome."))
        found = {view: look(database_url, view, who.space) for view in VIEWS}
        (session,) = found["memory_sessions"]
        assert (session["session_id"], session["status"], session["event_count"]) == ("A", "open", 1)
        (event,) = found["memory_session_events"]
        assert (event["event_index"], event["event_type"], event["content"]) == (0, "message", turn.text)
        entries = found["memory_entries"]
        assert {entry["source_session_id"] for entry in entries} == {"A"}
        assert all(entry["canonical_statement"].startswith("The user") for entry in entries)
        observations = found["memory_observations"]
        assert {row["entry_id"] for row in observations} == {entry["entry_id"] for entry in entries}
        assert {tuple(row["event_indexes"]) for row in observations} == {(0,)}
        materials = {row["materialization_id"] for row in found["memory_materializations"]}
        ends = {(row["from_type"], row["to_type"]): row["to_id"] for row in found["memory_links"]}
        assert ends["entry", "materialization"] in materials
        assert ends["observation", "entry"] in {entry["entry_id"] for entry in entries}
        assert found["memory_projection_conflicts"] == found["memory_consolidation_runs"] == []
        some = look(database_url, "memory_entries", who.space, "constraints")
        assert {row["category"] for row in some} == {"constraints"}
        for view in ("memory_sessions", "memory_session_events"):
            assert look(database_url, view, who.space, "constraints") == []
        assert {row["space_id"] for view in VIEWS for row in look(database_url, view, who.space)} == {who.space}
        for view in VIEWS:
            with pytest.raises(psycopg.Error):
                look(database_url, f"{view}; delete from muniment.{view}", who.space)
        clock.advance(timedelta(days=15).total_seconds())
        await memory.admin.maintain(who)
        assert look(database_url, "memory_sessions", who.space) == []
        assert {row["source_session_id"] for row in look(database_url, "memory_entries", who.space)} == {None}
