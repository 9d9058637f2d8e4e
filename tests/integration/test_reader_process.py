"""The process that reads long texts: it answers as a call would, comes back after its end, and outlives nobody."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from muniment.memory import bootstrap
from muniment.memory.errors import TooLarge
from muniment.memory.models.reader_process import READER, ReaderProcess
from muniment.memory.rules.extraction.turn_reader import TurnReader
from muniment.memory.rules.redaction.redact import Redactor
from tests.engine import engine, said, scope, settings

SECRET = "AKIA" + "IOSFODNN7EXAMPLE"
VERY_LONG = f"My sister Anna lives in Porto. The key is {SECRET}. " + "The weather is fine. " * 1_200


@pytest.fixture
def reader() -> Iterator[ReaderProcess]:
    """A reader of its own."""
    made = ReaderProcess()
    yield made
    made.close()


def test_it_leaves_the_processor_to_others(reader: ReaderProcess) -> None:
    """Its priority is lower than that of the process that asks."""
    own = os.getpriority(os.PRIO_PROCESS, 0)
    assert reader.call_function(os.getpriority, os.PRIO_PROCESS, 0) == min(own + 10, 19)


def end_once(mark: str) -> str:
    """End the process that calls it, unless there is the file already."""
    if not Path(mark).exists():
        Path(mark).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return "done"


def end_unless(pid: int) -> int:
    """End any process but this one."""
    if os.getpid() != pid:
        os.kill(os.getpid(), signal.SIGKILL)
    return pid


def print_word(word: str) -> str:
    """Print a word, which is no answer."""
    sys.stdout.write(word)
    return word


def test_it_answers_from_another_process(reader: ReaderProcess) -> None:
    pid = reader.call_function(os.getpid)
    assert pid == reader.pid != os.getpid()
    assert reader.call_function(os.getpid) == pid


def note_call() -> None:
    """Note that this process has called it."""
    sys.noted = os.getpid()  # type: ignore[attr-defined] # a place that only this process has


def find_note() -> int:
    """The id of the process that has called `note_call`, 0 where this one has not."""
    return int(getattr(sys, "noted", 0))


def test_each_process_loads_before_its_first_call(reader: ReaderProcess) -> None:
    reader.load_first(note_call)
    first = reader.call_function(find_note)
    assert first == reader.pid
    reader.close()
    assert first != reader.call_function(find_note) == reader.pid
    assert find_note() == 0


def test_it_raises_what_the_function_raises(reader: ReaderProcess) -> None:
    bound = settings("postgresql://nobody@localhost/none")
    turns = TurnReader(redactor=Redactor(bound.redact), limits=bound.limits, per_turn=8)
    with pytest.raises(TooLarge, match=r"100,001 characters"):
        reader.call_function(turns.sanitize_turn, said("a" * 100_001))
    assert reader.call_function(len, "abc") == 3


def test_what_is_printed_is_no_answer(reader: ReaderProcess, capfd: pytest.CaptureFixture[str]) -> None:
    assert reader.call_function(print_word, "word" * 10_000) == "word" * 10_000
    assert capfd.readouterr().out == ""


def test_a_killed_process_is_started_again(reader: ReaderProcess, tmp_path: Path) -> None:
    assert reader.call_function(end_once, str(tmp_path / "mark")) == "done"
    first = reader.pid
    assert first is not None
    os.kill(first, signal.SIGKILL)
    assert reader.call_function(os.getpid) not in {first, os.getpid()}


def test_where_no_process_lives_the_function_is_called_here(
    reader: ReaderProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert reader.call_function(end_unless, os.getpid()) == os.getpid()
    reader.close()
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    assert reader.call_function(os.getpid) == os.getpid()


def test_it_ends_when_nothing_comes() -> None:
    idle = ReaderProcess(idle_seconds=0.05)
    first = idle.call_function(os.getpid)
    deadline = time.monotonic() + 10
    while Path(f"/proc/{first}/cmdline").read_bytes():  # empty once it has ended and nobody has asked how
        assert time.monotonic() < deadline
        time.sleep(0.02)
    assert idle.call_function(len, "abc") == 3
    idle.close()


def test_a_fork_has_a_reader_of_its_own(reader: ReaderProcess) -> None:
    parents = reader.call_function(os.getpid)
    read, write = os.pipe()
    if (child := os.fork()) == 0:
        os.write(write, str(reader.call_function(os.getpid)).encode())
        reader.close()
        os._exit(0)
    os.waitpid(child, 0)
    assert int(os.read(read, 20)) not in {parents, os.getpid(), child}
    os.close(read)
    os.close(write)
    assert reader.call_function(os.getpid) == parents


def test_calls_of_many_threads_get_their_own_answers(reader: ReaderProcess) -> None:
    with ThreadPoolExecutor(8) as pool:
        texts = [str(n) * 30_000 for n in range(10, 60)]
        assert list(pool.map(lambda text: reader.call_function(str.upper, text), texts)) == texts


def test_a_script_without_a_guard_runs_once_and_leaves_no_process() -> None:
    script = (
        "import os\n"
        "from muniment.memory.models.reader_process import READER\n"
        "print('begin', flush=True)\n"
        "print(READER.call_function(os.getpid))\n"
    )
    done = subprocess.run([sys.executable, "-W", "error", "-c", script], capture_output=True, text=True, check=True)
    begin, pid = done.stdout.split()
    assert (begin, done.stderr) == ("begin", "")
    assert not Path(f"/proc/{pid}").exists()


async def test_a_very_long_text_is_read_by_it(database_url: str) -> None:
    ana, tuned = scope(), settings(database_url)
    tuned = tuned.model_copy(update={"limits": tuned.limits.model_copy(update={"reading_seconds": 60.0})})
    READER.close()
    async with engine(database_url, tuned=tuned) as memory:
        receipt = await memory.learn(ana, said(VERY_LONG))
        assert READER.pid is not None
        texts = [each.text for each in await memory.list(ana)]
        await memory.conversation.record(ana, [said(VERY_LONG)])
        redacted = await asyncio.to_thread(memory.conversation.redact, VERY_LONG)
    assert any("Anna" in text and text.startswith("The user's sister") for text in texts)
    assert receipt.rev > 0
    assert SECRET not in redacted
    assert SECRET not in bootstrap.make_redactor()(VERY_LONG)
    assert redacted.startswith("My sister Anna")


async def test_an_erasure_drops_what_it_has_cached(database_url: str) -> None:
    ana = scope()
    async with engine(database_url) as memory:
        await memory.learn(ana, said(VERY_LONG))
        before = READER.pid
        await memory.admin.erase_space(ana)
        assert before is not None
        assert READER.pid is None
