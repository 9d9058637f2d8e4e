"""Several processes on one local file, and processes that are killed.

MUNIMENT_TEST_PLUGIN_SECONDS is how long two processes write: 3, or 60 for the long run. MUNIMENT_TEST_PLUGIN_KILLS is
how many processes are killed at random times: 6, or 20. MUNIMENT_TEST_PLUGIN_POINTS is at how many statements one is
killed: 4, or 60; MUNIMENT_TEST_SYNC_KILLS is the same for a host that sends."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sqlite3
import subprocess
import sys
from collections import Counter
from datetime import timedelta
from pathlib import Path
from random import Random

import pytest

from muniment.plugin.domain.item import CompactPolicy
from muniment.plugin.stores.local.store import LocalStore
from tests.kill_points import choose_points
from tests.plugin_stores.items import ANA, START, ask, everything, make_id, make_item

SECONDS = float(os.environ.get("MUNIMENT_TEST_PLUGIN_SECONDS", "3"))
KILLS = int(os.environ.get("MUNIMENT_TEST_PLUGIN_KILLS", "6"))
POINTS = int(os.environ.get("MUNIMENT_TEST_PLUGIN_POINTS", "4"))
ROOT = Path(__file__).parents[2]
# Writes without end, and says of each item that it is written once the store has said so. Every tenth is forgotten,
# every twentieth time the file is compacted.
WRITER = """
import asyncio, pathlib, sys, time
from muniment.plugin.domain.item import CompactPolicy
from muniment.plugin.stores.local.store import LocalStore
from tests.plugin_stores.items import ANA, START, ask, make_id, make_item

async def main(path, first, seconds):
    store, end, number = LocalStore(pathlib.Path(path)), time.monotonic() + seconds, first
    while time.monotonic() < end:
        number += 1
        item = make_item(f"Statement number {number} is about servers.", id=make_id(number))
        [stored] = await store.upsert([item])
        print("+", number, stored.outcome, flush=True)
        if number % 10 == 0:
            await store.forget(ANA, [item.id])
            print("-", number, "forgotten", flush=True)
        if number % 20 == 0:
            await store.compact(ANA, CompactPolicy(at=START))
        if number % 7 == 0:
            await store.search(ask(f"statement {number}"))
    await store.close()

asyncio.run(main(sys.argv[1], int(sys.argv[2]), float(sys.argv[3])))
"""


def _start_writer(path: Path, first: int, seconds: float) -> subprocess.Popen[str]:
    arguments = [sys.executable, "-c", WRITER, str(path), str(first), str(seconds)]
    return subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


async def _check(path: Path, lines: list[str]) -> None:
    """What was said to be written is there once, and what was said to be forgotten is not."""
    said = [line.split() for line in lines if line.count(" ") == 2]
    written = {int(number) for sign, number, _ in said if sign == "+"}
    forgotten = {int(number) for sign, number, _ in said if sign == "-"}
    store = LocalStore(path)
    items = await store.list(everything())
    assert not store.status.put_aside
    there = Counter(int(item.content.split()[2]) for item in items)
    assert set(there.values()) <= {1}
    # One that was being forgotten at the end may be gone before it is said.
    assert written - forgotten - {number for number in written if number % 10 == 0} <= set(there)
    assert not forgotten & set(there)
    for number in list(there)[:5]:
        hits = await store.search(ask(f"statement number {number}"))
        assert hits
        assert hits[0].item.content.split()[2] == str(number)
    assert (await store.compact(ANA, CompactPolicy(at=START))).kept == len(there)
    await store.close()
    with sqlite3.connect(path) as connection:
        connection.execute("insert into word (word, rank) values ('integrity-check', 1)")
        assert connection.execute("pragma integrity_check").fetchone() == ("ok",)


@pytest.mark.timeout(SECONDS + 120)
async def test_two_processes_on_one_file(tmp_path: Path) -> None:
    """P-117: nothing that was acknowledged is lost or there twice."""
    path = tmp_path / "plugin.sqlite"
    writers = [_start_writer(path, first, SECONDS) for first in (0, 1_000_000)]
    outputs = [await asyncio.to_thread(writer.communicate) for writer in writers]
    assert [writer.returncode for writer in writers] == [0, 0], [errors for _, errors in outputs]
    lines = [line for output, _ in outputs for line in output.splitlines()]
    assert all(any(line.startswith("+ 1000") == is_second for line in lines) for is_second in (True, False))
    await _check(path, lines)


@pytest.mark.timeout(KILLS * 10 + 120)
async def test_a_killed_process_loses_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    """At random points of writing, forgetting and compacting."""
    path, random, lines = tmp_path / "plugin.sqlite", Random(7), list[str]()
    for number in range(KILLS):
        writer = _start_writer(path, number * 100_000, 60)
        assert writer.stdout is not None
        first = await asyncio.to_thread(writer.stdout.readline)
        await asyncio.sleep(random.uniform(0, 0.4))
        writer.send_signal(signal.SIGKILL)
        rest, _ = await asyncio.to_thread(writer.communicate)
        lines += [first.strip(), *rest.splitlines()]
    assert len(lines) > KILLS
    await _check(path, lines)


async def _run_killed(path: Path, last: int) -> tuple[int, list[list[str]], str]:
    """The exit code of a process that is killed at a statement, what it said was done, and its last line."""
    command = [sys.executable, "-m", "tests.plugin_stores.killed", str(path), str(last)]
    ran = await asyncio.to_thread(subprocess.run, command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert ran.returncode in (0, -signal.SIGKILL), ran.stderr
    lines = ran.stdout.splitlines()
    return ran.returncode, [line.split() for line in lines if line.count(" ") == 1], (lines or [""])[-1]


@pytest.mark.timeout(POINTS * 20 + 120)
async def test_a_process_that_is_killed_at_a_statement_loses_nothing(tmp_path: Path) -> None:
    """P-92, P-117: at each different statement of writing, pinning, forgetting and compacting."""
    _, said, labels = await _run_killed(tmp_path / "whole.sqlite", -1)
    steps = json.loads(labels)
    assert len(set(steps)) > 60
    for last in choose_points(steps, POINTS):
        path = tmp_path / f"{last}.sqlite"
        code, said, _ = await _run_killed(path, last)
        assert code == -signal.SIGKILL, (last, steps[last - 1])
        await _check_killed(path, said, steps[last - 1])


async def _check_killed(path: Path, said: list[list[str]], statement: str) -> None:
    """What was said to be done is done, once; the file is whole, and is written and compacted again."""
    numbers = {
        word: {int(number) for each, number in said if each == word}
        for word in ("written", "pinned", "forgetting", "forgotten")
    }
    store = LocalStore(path)
    items = {int(item.content.split()[2]): item for item in await store.list(everything())}
    assert not store.status.put_aside, statement
    assert len(items) == len(await store.list(everything())), statement
    assert numbers["written"] - numbers["forgetting"] <= set(items), statement
    assert not numbers["forgotten"] & set(items), statement
    assert all(items[number].pinned for number in numbers["pinned"] - numbers["forgetting"]), statement
    [stored] = await store.upsert([make_item("Statement number 999 is about servers.", id=make_id(999))])
    assert stored.outcome == "added"
    policy = CompactPolicy(at=START + timedelta(days=60), forgotten_days=0, max_items=None)
    assert (await store.compact(ANA, policy)).kept == 1 + len([n for n in items if n % 4])
    await store.close()
    with sqlite3.connect(path) as connection:
        connection.execute("insert into word (word, rank) values ('integrity-check', 1)")
        assert connection.execute("pragma integrity_check").fetchone() == ("ok",)
