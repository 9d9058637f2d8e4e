"""Processes that write curated files and are killed: `python -m tests.curated.writer SCENE FOLDER`.

It forks, so that a hundred processes start in a second. What it has seen is one JSON value on standard output."""

import asyncio
import io
import json
import os
import random
import resource
import shutil
import signal
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

from muniment.agent.curated.calls import CuratedCall
from muniment.agent.curated.files import CuratedFiles
from muniment.memory.errors import CuratedFileError

FIXED = ["The build server is in Oslo.", "Releases are on Tuesdays.\nThe notes are in English. 🙂"]


def apply(files: CuratedFiles, **call: Any) -> Any:
    return asyncio.run(files.apply(CuratedCall(target="memory", **call)))


def warm_up(folder: Path) -> None:
    """Load what the first write loads, before anybody forks."""
    for name in ("one", "two"):
        apply(CuratedFiles(folder / name), action="add", content="tea")
        shutil.rmtree(folder / name)


def fork(work: Callable[[], None]) -> int:
    pid = os.fork()
    if pid == 0:
        try:
            work()
        finally:
            os._exit(9)
    return pid


def wait_for(pid: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def write_at_once(folder: Path) -> Any:
    """Eight processes add twelve entries each."""
    warm_up(folder)

    def work(number: int) -> None:
        for round_ in range(12):
            assert apply(CuratedFiles(folder), action="add", content=f"{number}-{round_:02}").is_changed
        os._exit(0)

    pids = [fork(partial(work, number)) for number in range(8)]
    return [wait_for(pid) for pid in pids]


def kill_at_each_step(folder: Path) -> Any:
    """A writer is killed before and after each call of the system, and each is followed by a write that succeeds."""
    path = folder / "MEMORY.md"
    old, new = "\n§\n".join(FIXED) + "\n", "\n§\n".join([*FIXED, "The office is in Bergen."]) + "\n"
    warm_up(folder)
    states, leftovers, failed, step = [], 0, 0, 0
    while True:
        path.write_text(old, encoding="utf-8")
        code = wait_for(fork(partial(_write_until, folder, step)))
        if code == 0:
            break
        found = path.read_text(encoding="utf-8")
        states.append("old" if found == old else "new" if found == new else found)
        leftovers += len([*folder.glob(".*.tmp")])
        call = CuratedCall(target="memory", action="add", content="After the kill.")
        failed += not CuratedFiles(folder)._apply(call).is_changed
        failed += len([*folder.glob(".*.tmp")])
        step += 1
    return {"states": states, "leftovers": leftovers, "failed": failed}


def _write_until(folder: Path, step: int) -> None:
    """Write, and be killed at the step of this number."""
    seen = 0

    def count(_: FrameType, event: str, function: Any) -> None:
        nonlocal seen
        is_file = isinstance(getattr(function, "__self__", None), io.IOBase)
        if event in {"c_call", "c_return"} and (is_file or getattr(function, "__module__", "") in {"posix", "fcntl"}):
            if seen == step:
                os.kill(os.getpid(), signal.SIGKILL)
            seen += 1

    files = CuratedFiles(folder)
    sys.setprofile(count)
    files._apply(CuratedCall(target="memory", action="add", content="The office is in Bergen."))
    sys.setprofile(None)
    os._exit(0)


def kill_at_random(folder: Path, times: int = 100) -> Any:
    """A writer that counts in an entry is killed up to five milliseconds after it has written; what the file has each
    time."""
    warm_up(folder)
    dice = random.Random(7)
    path = folder / "MEMORY.md"
    path.write_text("\n§\n".join([*FIXED, "count 0"]) + "\n", encoding="utf-8")
    found = []

    def work(tell: int) -> None:
        files = CuratedFiles(folder)
        number = int(path.read_text(encoding="utf-8").rpartition(" ")[2])
        while True:
            number += 1
            call = CuratedCall(target="memory", action="replace", old_text="count ", content=f"count {number}")
            files._apply(call)
            os.write(tell, b"!")

    for _ in range(times):
        written, tell = os.pipe()
        pid = fork(partial(work, tell))
        os.read(written, 1)
        time.sleep(dice.random() / 200)
        os.kill(pid, signal.SIGKILL)
        wait_for(pid)
        os.close(written)
        os.close(tell)
        found.append(path.read_text(encoding="utf-8"))
    apply(CuratedFiles(folder), action="replace", old_text="count ", content="count 0")
    return {"found": found, "left": sorted(each.name for each in folder.iterdir())}


def write_too_much(folder: Path) -> Any:
    """A process whose files may have no more than 64 bytes."""
    warm_up(folder)
    resource.setrlimit(resource.RLIMIT_FSIZE, (64, 64))
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    return _report(folder, content="x" * 100)


def write_as_stranger(folder: Path) -> Any:
    """A process that may read the folder and not write in it, also where this one is root's."""
    warm_up(folder)
    folder.chmod(0o555)
    if os.geteuid() == 0:
        os.setgid(65534)
        os.setuid(65534)
    return _report(folder, content="x")


def _report(folder: Path, content: str) -> Any:
    try:
        apply(CuratedFiles(folder), action="add", content=content)
    except CuratedFileError as error:
        snapshot = asyncio.run(CuratedFiles(folder).take_snapshot())
        return {"error": type(error).__name__, "message": str(error), "prompt": snapshot.prompt}
    return {}


SCENES = {
    scene.__name__: scene
    for scene in (write_at_once, kill_at_each_step, kill_at_random, write_too_much, write_as_stranger)
}

if __name__ == "__main__":
    sys.stdout.write(json.dumps(SCENES[sys.argv[1]](Path(sys.argv[2]))))
