"""`token`: made and shown once, listed without it, revoked by the beginning of its id."""

from __future__ import annotations

from tests.faces.conftest import Muniment


def test_made_listed_revoked(muniment: Muniment) -> None:
    """A token is on standard output alone, once; the list says what each permits, and until when."""
    made = muniment("token", "create", "--tenant", "acme", "--user", "ana", "--agents", "planner", "--scopes", "read")
    assert made.code == 0
    token = made.out.strip()
    assert token.startswith("mun_")
    assert made.out.count("\n") == 1
    assert token not in made.err
    second = muniment("token", "create", "--days", "3", "--json").json
    assert second["token"] != token
    assert (second["tenant"], second["scopes"]) == ("default", ["read", "write"])
    assert second["expires_at"] > second["created_at"]
    listed = muniment("token", "list", "--json")
    assert token not in listed.out
    assert second["token"] not in listed.out
    assert {(row["tenant"], row.get("owner")) for row in listed.json} == {("acme", "ana"), ("default", None)}
    plain = muniment("token", "list", "--tenant", "acme").out
    assert "planner" in plain
    assert "default" not in plain
    assert muniment("token", "revoke", second["id"][:8]).out == f"revoked {second['id'][:8]}\n"
    assert "revoked_at" in muniment("token", "revoke", second["id"], "--json").json
    assert "revoked" in muniment("token", "list").out


def test_what_is_refused(muniment: Muniment) -> None:
    """Unknown agents and scopes, empty names and ids that are none are usage errors; an unknown id is not found."""
    for wrong in (
        ("--agents", "spy"),
        ("--scopes", "root"),
        ("--scopes", ","),
        ("--user", " "),
        ("--tenant", ""),
        ("--days", "0"),
    ):
        assert muniment("token", "create", *wrong).code == 2, wrong
    assert muniment("token", "list", "--json").json == []
    assert muniment("token", "revoke", "abc").code == 2
    gone = muniment("token", "revoke", "abcd", "--json")
    assert (gone.code, gone.json["error"]["type"]) == (4, "NotFound")
