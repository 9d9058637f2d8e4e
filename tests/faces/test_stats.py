"""`muniment stats`: what was done, what changed and when, and what it cost."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from pathlib import Path

from muniment.memory.config.settings import Settings
from muniment.memory.domain.ids import Revision
from muniment.memory.domain.plan import ExtractionRecord, WritePlan
from muniment.memory.ports.llm import ChatAnswer, ChatMessage
from muniment.testing.fakes import FixedClock, ScriptedChat
from tests.engine import engine, said, scope, settings
from tests.faces.conftest import Muniment

STORY = "Hi, call me Ana. I am lactose intolerant."
LIMITED = "spend:\n  daily_tokens: 1000\n  daily_money: 2.0\n  prices: {mini: {input: 1000.0, output: 0.0}}\n"


def configured(folder: Path) -> str:
    path = folder / "muniment.yaml"
    path.write_text(LIMITED, encoding="utf-8")
    return str(path)


async def lived(url: str, tuned: Settings | None = None) -> None:
    """Two turns learned, a greeting skipped, a search, and one look of a model at a turn that cost 300 tokens."""
    clock = FixedClock(datetime.now(UTC))
    async with engine(url, clock=clock, tuned=tuned) as memory:
        who = scope("me")
        await memory.learn(who, said(STORY))
        await memory.learn(who, said("Hello!"))
        await memory.learn(who, said("I'm training for the Lisbon marathon."))
        await memory.brief(who, "supervisor", "When is the marathon?")
        answer = ChatAnswer(
            message=ChatMessage(role="assistant", content="{}"), model="mini", input_tokens=300, output_tokens=0
        )
        asked = [ChatMessage(role="user", content="x")]
        await memory.engine.usage_meter.ask_model(who, "extract", asked, model=ScriptedChat([answer], name="mini"))
        rev = Revision((await memory.read_status(who))["rev"])
        looked = ExtractionRecord(
            turn=said("x").id,
            source="model",
            found=10,
            repaired=("quotes",),
            refused=("relative date", "more than 3 a turn"),
        )
        await memory.engine.store.writes.commit(
            WritePlan(scope=who, expected_rev=rev, node="worker", at=clock.now(), extracted=looked)
        )


def test_operations_are_counted_by_day_and_node(muniment: Muniment, database_url: str) -> None:
    """Skips and searches from the events, creations from the journal, and the latest change first."""
    asyncio.run(lived(database_url))
    shown = muniment("stats", "--json").json
    counted = {(one["node"], one["op"], one["status"]): one["count"] for one in shown["operations"]}
    assert counted == {
        ("hotpath", "classify", "ok"): 2,
        ("hotpath", "classify", "skipped"): 1,
        ("hotpath", "search", "skipped"): 1,
        ("hotpath", "search", "ok"): 1,
        ("hotpath", "create", "ok"): 3,
        ("context", "search", "ok"): 1,
    }
    assert [one["action"] for one in shown["changes"]] == ["ADD"] * 3
    assert "marathon" in shown["changes"][0]["text"]
    plain = muniment("stats")
    assert plain.code == 0
    assert "hotpath\tcreate\tok\t3" in plain.out
    assert "marathon" in plain.out


def test_extraction_is_counted_with_its_reasons(muniment: Muniment, database_url: str) -> None:
    """Repairs and refusals by reason; what was right at once leaves out what has nothing to do with the form."""
    asyncio.run(lived(database_url))
    found = muniment("stats", "--json").json["extraction"]["model"]
    assert (found["turns"], found["found"], found["first_pass"]) == (1, 10, 0.8)
    assert found["repaired"] == {"quotes": 1}
    assert found["refused"] == {"relative date": 1, "more than 3 a turn": 1}
    assert "model\t1\t10\t0\t1\t2\t80.0%" in muniment("stats").out


def test_an_empty_memory_has_done_nothing(muniment: Muniment) -> None:
    """One sentence, and empty lists for programs."""
    assert muniment("stats", "--user", "nobody").out.startswith("Nothing has been done in the memory of 'nobody'")
    shown = muniment("stats", "--json").json
    assert (shown["operations"], shown["extraction"], shown["changes"]) == ([], {}, [])
    assert muniment("stats", "spend").out.startswith("No model has been asked since")


def test_spend_shows_what_is_left_and_what_a_fact_cost(muniment: Muniment, database_url: str, tmp_path: Path) -> None:
    """300 of 1,000 tokens, at 1,000 a million 0.30 of 2.00; without a fact there is no price of one."""
    config = configured(tmp_path)
    tuned = settings(database_url, MUNIMENT_CONFIG=config)
    asyncio.run(lived(database_url, tuned))
    shown = muniment("stats", "spend", "--json", MUNIMENT_CONFIG=config).json
    (line,) = shown["lines"]
    assert (line["purpose"], line["model"], line["requests"], line["input_tokens"]) == ("extract", "mini", 1, 300)
    assert (line["money"], shown["left"]) == (0.3, {"tokens": 700, "money": 1.7})
    assert shown["per_fact"] == {"facts": 0, "tokens": None, "money": None}
    plain = muniment("stats", "spend", MUNIMENT_CONFIG=config).out
    assert "extract\tmini\t1\t300\t0\t0.3000" in plain
    assert "left today           700 tokens, 1.7000 USD" in plain
    assert "the model has written none" in plain


def test_bad_days(muniment: Muniment) -> None:
    """Refused as usage."""
    assert muniment("stats", "--days", "0").code == 2
    assert muniment("stats", "spend", "--days", "x").code == 2
