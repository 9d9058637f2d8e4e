"""The benchmark of what a turn costs, at a small size: what it counts is exact, what it times is not looked at."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import plugin_turn
from benchmarks.plugin_hosts import make_context, open_slow
from muniment.chain import TurnOutput, build_answer
from muniment.memory.config.settings import Settings
from tests import engine

WAYS = ("words", "vectors", "remote")
_WRITE_SECONDS = 1.0


@pytest.fixture
def settings(database_url: str) -> Settings:
    return engine.settings(database_url)


@pytest.mark.timeout(120)
async def test_what_a_turn_costs_is_counted(settings: Settings) -> None:
    """A turn at which the gate says no asks neither store nor embedder, and no reply waits for a write."""
    found = await plugin_turn.measure(settings, items=60, sessions=2, slow_turns=3, slow_seconds=_WRITE_SECONDS)
    for way in WAYS:
        searched, refused = found["searched"][way], found["refused"][way]
        assert (searched["turns"], refused["turns"]) == (4, 6), (way, found["kinds"][way])
        assert searched["shown"] == 4, (way, searched)
        assert searched["calls"] >= 4, (way, searched)
        assert refused["calls"] == 0, (way, refused)
    assert max(found["slow"]["most_ms"].values()) < 1_000 * _WRITE_SECONDS
    bound = found["bound"]
    assert (bound["turns"], bound["waiting"], bound["dropped"]) == (9, bound["bound"], 9 - bound["bound"])


async def test_a_reply_is_there_before_its_write(settings: Settings, tmp_path: Path) -> None:
    """What a slow store writes behind a reply is written in the end."""

    async def answer(context: object) -> TurnOutput:
        return build_answer("Noted.", turn.at)

    turn = make_context("s", "t", "We decided to use Kafka for the billing service.")
    async with open_slow(settings, tmp_path / "slow.sqlite", 0.3, lambda _: None) as host:
        assert (await host.run_turn(turn, answer)).text == "Noted."
        assert await host.drain(0) == 1
        assert await host.drain(10) == 0
