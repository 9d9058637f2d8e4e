"""`muniment bisect`: which memory made a reply, at the command line and without a model."""

from __future__ import annotations

import pytest

from tests.faces.conftest import Muniment

TALK = "I live in Lisbon.\nI am allergic to peanuts.\nWhich city do I live in?\n"
ASKED = ("bisect", "--thread", "main", "--turn", "5", "--user", "ana")


@pytest.fixture
def talked(muniment: Muniment) -> None:
    assert muniment("chat", "--user", "ana", said=TALK).code == 0


@pytest.mark.usefixtures("talked")
def test_a_reply_is_traced_to_its_memory(muniment: Muniment) -> None:
    """It shows the minimal set, each with its source, and the reply without it; the same again makes no reply."""
    searches = muniment("stats", "--user", "ana").out
    told = muniment(*ASKED, "--expect", "Lisbon")
    assert told.code == 0
    assert "What made the reply:" in told.out
    assert "[profile] The user lives in Lisbon" in told.out
    assert "from user, main, turn 0" in told.out
    assert "Lisbon" not in told.out.rpartition("The reply without it:")[2]
    found = muniment(*ASKED, "--expect", "lisbon", "--json").json
    assert (found["outcome"], found["is_kept"], found["user"]) == ("found", True, "ana")
    again = muniment(*ASKED, "--expect", "lisbon", "--json").json
    assert again["reused"] == again["replies"] == found["replies"]
    anew = muniment(*ASKED, "--expect", "lisbon", "--fresh", "--json").json
    assert anew["reused"] == 0
    assert "does not have it" in muniment(*ASKED, "--expect", "submarine").out
    none = muniment(*ASKED, "--expect", "submarine", "--missing", "--json").json
    assert none["outcome"] == "none would do"
    assert muniment("stats", "--user", "ana").out == searches  # nothing is recorded or counted


@pytest.mark.usefixtures("talked")
def test_what_cannot_be_asked_is_refused(muniment: Muniment) -> None:
    """The exit codes are those of the other commands."""
    assert muniment(*ASKED).code == 2
    assert muniment(*ASKED, "--expect", "a", "--judge", "b").code == 2
    assert muniment(*ASKED, "--expect", "*").code == 2
    assert muniment(*ASKED, "--expect", "a", "--runs", "0").code == 2
    assert muniment(*ASKED, "--judge", "Does it name a city?").code == 1  # there is no model
    beyond = muniment("bisect", "--thread", "main", "--turn", "99", "--user", "ana", "--expect", "a")
    assert beyond.code == 4
    assert "`muniment sessions show` has its turns" in beyond.err
    assert muniment("bisect", "--thread", "main", "--turn", "5", "--user", "ben", "--expect", "a").code == 4


def test_every_member_has_its_source(muniment: Muniment) -> None:
    """The set, each with its source: a field of the profile, which is no memory, has that of its consent."""
    muniment("chat", "--user", "ana", said="My name is Ana.\n")
    (asked,) = muniment("consent", "list", "--user", "ana", "--json").json
    assert muniment("consent", "approve", asked["id"], "--user", "ana").code == 0
    muniment("chat", "--user", "ana", "--thread", "b", said="What is my name?\n")
    place = ("bisect", "--thread", "b", "--turn", "1", "--user", "ana", "--expect", "Ana")
    told = muniment(*place)
    assert "preferred_name: Ana" in told.out
    assert told.out.count("from user, main, turn 0") == 2
    sets = muniment(*place, "--json").json["sets"]
    assert [cause["sources"][0]["text"] for (cause,) in sets] == ["My name is Ana."] * 2
    assert {cause["id"] for (cause,) in sets} == {asked["memory"]}
