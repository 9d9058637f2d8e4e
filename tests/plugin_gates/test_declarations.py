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
