"""`muniment stats plugin`, `plugin status` and `plugin replay`, over files and a database of the test's own."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from muniment.memory.bootstrap.plugin_accounts import open_plugin_accounts
from muniment.memory.config.settings import load_settings
from muniment.memory.errors import BadInput
from muniment.plugin.book.engine_book import EngineBook
from muniment.plugin.book.file_book import FileBook
from muniment.plugin.domain.book import TurnReport
from muniment.plugin.domain.item import ItemOwner
from muniment.plugin.ports import PluginBook
from muniment.plugin.replay.recording import parse_recording
from tests.conftest import alone
from tests.faces.conftest import Muniment

POLICIES = "plugin:\n  policies:\n    tight: {tokens: 20, per_turn: 1}\n"
SAID = [
    ("a", "2026-11-10T09:00:00Z", "Always use pnpm in this project, never npm."),
    ("a", "2026-11-10T09:05:00Z", "We decided to use Postgres for the orders service."),
    ("a", "2026-11-10T09:06:00Z", "I prefer short answers."),
    ("b", "2026-11-11T09:00:00Z", "Please set up the package manager for the web app"),
    ("b", "2026-11-11T09:01:00Z", "thanks"),
]


async def _report(book: PluginBook) -> None:
    owner, at = ItemOwner(user="ana", session="s1"), datetime.now(UTC)
    for number, (policy, is_hit) in enumerate((("default", True), ("default", False), ("eager", None))):
        await book.record_turn(
            TurnReport(
                turn_id=f"t{number}",
                owner=owner,
                at=at,
                policy=policy,
                is_hit=is_hit,
                tokens=10,
                written=1,
                duplicates=1,
                refusals={"small talk": 2},
                remote_reads=1,
                queue_length=3,
                milliseconds={"local search": 4.0},
            )
        )
    await book.close()


def _check_stats(shown: Any) -> None:
    assert (shown["turns"], shown["recall"]) == (3, {"searched": 2, "hits": 1, "misses": 1})
    assert (shown["tokens_added"], shown["written"], shown["duplicate_share"]) == (30, 3, 0.5)
    assert (shown["refusals"], shown["remote_calls_per_100_turns"]) == ({"small talk": 6}, 100.0)
    assert (shown["queue_length"], shown["latency_ms"]) == (3, {"local search": {"median": 4.0, "p95": 4.0}})
    assert {name: each["turns"] for name, each in shown["policies"].items()} == {"default": 2, "eager": 1}


def test_the_numbers_of_a_file(muniment: Muniment, environment: dict[str, str]) -> None:
    """P-25, P-46, P-104: hits and misses, tokens, writes, the share known already, refusals by reason, latency,
    remote calls and the queue, as JSON and as tables; no database is asked."""
    away = {"MUNIMENT_DATABASE_URL": "postgresql://127.0.0.1:1/none"}
    assert "has seen no turn in 7 days" in muniment("stats", "plugin", **away).out
    alone(_report(FileBook(Path(environment["MUNIMENT_HOME"]) / "plugin-book.sqlite")))
    _check_stats(muniment("stats", "plugin", "--json", **away).json)
    assert muniment("stats", "plugin", "--user", "ben", "--json", **away).json["turns"] == 0
    table = muniment("stats", "plugin", **away).out
    assert "default\t2\t2\t1\t50%\t20\t2\t2\t50%\t2\t100.0\t3" in table
    assert "small talk\t6" in table
    status = muniment("plugin", "status", "--json", **away).json
    assert (status["enabled"], status["store"], status["turns_in_7_days"], status["queue_length"]) == (
        False, "local", 3, 3,
    )  # fmt: skip


def test_the_numbers_of_a_database(muniment: Muniment, environment: dict[str, str], tmp_path: Path) -> None:
    """P-46: with the store `engine` they are those of all hosts of the database."""
    file = tmp_path / "muniment.yaml"
    file.write_text("plugin: {store: engine}\n", encoding="utf-8")

    async def report() -> None:
        async with open_plugin_accounts(load_settings(environment)) as accounts:
            await _report(EngineBook(accounts))

    alone(report())
    _check_stats(muniment("stats", "plugin", "--json", MUNIMENT_CONFIG=str(file)).json)


def _record(folder: Path) -> str:
    file = folder / "sessions.jsonl"
    lines = [
        json.dumps({"session": session, "role": role, "text": text, "at": at, "user": "ana", "project": "web"})
        for session, at, said in SAID
        for role, text in (("user", said), ("assistant", "OK."))
    ]
    file.write_text("\n".join(lines), encoding="utf-8")
    return str(file)


@pytest.mark.timeout(120)
def test_two_policies_on_recorded_sessions(muniment: Muniment, tmp_path: Path) -> None:
    """P-33, P-104: side by side what each put before the model, what it cost, wrote and refused; nothing is kept, the
    same policy decides the same twice."""
    file, config = _record(tmp_path), tmp_path / "muniment.yaml"
    config.write_text(POLICIES, encoding="utf-8")
    command = ("plugin", "replay", file, "--policy", "default", "--policy", "tight", "--words")
    shown = muniment(*command, "--json", MUNIMENT_CONFIG=str(config)).json
    default, tight = shown["policies"]["default"], shown["policies"]["tight"]
    assert default["turns"] == tight["turns"] == 5
    assert default["tokens_added"] > tight["tokens_added"]
    assert default["written"] >= 2
    first = next(turn for turn in shown["turns"] if turn["session"] == "b")
    assert any("short answers" in item for item in first["policies"]["default"]["items"])
    assert first["differs"]
    thanks = shown["turns"][-1]["policies"]["default"]
    assert not thanks["recall"]
    assert (
        muniment(*command, "--json", MUNIMENT_CONFIG=str(config)).json["policies"]["default"]["written"]
        == (default["written"])
    )
    assert "turn 4, session b" in muniment(*command, MUNIMENT_CONFIG=str(config)).out
    assert not list(tmp_path.rglob("*.sqlite"))


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("{", "line 2: is no JSON"),
        ("[]", "line 2: is no object"),
        ('{"session": "a", "role": "user", "text": "x"}', "line 2: at is no time"),
        ('{"session": "a", "role": "bot", "text": "x", "at": "2026-11-10T09:00:00Z"}', "line 2: role is one of"),
        ('{"session": "a", "role": "user", "at": "2026-11-10T09:00:00Z"}', "line 2: text is missing"),
        ('{"session": 7, "role": "user", "text": "x", "at": "2026-11-10"}', "line 2: session is no text"),
        ('{"session": "a", "role": "user", "text": "x", "at": "2026-11-10", "secret": 1}', "line 2: unknown field"),
    ],
)
def test_a_recording_that_cannot_be_read(line: str, problem: str) -> None:
    """The line and the field are named, and no word of a person."""
    with pytest.raises(BadInput, match=problem):
        parse_recording(["", line])


def test_the_turns_of_a_recording() -> None:
    """Sessions that were recorded in turn are told apart; what a tool gave belongs to the turn before it."""
    lines = [
        '{"session": "a", "role": "user", "text": "one", "at": "2026-11-10T09:00:00"}',
        '{"session": "b", "role": "user", "text": "two", "at": "2026-11-10T09:00:01+00:00"}',
        '{"session": "a", "role": "tool", "text": "bad", "at": "2026-11-10T09:00:02", "name": "sh", "is_error": true}',
        '{"session": "a", "role": "assistant", "text": "done", "at": "2026-11-10T09:00:03Z"}',
        '{"session": "a", "role": "user", "text": "three", "at": "2026-11-10T09:00:04Z"}',
    ]
    first, second, third = parse_recording(lines)
    assert [each.message.text for each in first.followed] == ["bad", "done"]
    assert (first.followed[0].is_error, first.followed[0].message.name) == (True, "sh")
    assert (second.identity.session, second.earlier, second.followed) == ("b", (), ())
    assert [message.text for message in third.earlier] == ["one", "bad", "done"]


def test_a_policy_that_is_not_there(muniment: Muniment, tmp_path: Path) -> None:
    """It is named before anything is run, and a policy twice is refused."""
    file = _record(tmp_path)
    assert "has no 'fnord'" in muniment("plugin", "replay", file, "--policy", "fnord").err
    twice = muniment("plugin", "replay", file, "--policy", "default", "--policy", "default")
    assert (twice.code, "given twice" in twice.err) == (2, True)
