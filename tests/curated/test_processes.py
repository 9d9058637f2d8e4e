"""Several processes, killed processes, full disks and folders that cannot be written."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from muniment.agent.curated.calls import CuratedCall
from muniment.agent.curated.entries import find_entries
from muniment.agent.curated.files import CuratedFiles
from muniment.memory.errors import CuratedFileError

ROOT = Path(__file__).parents[2]


def run_scene(scene: str, folder: Path) -> Any:
    command = [sys.executable, "-m", "tests.curated.writer", scene, str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=55, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def read_texts(path: Path) -> list[str]:
    return [entry.text for entry in find_entries(path.read_text(encoding="utf-8"))]


def test_eight_processes_at_once(tmp_path: Path) -> None:
    """Each entry that eight processes add at once is there once and whole."""
    assert run_scene("write_at_once", tmp_path) == [0] * 8
    texts = read_texts(tmp_path / "MEMORY.md")
    assert sorted(texts) == [f"{number}-{round_:02}" for number in range(8) for round_ in range(12)]


def test_killed_at_each_step(quick_folder: Path) -> None:
    """A writer that is killed before or after any call of the system leaves the old file or the new one."""
    seen = run_scene("kill_at_each_step", quick_folder)
    assert set(seen["states"]) == {"old", "new"}
    assert len(seen["states"]) > 80
    assert seen["leftovers"] > 0  # some were killed with their draft on the disk
    assert seen["failed"] == 0  # and the next write has removed it


def test_killed_at_random(quick_folder: Path) -> None:
    """A writer that is killed at any of a hundred moments leaves a whole file."""
    seen = run_scene("kill_at_random", quick_folder)
    assert len(seen["found"]) == 100
    counts = [int(text.removesuffix("\n").rpartition("\n§\ncount ")[2]) for text in seen["found"]]
    assert counts == sorted(counts)
    assert counts[-1] >= 100
    heads = {text.rpartition("count ")[0] for text in seen["found"]}
    assert heads == {"The build server is in Oslo.\n§\nReleases are on Tuesdays.\nThe notes are in English. 🙂\n§\n"}
    assert seen["left"] == [".MEMORY.md.lock", "MEMORY.md"]


def test_files_of_limited_size(tmp_path: Path) -> None:
    """Where the system takes no more bytes, the error is typed and the file is as it was."""
    (tmp_path / "MEMORY.md").write_bytes(b"tea\r\n")
    seen = run_scene("write_too_much", tmp_path)
    assert seen["error"] == "CuratedFileError"
    assert seen["message"] == "MEMORY.md: cannot be written (File too large)"
    assert (tmp_path / "MEMORY.md").read_bytes() == b"tea\r\n"
    assert sorted(each.name for each in tmp_path.iterdir()) == [".MEMORY.md.lock", "MEMORY.md"]


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 64 kB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(command, check=False, capture_output=True).returncode:
        pytest.skip("only an account that may mount has a disk to fill; test_files_of_limited_size needs none")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def fill_disk(filler: Path) -> None:
    with filler.open("wb", buffering=0) as file:
        while file.write(b"x" * 4096):
            pass


async def test_full_disk(small_disk: Path) -> None:
    """On a full disk the error is typed and both files are as they were; with room again the same call succeeds."""
    files = CuratedFiles(small_disk)
    call = CuratedCall(target="memory", action="add", content="tea")
    await files.apply(CuratedCall(target="memory", action="add", content="coffee"))
    before = (small_disk / "MEMORY.md").read_bytes()
    filler = small_disk / "filler"
    with pytest.raises(OSError, match="No space"):
        fill_disk(filler)
    with pytest.raises(CuratedFileError, match=r"MEMORY.md: cannot be written \(No space left on device\)"):
        await files.apply(call)
    assert (small_disk / "MEMORY.md").read_bytes() == before
    assert not [*small_disk.glob(".*.tmp")]
    filler.unlink()
    assert (await files.apply(call)).entries == ("coffee", "tea")


@contextmanager
def open_folder() -> Iterator[Path]:
    """A folder that every account of this machine may enter."""
    folder = Path(tempfile.mkdtemp(prefix="muniment-curated-test-"))
    try:
        folder.chmod(0o755)
        yield folder
    finally:
        folder.chmod(0o755)
        shutil.rmtree(folder)


def test_read_only_folder() -> None:
    """In a folder that may only be read, the error is typed, the file is as it was, and the prompt has it."""
    with open_folder() as folder:
        (folder / "MEMORY.md").write_text("tea", encoding="utf-8")
        (folder / "MEMORY.md").chmod(0o644)
        seen = run_scene("write_as_stranger", folder)
        assert seen["error"] == "CuratedFileError"
        assert seen["message"] == "MEMORY.md: cannot be written (Permission denied)"
        assert "tea" in seen["prompt"]
        assert (folder / "MEMORY.md").read_text(encoding="utf-8") == "tea"
