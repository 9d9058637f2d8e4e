"""The edges of a memory at the command line."""

from __future__ import annotations

from tests.faces.conftest import Muniment


def test_the_edges_are_shown(muniment: Muniment) -> None:
    """`show` names them with their strength, for people and for programs."""
    muniment("remember", "I rent a red cello from the music school in Lisbon", "--category", "goals")
    muniment("remember", "I rent a blue cello from the music school in Porto", "--category", "goals")
    shown = muniment("list", "--json").json["memories"]
    related = muniment("show", shown[0]["id"], "--json").json["related"]
    assert [one["id"] for one in related] == [shown[1]["id"]]
    assert related[0]["strength"] >= 0.6
    assert f"{shown[1]['id'][:8]}  {shown[1]['text']}" in muniment("show", shown[0]["id"]).out
