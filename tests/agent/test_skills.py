"""Skills: Markdown files with a head, read whole at the start; what is wrong names the file and the field."""

from __future__ import annotations

from pathlib import Path

import pytest

from muniment.agent.skills import load_skills, parse_skill
from muniment.memory.errors import BadConfig

GOOD = "---\nname: deploy\ndescription: How a release\n  is deployed.\n---\nName the region first.\n"


def test_a_skill_is_read(tmp_path: Path) -> None:
    """In the order of names; line ends and a byte order mark do not matter, and other files are left alone."""
    (tmp_path / "b.md").write_bytes(b"\xef\xbb\xbf" + GOOD.replace("\n", "\r\n").encode())
    (tmp_path / "a.md").write_text(GOOD.replace("name: deploy", "name: write-2"))
    (tmp_path / "notes.txt").write_text("no skill")
    deploy, write = load_skills(tmp_path)
    assert (deploy.name, deploy.description, deploy.body) == (
        "deploy",
        "How a release is deployed.",
        "Name the region first.",
    )
    assert write.name == "write-2"
    assert "deploy" in deploy.message
    assert "Name the region first." in deploy.message


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("No head.", "begins without a head"),
        (GOOD.replace("deploy\n", "De ploy\n", 1), "name"),
        (GOOD.replace("name: deploy\n", ""), "name"),
        (GOOD.replace("name: deploy", "name: 7"), "name"),
        (GOOD.replace("How a release\n  is deployed.", "x" * 301), "description"),
        (GOOD.replace("description", "about"), "about"),
        ("---\nname: [\n---\nbody", "not YAML"),
        ("---\n- a\n---\nbody", "head has"),
        ("---\nname: deploy\ndescription: d\n---\n \n", "no instructions"),
    ],
)
def test_what_is_wrong_is_named(text: str, named: str) -> None:
    """The error has the file and the field."""
    with pytest.raises(BadConfig, match=named) as refused:
        parse_skill("a.md", text)
    assert "a.md" in str(refused.value)


def test_two_of_one_name_and_too_much(tmp_path: Path) -> None:
    """One name is one skill; a folder that is not there, a file that is too long or no text is refused."""
    with pytest.raises(BadConfig, match="cannot be read"):
        load_skills(tmp_path / "none")
    for name, content in (("b.md", GOOD.encode()), ("b.md", b"\xff"), ("b.md", b"a" * 64_001), ("b.md", b"---\x00")):
        (tmp_path / "a.md").write_text(GOOD)
        (tmp_path / name).write_bytes(content)
        with pytest.raises(BadConfig, match=name):
            load_skills(tmp_path)
