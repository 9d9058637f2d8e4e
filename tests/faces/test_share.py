"""`share`: granted, listed and revoked at the command line."""

from __future__ import annotations

from tests.faces.conftest import Muniment


def test_granted_listed_revoked(muniment: Muniment) -> None:
    """The list says what is shared with whom, since when and by whom; what is revoked is in it no more."""
    assert muniment("share", "list", "--json").json == []
    assert muniment("share", "grant", "project:atlas", "user:ana").out == "shared: project:atlas with user:ana\n"
    made = muniment("share", "grant", "agent:planner", "everybody", "--json").json
    assert (made["owner"], made["reader"], made["tenant"]) == ("agent:planner", "everybody", "default")
    assert made["granted_by"]
    listed = muniment("share", "list", "--json").json
    assert [(row["owner"], row["reader"]) for row in listed] == [
        ("project:atlas", "user:ana"),
        ("agent:planner", "everybody"),
    ]
    assert "project:atlas" in muniment("share", "list").out
    assert muniment("share", "list", "--tenant", "acme", "--json").json == []
    gone = muniment("share", "revoke", "project:atlas", "user:ana")
    assert gone.out == "no longer shared: project:atlas with user:ana\n"
    assert muniment("share", "revoke", "project:atlas", "user:ana").code == 4


def test_what_is_refused(muniment: Muniment) -> None:
    """The space of a user, a name without a type, an unknown type and an empty name are usage errors."""
    for owner, reader in (
        ("user:ana", "user:ben"),
        ("atlas", "user:ana"),
        ("team:atlas", "user:ana"),
        ("project: ", "user:ana"),
        ("project:atlas", "ana"),
        ("project:atlas", "project:atlas"),
    ):
        assert muniment("share", "grant", owner, reader).code == 2, (owner, reader)
