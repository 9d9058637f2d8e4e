"""The book in a file: what is written at once, what waits, and what becomes of it."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from time import perf_counter

import pytest

from muniment.memory.errors import BadInput, StoreDown
from muniment.plugin.book.buffer import TurnBuffer
from muniment.plugin.book.file_book import FileBook, find_book_file
from muniment.plugin.book.tally import find_percentile, tally_turns
from muniment.plugin.domain.book import AuditLine, TurnReport
from tests.plugin_commands.host import ANA, AT

REPORT = TurnReport(
    turn_id="t1",
    owner=ANA,
    at=AT,
    policy="eager",
    recall=True,
    recall_reason="topic change",
    is_hit=True,
    item_ids=("4f2a91bc-0000-4000-8000-000000000001",),
    tokens=40,
    written=2,
    duplicates=1,
    refusals={"near duplicate": 1},
    remote_reads=1,
    remote_writes=2,
    queue_length=3,
    milliseconds={"local search": 1.5},
)


async def test_a_report_is_read_back_as_it_was(tmp_path: Path) -> None:
    """P-46: also after a restart; the later report of a turn takes the place of the former."""
    path = find_book_file(tmp_path / "plugin.sqlite")
    assert path.name == "plugin-book.sqlite"
    book = FileBook(path)
    await book.record_turn(REPORT)
    await book.record_turn(replace(REPORT, turn_id="t0", at=AT - timedelta(seconds=1), is_hit=None))
    await book.record_turn(replace(REPORT, written=5))
    await book.close()
    book = FileBook(path)
    assert await book.read_last_turn(ANA) == replace(REPORT, written=5)
    assert await book.read_last_turn(replace(ANA, user="ben")) is None
    assert await book.count_writes(replace(ANA, session="s2"), AT) == 5
    assert await book.count_writes(ANA, AT + timedelta(seconds=1)) == 0
    await book.close()


async def test_a_turn_waits_for_no_write(tmp_path: Path) -> None:
    """P-48: a report is taken at once while another program holds the file, and is there when it lets go."""
    book = FileBook(tmp_path / "book.sqlite")
    await book.write_switch(ANA, is_on=True)
    with sqlite3.connect(tmp_path / "book.sqlite", isolation_level=None) as other:
        other.execute("begin immediate")
        began = perf_counter()
        for number in range(100):
            await book.record_turn(replace(REPORT, turn_id=f"t{number}"))
        assert perf_counter() - began < 0.1
        await asyncio.sleep(0.7)
        other.execute("rollback")
    other.close()
    assert (await book.read_stats("default", "ana", AT)).turns == 100
    await book.close()


async def test_old_reports_and_lines_go(tmp_path: Path) -> None:
    """What is older than its days is removed by a later report; a switch stays."""
    book = FileBook(tmp_path / "book.sqlite", days=30)
    await book.write_switch(ANA, is_on=False)
    await book.record_audit(AuditLine(owner=ANA, at=AT, action="off"))
    await book.record_turn(REPORT)
    await book.record_turn(replace(REPORT, turn_id="t2", at=AT + timedelta(days=29)))
    assert (await book.read_stats("default", None, AT)).turns == 2
    await book.record_turn(replace(REPORT, turn_id="t3", at=AT + timedelta(days=31)))
    assert (await book.read_stats("default", None, AT)).turns == 2
    assert await book.read_audit(ANA) == []
    assert not await book.read_switch(ANA)
    await book.close()


async def test_a_switch_that_cannot_be_read_is_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """P-110: a session that is off does not come on because the file cannot be read; of an unknown one it is said."""
    book = FileBook(tmp_path / "book.sqlite")
    await book.write_switch(ANA, is_on=False)

    async def fail(*_: object) -> None:
        raise StoreDown

    monkeypatch.setattr(book._database, "read", fail)
    assert not await book.read_switch(ANA)
    with pytest.raises(StoreDown):
        await book.read_switch(replace(ANA, session="s2"))
    assert await book.read_switch(replace(ANA, session=None))
    with pytest.raises(BadInput, match="session"):
        await book.write_switch(replace(ANA, session=None), is_on=False)
    monkeypatch.undo()
    await book.close()


async def test_the_buffer_is_bounded(caplog: pytest.LogCaptureFixture) -> None:
    """While nothing can be written the newest thousand wait, in order; how many were dropped is said once."""
    written: list[TurnReport] = []
    is_down = True

    async def write(reports: Sequence[TurnReport]) -> None:
        if is_down:
            raise StoreDown
        written.extend(reports)

    buffer = TurnBuffer(write)
    for number in range(1_500):
        buffer.add(replace(REPORT, tokens=number))
        if number % 700 == 0:
            with pytest.raises(StoreDown):
                await buffer.flush()
    is_down = False
    await buffer.flush()
    await buffer.close()
    assert [report.tokens for report in written] == list(range(500, 1_500))
    assert caplog.text.count("500 reports of turns were dropped") == 1


async def test_what_cannot_be_written_at_the_end_is_said(caplog: pytest.LogCaptureFixture) -> None:
    """A host ends all the same."""

    async def write(_: Sequence[TurnReport]) -> None:
        raise StoreDown

    buffer = TurnBuffer(write)
    buffer.add(REPORT)
    await buffer.close()
    assert "1 reports of turns are lost: StoreDown" in caplog.text


def test_a_book_outlives_an_event_loop(tmp_path: Path) -> None:
    """A host that runs one loop after another loses no report by that."""
    book = FileBook(tmp_path / "book.sqlite")

    def run(number: int) -> int:
        async def work() -> int:
            await book.record_turn(replace(REPORT, turn_id=f"t{number}"))
            return (await book.read_stats("default", "ana", AT)).turns if number == 2 else 0

        with asyncio.Runner() as runner:
            return runner.run(work())

    assert [run(number) for number in range(3)] == [0, 0, 3]
    with asyncio.Runner() as runner:
        runner.run(book.close())


def test_nothing_counted_has_no_shares() -> None:
    """Shares of nothing are None, not 0; a percentile lies between two values in proportion."""
    stats = tally_turns([])
    assert (stats.hit_share, stats.duplicate_share, stats.remote_calls_per_100_turns) == (None, None, None)
    assert find_percentile([1.0], 0.95) == 1.0
    assert find_percentile([0.0, 10.0], 0.5) == 5.0
    assert tally_turns([REPORT]).policies["eager"].remote_calls_per_100_turns == 300.0
