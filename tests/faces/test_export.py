"""`export` in its formats and as an archive, and `dossier`, from the command line."""

import json
from pathlib import Path

import jsonschema_rs
import pytest

from tests.faces.conftest import Muniment


def test_formats_and_archive(muniment: Muniment, tmp_path: Path) -> None:
    """Each format into a file and to standard output; an archive that is checked, and found out when it was changed."""
    for text in ("I live in Porto", "I am allergic to nuts"):
        assert muniment("remember", text, "--user", "ana").code == 0
    for layout in ("jsonl", "markdown", "mem0", "langgraph-store"):
        file = tmp_path / layout
        assert muniment("export", "--user", "ana", "--format", layout, str(file), "--json").json["format"] == layout
        assert "Porto" in file.read_text()
        if layout != "markdown":  # which says when it was written
            assert muniment("export", "--user", "ana", "--format", layout).out == file.read_text()
    archive = tmp_path / "ana.zip"
    files = muniment("export", "--user", "ana", "--archive", str(archive), "--json").json["files"]
    assert "export.jsonl" in {each["name"] for each in files}
    assert muniment("export", "--check", str(archive), "--json").json["files"] == files
    assert archive.stat().st_mode & 0o077 == 0
    whole = archive.read_bytes()
    archive.write_bytes(whole.replace(b"memories.md", b"memories.mx"))
    assert muniment("export", "--check", str(archive)).code == 2
    archive.write_bytes(whole)
    assert muniment("export", "--user", "ana", "--archive", str(tmp_path / "none" / "x.zip")).code == 2
    assert muniment("export", "--format", "mem0", "--content").code == 2
    assert muniment("export", "--archive", str(archive), "--format", "mem0").code == 2
    assert archive.read_bytes() == whole


@pytest.mark.parametrize(("layout", "ending"), [("markdown", "md"), ("mem0", "json"), ("langgraph-store", "jsonl")])
def test_what_was_exported_is_imported(muniment: Muniment, tmp_path: Path, layout: str, ending: str) -> None:
    """A round trip through each format that others read: the same memories, each once, and again without a change."""
    texts = (
        "The boat in the harbour is called *Ada*",
        "1. first the oars, 2. then the sails",
        "Łódź & <b>tea</b> at five",
    )
    for text in texts:
        assert muniment("remember", text, "--user", "ana").code == 0
    file = tmp_path / f"ana.{ending}"
    assert muniment("export", "--user", "ana", "--format", layout, str(file)).code == 0
    kept = {row["text"] for row in muniment("export", "--user", "ana").lines if row["type"] == "memory"}
    for _ in range(2):
        assert muniment("import", str(file), "--format", layout, "--user", "twin").code == 0
        rows = [row["text"] for row in muniment("export", "--user", "twin").lines if row["type"] == "memory"]
        assert sorted(rows) == sorted(kept)


def test_the_schema_is_printed(muniment: Muniment) -> None:
    """The published schema is the one by which what this program writes is valid."""
    muniment("remember", "I live in Porto", "--user", "ana")
    validator = jsonschema_rs.validator_for(json.loads(muniment("export", "--schema").out))
    lines = muniment("export", "--user", "ana").lines
    assert lines
    assert all(validator.is_valid(line) for line in lines)


def test_a_dossier_in_each_form(muniment: Muniment, tmp_path: Path) -> None:
    """The name of the file says the form; another name is no form, and an old file stays after an error."""
    muniment("remember", "I live in Porto", "--user", "ana")
    page, pdf, rows = (tmp_path / f"ana.{form}" for form in ("html", "pdf", "json"))
    for file in (page, pdf, rows):
        told = muniment("dossier", "--user", "ana", "--out", str(file), "--language", "zh", "--json").json
        drawn = {"not_drawn": 0, "not_joined": 0, "letters": ""}
        assert told == {"user": "ana", "file": str(file), "bytes": file.stat().st_size, **drawn}
    assert "关于ana的全部信息" in page.read_text()
    assert json.loads(rows.read_text())["person"]["user"] == "ana"
    before = pdf.read_bytes()
    font = tmp_path / "no.ttf"
    font.write_text("no font")
    refused = muniment("dossier", "--user", "ana", "--out", str(pdf), "--font", str(font))
    assert (refused.code, "TrueType" in refused.err) == (2, True)
    assert pdf.read_bytes() == before
    assert muniment("dossier", "--user", "ana", "--out", str(tmp_path / "ana.txt")).code == 2
    assert muniment("dossier", "--user", "ana", "--out", str(page), "--font", str(font)).code == 2
    assert sorted(each.name for each in tmp_path.iterdir() if each.name.startswith(".ana")) == []
