"""What a token lets a request be: its tenant, its user, its agents and its permissions, and nothing of the request."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest

from muniment.memory.domain.scope import Grant, Permission
from muniment.memory.errors import BadInput, Denied, NotPermitted


def grant(owner: str | None = "ana", **changed: Any) -> Grant:
    values: dict[str, Any] = {"agents": (), "scopes": ("read", "write")} | changed
    return Grant(id=UUID(int=1), tenant="acme", owner=owner, created_at=datetime(2026, 11, 27, tzinfo=UTC), **values)


def test_a_scope_is_of_the_token() -> None:
    """Tenant, user and actor are the token's; the request adds where it comes from."""
    scope = grant().make_scope(thread="t", session="s", run="r")
    assert (scope.tenant, scope.owner, scope.actor, scope.owner_type) == ("acme", "ana", "ana", "user")
    assert (scope.thread, scope.session, scope.run, scope.agent) == ("t", "s", "r", None)
    assert grant().make_scope("ana").space == scope.space


@pytest.mark.parametrize("owner", ["ben", "", "ANA", " ana", "ana\x00"])
def test_a_token_of_a_user_is_for_nobody_else(owner: str) -> None:
    """Another name is refused in the same words, whoever it is."""
    with pytest.raises(NotPermitted) as refused:
        grant().make_scope(owner)
    assert str(refused.value) == "The token speaks for another user."
    assert isinstance(refused.value, Denied)


def test_a_token_without_a_user_acts_for_those_of_its_tenant() -> None:
    """The request names one; the tenant stays that of the token."""
    office = grant(None)
    spaces = {office.make_scope(name).space for name in ("ana", "ben")}
    assert len(spaces) == 2
    assert office.make_scope("ana").space == grant().make_scope().space
    assert {office.make_scope(name).tenant for name in ("ana", "ben")} == {"acme"}
    for nobody in (None, "", "  "):
        with pytest.raises(BadInput, match="user: is missing"):
            office.make_scope(nobody)
    with pytest.raises(BadInput, match="NUL"):
        office.make_scope("ana\x00")


def test_a_request_names_an_agent_of_the_token() -> None:
    """A token for one agent needs no name, a token for several does, and one for all leaves it to the request."""
    one, several, every = grant(agents=("planner",)), grant(agents=("planner", "coder")), grant()
    assert one.choose_agent() == one.choose_agent("planner") == "planner"
    assert several.choose_agent("coder") == "coder"
    assert (every.choose_agent(), every.choose_agent("coder")) == (None, "coder")
    for token in (one, several):
        for other in ("supervisor", "no such agent", ""):
            with pytest.raises(NotPermitted):
                token.choose_agent(other)
            with pytest.raises(NotPermitted):
                token.make_scope(agent=other)
    with pytest.raises(BadInput, match="planner, coder"):
        several.choose_agent()
    assert [token.make_scope().agent for token in (one, several, every)] == ["planner", None, None]


def test_a_token_may_do_what_it_was_made_for() -> None:
    """`admin` includes the others; what is lacking is named."""
    grant(scopes=("read",)).require_permission("read")
    grant(scopes=("admin",)).require_permission("write")
    lacking: list[tuple[str, Permission]] = [("read", "write"), ("write", "read"), ("read", "admin")]
    for held, wanted in lacking:
        with pytest.raises(NotPermitted) as refused:
            grant(scopes=(held,)).require_permission(wanted)
        assert refused.value.data == {"permission": wanted}
