"""The soak: a short one with kills leaves a database that holds together."""

from __future__ import annotations

import json

import psycopg
import pytest

from benchmarks import soak


@pytest.mark.timeout(240)  # programs that start, die and work off what is left
def test_a_short_soak_is_clean(capsys: pytest.CaptureFixture[str]) -> None:
    """A chat and a worker are killed and go on, and the audit finds nothing."""
    arguments = ["--minutes", "0.3", "--kill-every", "7", "--chats", "1", "--workers", "1", "--json"]
    assert soak.main(arguments) == 0
    found = json.loads(capsys.readouterr().out)
    assert set(found["broken"].values()) == {0}
    assert found["answered"] > 0
    assert sum(found["seen"].values()) > 0
    assert found["turns"] >= 2 * found["answered"]


def test_the_audit_sees_what_does_not_hold(database_url: str) -> None:
    """Each of its queries runs on a whole database and finds nothing; a line that is missing is found."""
    with psycopg.connect(database_url) as conn:
        for name, query in soak.AUDIT.items():
            assert conn.execute(query.encode()).fetchone() == (0,), name
        conn.execute(
            "insert into muniment.spaces (space_id, tenant_id, owner_id, owner_type, rev, created_at) "
            "values (gen_random_uuid(), 't', 'o', 'user', 1, now())"
        )
        assert conn.execute(soak.AUDIT["journal"].encode()).fetchone() == (1,)
        assert conn.execute(soak.AUDIT["versions"].encode()).fetchone() == (0,)
