"""`muniment check`: what it leaves, its options and reports, another configuration, and what it costs."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from time import perf_counter
from xml.etree import ElementTree as ET

import psycopg
import pytest
from psycopg import sql

from muniment.faces.check.bench import TENANT, Bench, open_bench
from muniment.faces.check.reading import read_check_file
from muniment.faces.check.runner import run_case, run_cases
from muniment.memory.domain.query import Query
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import Turn
from tests.checking import FAILS, HOLDS, TURNS, make_case, write
from tests.engine import settings
from tests.faces.conftest import Muniment


def count_rows(database_url: str) -> dict[str, int]:
    """The rows of each table, read by a superuser."""
    with psycopg.connect(database_url) as conn:
        tables = conn.execute(
            "select table_name from information_schema.tables"
            " where table_schema = 'muniment' and table_type = 'BASE TABLE'"
        ).fetchall()
        counts = {}
        for (table,) in tables:
            row = conn.execute(sql.SQL("select count(*) from muniment.{}").format(sql.Identifier(table))).fetchone()
            assert row is not None
            counts[table] = row[0]
        return counts


def test_nothing_is_left(muniment: Muniment, tmp_path: Path, database_url: str) -> None:
    """A case leaves nothing in the database but the receipt of its erasure, whatever ends it."""
    muniment("remember", "I like sailing")
    before = count_rows(database_url)
    unreadable = make_case([{"query": "x", "agent": "nobody", "silent": True}], "unreadable")
    outcome = muniment("check", write(tmp_path, make_case(HOLDS), unreadable), "--json")
    assert outcome.code == 1
    (refused, *_) = outcome.json["cases"][1]["assertions"]
    assert refused["found"].startswith("BadInput: agent: unknown 'nobody'; allowed: ")
    after = count_rows(database_url)
    assert after.pop("erasures") == before.pop("erasures") + 2
    assert after == before


def test_leftovers_are_erased(muniment: Muniment, tmp_path: Path, database_url: str) -> None:
    """`--clean` erases what a run of a former day left that was killed, and nothing else."""
    muniment("remember", "I like sailing", MUNIMENT_TENANT=f"{TENANT}2026-01-01")
    muniment("remember", "I like sailing", MUNIMENT_TENANT="check-in")
    assert muniment("check", "--clean").err == "muniment: 1 space of former runs erased\n"
    assert muniment("check", "--clean").err == "muniment: 0 spaces of former runs erased\n"
    assert len(muniment("list", "--json", MUNIMENT_TENANT="check-in").json["memories"]) == 1


def test_selection_and_refusals(muniment: Muniment, tmp_path: Path) -> None:
    """`-k` runs the cases with a part in their names; what is not right is refused before anything is opened, with the
    exit code of bad input, a database that is away with its own."""
    one, two = make_case([{"remembers": "x"}], "One"), make_case([{"ignores": "x"}], "Two", turns=[{"user": "Hello"}])
    file = write(tmp_path, one, two)
    assert [case["name"] for case in muniment("check", file, "-k", "two", "--json").json["cases"]] == ["Two"]
    away = {"MUNIMENT_DATABASE_URL": "postgresql://nobody@127.0.0.1:1/none"}
    for arguments in (
        (),
        (file, "-k", "three"),
        (str(tmp_path / "none.yaml"),),
        (file, "--junit", str(tmp_path / "no" / "report.xml")),
        (file, "--against", "weather=rain"),
        (file, "--against", "model=a", "--against", "model=b"),
        (file, "--against", f"prompts={tmp_path / 'none'}"),
    ):
        assert muniment("check", *arguments, **away).code == 2, arguments
    assert muniment("check", file, **away).code == 6
    schema = muniment("check", "--schema")
    assert (schema.code, json.loads(schema.out)["properties"]["muniment_check"]["const"]) == (0, 1)


def test_junit(muniment: Muniment, tmp_path: Path) -> None:
    """The report of JUnit has a suite for each case and a test case for each assertion, in the shape that CI systems
    read: their attributes, counts that add up, at most one failure each, and no character that XML cannot have."""
    report = tmp_path / "report.xml"
    odd = make_case([{"remembers": "a\x1bb\x0c", "name": "odd \x07 name"}], "odd \x1b case", turns=[{"user": "Hello"}])
    broken = make_case([{"query": "x", "agent": "nobody", "silent": True}], "broken")
    file = write(tmp_path, make_case([*HOLDS, FAILS[0][0]]), odd, broken)
    assert muniment("check", file, "--junit", str(report)).code == 1
    root = ET.parse(report).getroot()
    assert root.tag == "testsuites"
    assert (root.get("tests"), root.get("failures"), root.get("errors")) == (str(len(HOLDS) + 3), "2", "1")
    required = {
        "testsuite": {"name", "tests", "failures", "errors", "skipped", "time", "timestamp", "hostname"},
        "testcase": {"classname", "name", "time"},
        "failure": {"message", "type"},
        "error": {"message", "type"},
    }
    for suite in root:
        assert suite.tag == "testsuite"
        assert suite.get("tests") == str(len(suite))
        for kind in ("failure", "error"):
            assert suite.get(f"{kind}s") == str(len(suite.findall(f"testcase/{kind}")))
        for element in suite.iter():
            assert set(element.attrib) == required[element.tag]
            assert "time" not in element.attrib or float(element.attrib["time"]) >= 0
        for test in suite:
            assert (test.tag, len(test) <= 1) == ("testcase", True)
    failure = root.find("testsuite/testcase/failure")
    assert failure is not None
    assert str(failure.get("message")).startswith("no active memory has it; nearest: ")
    assert str(failure.text).startswith(f"{file}:")


def test_against(muniment: Muniment, tmp_path: Path, database_url: str) -> None:
    """Another configuration, embedder or prompt is tried on the same cases: what passes in one alone is listed, and the
    exit code is that of the own configuration."""
    strict = tmp_path / "strict.yaml"
    strict.write_text("recall: {top_k: 1}\n", encoding="utf-8")
    asked = {"query": "*", "has": ["sailing", "peanuts"]}
    file = write(tmp_path, make_case([asked, {"remembers": "sailing"}], turns=TURNS[:3]))
    outcome = muniment("check", file, "--against", f"config={strict}", "--json")
    (difference,) = outcome.json["differences"]
    assert (outcome.code, difference["own"], difference["other"]) == (0, "passed", "failed")
    assert difference["assertion"] == 'query "*": has'
    assert outcome.json["against"]["failed"] == 1
    said = muniment("check", file, "--against", f"config={strict}").out
    assert 'passed\tfailed\ttold\tquery "*": has\tlacks "peanuts": kept, and not in the answer: ' in said
    assert (
        "The same assertions pass in both."
        in muniment("check", file, "--against", "embedder=bge-small-en-v1.5-int8").out
    )


async def test_another_embedder_is_that_of_the_space(database_url: str, tmp_path: Path) -> None:
    """The scratch spaces of another embedder have its vectors, beside a database that has its own."""
    file = read_check_file(Path(write(tmp_path, make_case([{"query": "Where?", "silent": False}], turns=TURNS[:1]))))
    own = settings(database_url)
    async with open_bench(own, "bge-small-en-v1.5-int8") as bench:
        scope = bench.make_scratch_scope(7, file.content.cases[0])
        await bench.memory.remember(scope, "I like sailing")
        with psycopg.connect(database_url) as conn:
            models = conn.execute("select distinct embedding_model from muniment.memories").fetchall()
        assert models == [("bge-small-en-v1.5-int8",)]
        await bench.memory.admin.erase_space(scope)
        assert (await run_case(bench, file, 0)).outcome == "passed"


@pytest.mark.timeout(120)
async def test_200_assertions_cost_little_more_than_their_calls(database_url: str, tmp_path: Path) -> None:
    """200 assertions take at most 1.5 times as long as the calls themselves."""
    expect = [
        {"query": f"Where does the user live? {n}", "has": "Porto", "lacks": "Rome"}
        if n % 2
        else {"remembers": "Porto"}
        for n in range(20)
    ]
    file = read_check_file(Path(write(tmp_path, *(make_case(expect, f"case {n}", turns=TURNS[:5]) for n in range(10)))))
    async with open_bench(settings(database_url)) as bench:
        await run_case(bench, file, 0)  # what is loaded once is none of either
        best = 99.0
        for _ in range(3):
            began = perf_counter()
            results = await run_cases(bench, file)
            whole = perf_counter() - began
            assert sum(len(case.assertions) for case in results) == 200
            assert all(case.outcome == "passed" for case in results)
            best = min(best, whole / await time_calls(bench))
    assert best <= 1.5


async def time_calls(bench: Bench) -> float:
    """The seconds that the calls of these cases take which a program would make itself: learning, recording, questions
    and one list for each case, and the removal of the space."""
    began = perf_counter()
    memory = bench.memory
    for number in range(10):
        scope = Scope(tenant=bench.tenant, owner=f"plain/{number}", session="check", thread="check")
        said: list[Turn] = []
        for n, turn in enumerate(TURNS[:5]):
            now = memory.now()
            made = Turn.make(session="check", key=str(n), role="user", text=str(turn["user"]), at=now, thread="check")
            await memory.learn(scope, made, previous=said)
            await memory.conversation.record(scope, [made])
            said.append(made)
        await memory.list(scope)
        for n in range(1, 20, 2):
            await memory.query(scope, "supervisor", Query(text=f"Where does the user live? {n}", top_k=8))
        await memory.admin.erase_space(scope)
    return perf_counter() - began


async def test_an_interrupted_case_is_erased(database_url: str, tmp_path: Path) -> None:
    """A case that is cancelled, as by Ctrl-C, erases its space all the same."""
    file = read_check_file(Path(write(tmp_path, make_case([{"query": "x", "silent": True, "repeat": 100_000}]))))
    async with open_bench(settings(database_url)) as bench:
        running = asyncio.create_task(run_case(bench, file, 0))
        while not count_rows(database_url)["memories"]:
            await asyncio.sleep(0.05)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
    counts = count_rows(database_url)
    assert (counts["memories"], counts["turns"], counts["spaces"]) == (0, 0, 0)
