"""`import` of the archive that `export --archive` writes: checked as a whole, and never half."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.faces.conftest import Muniment

MB = 2**20
Members = dict[str, bytes]


def make_archive(muniment: Muniment, folder: Path) -> Path:
    for said in ("I live in Porto", "I live in Berlin now", "我对花生过敏"):
        assert muniment("remember", said, "--user", "ana").code == 0
    path = folder / "ana.zip"
    assert muniment("export", "--user", "ana", "--archive", str(path)).code == 0
    return path


def read_members(path: Path) -> Members:
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def pack(path: Path, members: Members) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


def test_an_archive_comes_back(muniment: Muniment, tmp_path: Path) -> None:
    """A round trip through the archive: recognized by itself, the same rows, again without a change, and what no import
    brings back is named."""
    path = make_archive(muniment, tmp_path)
    first = muniment("import", str(path), "--user", "twin")
    assert (first.code, first.out) == (0, "twin: 2 memories imported\n")
    assert first.err.startswith("not restored: records/")
    before = muniment("export", "--user", "twin").out
    assert before == muniment("export", "--user", "ana").out
    again = muniment("import", str(path), "--format", "jsonl", "--user", "twin", "--json").json
    assert (again["imported"], "records/events.jsonl" in again["not_restored"]) == (0, True)
    assert muniment("export", "--user", "twin").out == before
    other = muniment("import", str(path), "--format", "mem0", "--user", "third")
    assert other.code == 2
    assert muniment("list", "--user", "third").out == ""


def test_a_preview_of_an_archive_writes_nothing(muniment: Muniment, tmp_path: Path) -> None:
    """--dry-run checks the archive, and says what an import brings back and what not."""
    path = make_archive(muniment, tmp_path)
    rows = len(read_members(path)["export.jsonl"].splitlines())
    shown = muniment("import", str(path), "--user", "twin", "--dry-run", "--json").json
    assert (shown["format"], shown["rows"]) == ("archive", rows)
    assert f"{rows} rows, nothing is written" in muniment("import", str(path), "--user", "twin", "--dry-run").out
    assert muniment("list", "--user", "twin").out == ""
    assert muniment("import", str(path), "--only", "ana").code == 2


def change_manifest(members: Members, field: str, value: object) -> Members:
    manifest = json.loads(members["manifest.json"])
    manifest["files"][0][field] = value
    return {**members, "manifest.json": json.dumps(manifest).encode()}


DAMAGED: dict[str, tuple[Callable[[Members], Members], str]] = {
    "other words": (
        lambda all_: {**all_, "export.jsonl": all_["export.jsonl"].replace(b"Berlin", b"London")},
        "export.jsonl: is not what was written; its checksum differs",
    ),
    "a file that is gone": (
        lambda all_: {name: raw for name, raw in all_.items() if name != "export.jsonl"},
        "export.jsonl: is missing",
    ),
    "no list": (
        lambda all_: {name: raw for name, raw in all_.items() if name != "manifest.json"},
        "has no manifest.json",
    ),
    "a file more": (lambda all_: {**all_, "more.txt": b"x"}, "more.txt: is not in its list"),
    "a name that leads out": (lambda all_: {**all_, "../more.txt": b"x"}, "its name leads out of the archive"),
    "a bomb": (lambda all_: {**all_, "export.jsonl": b" " * (65 * MB)}, "is packed more than 200 times"),
    "a size that is a word": (lambda all_: change_manifest(all_, "bytes", "many"), "the list of the files"),
    "a size that lies": (lambda all_: change_manifest(all_, "bytes", 2**60), "its checksum differs"),
    "a name that is a number": (lambda all_: change_manifest(all_, "name", 7), "the list of the files"),
    "rows that are words": (lambda all_: change_manifest(all_, "rows", "many"), "the list of the files"),
}


def test_a_damaged_archive_imports_nothing(muniment: Muniment, tmp_path: Path) -> None:
    """A damaged or lying archive is an error that names the file, and nothing of it is imported."""
    members = read_members(make_archive(muniment, tmp_path))
    for name, (damage, wanted) in DAMAGED.items():
        refused = muniment("import", str(pack(tmp_path / "bad.zip", damage(members))), "--user", "twin")
        assert (refused.code, refused.out) == (2, ""), name
        assert refused.err.startswith("muniment: error: ")
        assert wanted in refused.err, (name, refused.err)
    whole = (tmp_path / "ana.zip").read_bytes()
    (tmp_path / "cut.zip").write_bytes(whole[: len(whole) // 2])
    assert muniment("import", str(tmp_path / "cut.zip"), "--user", "twin").code == 2
    assert muniment("list", "--user", "twin").out == ""


@pytest.mark.parametrize("names", [("manifest.json",), ("export.jsonl", "conversations.json")])
def test_an_archive_of_others_is_theirs(muniment: Muniment, tmp_path: Path, names: tuple[str, ...]) -> None:
    """One name of ours makes no archive of ours: what another program packs is read as what it is."""
    talk = {"uuid": "t", "created_at": "2024-01-01", "chat_messages": []}
    content = json.dumps([talk]).encode()
    packed = pack(tmp_path / "x.zip", {**dict.fromkeys(names, content), "conversations.json": content})
    said = muniment("import", str(packed)).err
    assert "has no record of Claude's export" in said
