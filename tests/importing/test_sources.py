"""Files, folders and archives of an import: read as streams, within bounds, and nothing outside of them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from muniment.faces.importing import json_records
from muniment.faces.importing.json_records import probe_layout, read_records
from muniment.faces.importing.sources import open_source
from muniment.faces.transfer import zip_entries
from muniment.memory.errors import BadInput, TooLarge
from tests.importing.formats import FIXTURES, read_all

MB = 2**20


def make_archive(path: Path, files: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, raw in files.items():
            archive.writestr(name, raw)
    return path


def test_an_archive_is_its_files(tmp_path: Path) -> None:
    """An export that is still packed gives the same records as the folder."""
    folder = FIXTURES / "chatgpt/2026"
    packed = make_archive(tmp_path / "export.zip", {one.name: one.read_bytes() for one in folder.iterdir()})
    assert read_all(packed) == read_all(folder)


@pytest.mark.parametrize("name", ["../conversations.json", "/etc/conversations.json", "a/../../b.json", "C:\\x.json"])
def test_a_name_that_leads_out(tmp_path: Path, name: str) -> None:
    """An archive whose names lead out of it is refused."""
    with pytest.raises(BadInput, match="leads out"):
        read_all(make_archive(tmp_path / "x.zip", {name: b"[]"}))


def test_a_bomb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that is packed more than any text, and one of more bytes than an archive may have, are refused."""
    bomb = make_archive(tmp_path / "bomb.zip", {"conversations.json": b"[" + b" " * (65 * MB)})
    with pytest.raises(TooLarge, match="packed more than"):
        read_all(bomb)
    monkeypatch.setattr(zip_entries, "_MAX_UNPACKED", MB)
    with pytest.raises(TooLarge, match="unpacked"):
        read_all(bomb)


def test_a_damaged_archive(tmp_path: Path) -> None:
    """It is said which file of it is damaged."""
    packed = make_archive(tmp_path / "x.zip", {"memories.json": os.urandom(100_000)})
    raw = bytearray(packed.read_bytes())
    raw[200:300] = b"x" * 100
    packed.write_bytes(raw)
    with pytest.raises(BadInput, match=r"memories\.json: is damaged"):
        read_all(packed, "mem0")


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    """A link in a folder may lead to what is no part of it."""
    (tmp_path / "outside.md").write_text("- a private note of somebody\n")
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "in.md").write_text("- a note\n")
    (folder / "link.md").symlink_to(tmp_path / "outside.md")
    assert [one.place for one in read_all(folder)] == ["in.md, block 1"]


def test_a_record_that_is_too_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One record is bounded, as it is in memory whole."""
    monkeypatch.setattr(json_records, "MAX_RECORD_BYTES", MB)
    file = tmp_path / "x.json"
    file.write_text(json.dumps([{"id": "a", "memory": "x" * 2 * MB}]))
    with pytest.raises(TooLarge, match="record 1"):
        read_all(file, "mem0")


def test_lists_objects_and_lines(tmp_path: Path) -> None:
    """A file may be a list, an object with a list, or lines; a mark of its encoding is no part of it."""
    for raw, field in (
        (b'[{"a": 1}]', None),
        (b'{"x": {"y": []}, "r": [{"a": 1}]}', "r"),
        (b'\xef\xbb\xbf{"a": 1}\n', None),
    ):
        file = tmp_path / "x.json"
        file.write_bytes(raw)
        with open_source(str(file)) as files:
            assert list(read_records(files, "x.json", field)) == [(1, {"a": 1})]
            assert probe_layout(files, "x.json").kind in ("list", "object")
    file.write_bytes("[]".encode("utf-16"))
    with pytest.raises(BadInput, match="UTF-16"):
        read_all(file, "mem0")


def test_an_error_quotes_nothing(tmp_path: Path) -> None:
    """The error of a file that is no JSON says where, and none of its words."""
    file = tmp_path / "x.json"
    file.write_text('[{"id": "a", "memory": "a private matter"}, {"id": "b", "memory": "a private thing" oops}]')
    with pytest.raises(BadInput) as raised:
        read_all(file, "mem0")
    assert "record 2" in str(raised.value)
    assert "private" not in str(raised.value)


_READ = """
import resource, sys
from pathlib import Path
from tests.importing.formats import read_all
from muniment.faces.importing.spool import RecordSpool
from muniment.faces.importing.formats import ImportFiles, choose_format
from muniment.faces.importing.registry import FORMATS
from muniment.faces.importing.sources import open_source
from tests.importing.formats import NOW
read_all(Path(sys.argv[2]), sys.argv[3])
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
with open_source(sys.argv[1]) as files, RecordSpool() as spool:
    source = ImportFiles(files, NOW)
    spool.take_records(choose_format(FORMATS, source, None).read(source))
    count = sum(len(batch.memories) + len(batch.messages) for batch in spool.read_batches())
print(count, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""


def write_large(path: Path, kind: str) -> int:
    """Write a file of 100 MB; return how many memories and messages it has."""
    folder = {"chatgpt": "chatgpt/2026/conversations.json", "mem0": "mem0/v1.0/memories.json"}
    sample = json.loads((FIXTURES / folder.get(kind, "graphiti/facts/facts.json")).read_text())
    count, number = 0, 0
    with path.open("w") as file:
        file.write("[" if kind != "graphiti" else '{"facts": [')
        while file.tell() < 100 * MB:
            number += 1
            one = dict(sample[0] if kind != "graphiti" else sample["facts"][1])
            if kind == "chatgpt":
                one["conversation_id"] = f"c-{number}"
                one["mapping"] = json.loads(json.dumps(one["mapping"]).replace("Noted.", "Noted. " + "word " * 2_000))
            else:
                one["id" if kind == "mem0" else "uuid"] = f"m-{number}"
                one["memory" if kind == "mem0" else "fact"] = f"note {number} " + "word " * 200
            count += 7 if kind == "chatgpt" else 1
            file.write(("" if number == 1 else ",") + json.dumps(one))
        file.write("]" if kind != "graphiti" else "]}")
    return count


@pytest.mark.timeout(300)
@pytest.mark.parametrize("kind", ["chatgpt", "graphiti"])  # a list with trees, and a list below a field
def test_a_file_of_100_mb_in_bounded_memory(tmp_path: Path, kind: str) -> None:
    """Every importer reads a file of 100 MB in bounded memory: the records wait on disk."""
    file = tmp_path / "large.json"
    count = write_large(file, kind)
    small = {"chatgpt": "chatgpt/2026", "mem0": "mem0/v1.0", "graphiti": "graphiti/facts"}[kind]
    done = subprocess.run(
        [sys.executable, "-c", _READ, str(file), str(FIXTURES / small), kind],
        capture_output=True,
        text=True,
        check=True,
        timeout=280,
        cwd=FIXTURES.parents[2],
    )
    read, grown_mb = map(int, done.stdout.split())
    assert read == count
    assert grown_mb < 40, grown_mb
