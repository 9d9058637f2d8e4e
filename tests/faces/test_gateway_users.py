"""`muniment gateway user`: made and shown once, listed without the key, rotated, revoked."""

from __future__ import annotations

from tests.faces.conftest import Muniment


def test_made_listed_rotated_revoked(muniment: Muniment) -> None:
    """A key is on standard output alone, once; a user has one at a time."""
    made = muniment("gateway", "user", "create", "ana")
    assert made.code == 0
    key = made.out.strip()
    assert key.startswith("mun_")
    assert (made.out.count("\n"), made.err) == (1, "")
    again = muniment("gateway", "user", "create", "ana")
    assert again.code == 2
    assert "rotate ana" in again.err
    ben = muniment("gateway", "user", "create", "ben@example.org", "--json").json
    assert ben["user_id"] == "ben@example.org"
    rotated = muniment("gateway", "user", "rotate", "ana", "--json").json
    assert rotated["user_key"] not in (key, ben["user_key"])
    listed = muniment("gateway", "user", "list", "--json")
    for secret in (key, rotated["user_key"], ben["user_key"]):
        assert secret not in listed.out
    assert [(row["user_id"], row["revoked_at"] is None) for row in listed.json] == [
        ("ana", True),
        ("ben@example.org", True),
        ("ana", False),
    ]
    assert muniment("gateway", "user", "list").out.count("\n") == 3
    assert muniment("gateway", "user", "revoke", "ana").out == "revoked the key of ana\n"
    gone = muniment("gateway", "user", "rotate", "ana", "--json")
    assert (gone.code, gone.json["error"]["type"]) == (4, "NotFound")
    assert muniment("gateway", "user", "create", "ana").code == 0  # a user may come back


def test_a_key_is_a_token(muniment: Muniment) -> None:
    """A key is one of the tokens of `muniment token`, and other tokens of a user are none of the gateway's affair."""
    muniment("gateway", "user", "create", "ana")
    other = muniment("token", "create", "--user", "ana", "--scopes", "read", "--json").json
    [key] = [row for row in muniment("token", "list", "--json").json if row["id"] != other["id"]]
    assert (key["owner"], key["agents"], key["scopes"]) == ("ana", ["supervisor"], ["read", "write"])
    muniment("gateway", "user", "revoke", "ana")
    states = {row["id"]: "revoked_at" in row for row in muniment("token", "list", "--json").json}
    assert states == {key["id"]: True, other["id"]: False}


def test_what_is_refused(muniment: Muniment) -> None:
    """Names that could be another's memory, and users without a key."""
    for name in ("", " ", "a b", "ana/mail/default", "ü", "x" * 129, "a\n"):
        assert muniment("gateway", "user", "create", name).code == 2, name
    assert muniment("gateway", "user", "list", "--json").json == []
    for command in ("rotate", "revoke"):
        assert muniment("gateway", "user", command, "nobody").code == 4
    assert muniment("gateway", "user").code in (0, 2)
