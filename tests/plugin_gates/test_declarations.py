"""What a sentence lays down by its form, and what only tells of its speaker, of the past, or of work at hand."""

from __future__ import annotations

import pytest

from muniment.memory.config.settings import load_settings
from muniment.memory.domain.turn import Turn
from muniment.memory.rules.extraction.turn_reader import TurnReader
from muniment.memory.rules.redaction.redact import Redactor
from muniment.plugin.gates.write import WriteSignals, decide_write
from muniment.plugin.reading.finds import Find, read_finds
from tests.engine import NOON

SETTINGS = load_settings({"HOME": "/nonexistent"})
READER = TurnReader(redactor=Redactor(SETTINGS.redact), limits=SETTINGS.limits, per_turn=SETTINGS.write.per_turn)


def list_written(said: str) -> list[Find]:
    """The finds of a message that pass the write gate."""
    turn = Turn.make(session="one", key="1", role="user", text=said, at=NOON)
    gates = SETTINGS.plugin.gates
    return [
        find
        for find in read_finds(turn, (), READER, SETTINGS).finds
        if decide_write(
            find.candidate,
            WriteSignals(said=find.said, is_requested=find.is_requested, is_standing=find.is_standing),
            gates,
        ).allowed
    ]


@pytest.mark.parametrize(
    "said",
    [
        "I was so tired of the meeting.",
        "I am so tired of the meeting.",
        "The meeting was so boring.",
        "The demo was a disaster.",
        "It was raining all day.",
        "That took me three weeks lol",
        "Please refactor the checkout page.",
    ],
)
def test_a_state_and_a_piece_of_work_are_no_rule(said: str) -> None:
    """P-58, P-61: how somebody is, how something was, what somebody did, and what is asked for once."""
    assert list_written(said) == []


@pytest.mark.parametrize(
    "said",
    [
        "product name is Tallyho, one word, capital T",
        "ids are ulids not uuids",
        "our api was renamed to v2",
        "we moved ci to github actions",
        "patient ids never in filenames or plots",
    ],
)
def test_what_holds_is_kept_though_something_was_done(said: str) -> None:
    """P-58: what a thing is called since, and what a team has changed, lasts."""
    assert len(list_written(said)) == 1


@pytest.mark.parametrize(
    "said",
    [
        "We used to run everything on Heroku.",
        "Back then every release needed three signatures.",
        "从前我们都用 Jenkins 部署。",
        "I heard all endpoints need a version in theory.",
    ],
)
def test_what_was_and_hearsay_are_not_kept(said: str) -> None:
    """P-61: what the engine's rules of work take for not said, the plugin does not write."""
    assert list_written(said) == []


@pytest.mark.parametrize("said", ["Our integration tests are slow.", "Our staging server is broken."])
def test_how_a_thing_is_is_no_rule(said: str) -> None:
    """P-61: what a thing is called for good is a name or a kind; how it is may change by tomorrow."""
    assert [find.type for find in list_written(said) if find.type == "rule"] == []


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("Everybody uses ruff here.", "use ruff"),
        ("In our codebase we deploy Helm charts.", "deploy Helm charts"),
        ("Our primary database is Postgres.", "primary database is Postgres"),
        ("from today on use uv", "use uv"),
        ("从下个月起统一用 pnpm。", "pnpm"),
    ],
)
def test_what_a_team_works_with_is_kept(said: str, told: str) -> None:
    """P-58: a practice by any verb of using, a name that a thing has for good, and any day from which it holds."""
    (find,) = list_written(said)
    assert told in find.content
