"""Check files: what is valid by the published schema and by the reader, and errors that name line and field."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path
from time import perf_counter
from typing import Any

import jsonschema_rs
import pytest
import yaml

from muniment.faces.check.file_format import EXPECTATIONS, build_schema
from muniment.faces.check.reading import find_check_files, read_check_file
from muniment.memory.errors import BadInput

ROOT = Path(__file__).parents[2]
SCHEMA = files("muniment.faces.check") / "check.schema.json"
START = "muniment_check: 1\ncases:\n  - name: a\n    expect:\n"
WHOLE = """
muniment_check: 1
name: n
agent: planner
cases:
  - name: a
    now: 2026-05-01
    project: p
    given:
      memories: [The user sails, {text: x, category: goals, event_time: 2026-01-01}]
      turns:
        - {user: hi, at: 2026-04-01T10:00:00Z, session: s}
        - assistant: yes?
        - maintain: true
    expect:
      - ignores: {any: [a, b]}
      - quarantines: a
      - forgets: a
      - asks_consent: a
"""
VALID = [
    START + "      - remembers: Porto\n",
    START + "      - remembers: {contains: Porto, category: profile}\n        times: 2\n",
    START + "      - supersedes: {was: Lisbon, by: {exact: Porto}}\n",
    START + "      - query: where?\n        has: [Porto, {pattern: '*a*', position: 1}]\n        lacks: Lisbon\n",
    START + "      - query: '*'\n        silent: true\n        as_of: 3\n        filters: {pinned: true}\n",
    START + "      - query: x\n        denied: true\n        as_of: 2026-05-01\n",
    START + "      - budget: {calls: 0, cost: 0.5, query_p95_ms: 20}\n",
    WHOLE,
    "muniment_check: 1\ncases:\n  - name: a\n    given: {space: {user: a, as_of: 12}}\n    expect: [{remembers: a}]\n",
]
# The text -> the line and a part of the complaint.
INVALID = {
    "": (1, "muniment_check: is missing"),
    "[]": (1, "a list of 0"),
    "muniment_check: 2\ncases: []\n": (1, "muniment_check: is another version"),
    "muniment_check: 1\ncases: []\n": (2, "cases: is a list of 0"),
    "muniment_check: 1\ncase: []\n": (2, "did you mean cases?"),
    START + "      - rememberz: x\n": (5, "did you mean remembers?"),
    START + "      - remembers: x\n        time: 2\n": (6, "did you mean times?"),
    START + "      - remembers: 3\n": (5, "remembers: allowed: a text"),
    START + "      - remembers:\n          contain: x\n": (6, "did you mean contains?"),
    START + "      - remembers: {contains: a, exact: b}\n": (5, "has 2 of"),
    START + "      - query: x\n": (5, "asserts nothing"),
    START + "      - query: x\n        has: a\n        silent: true\n": (5, "contradict"),
    START + "      - query: x\n        has: a\n        denied: true\n": (5, "denied"),
    START + "      - query: x\n        lacks: a\n        as_of: soon\n": (7, "not an ISO date"),
    START + "      - query: x\n        has: {contains: a, position: 0}\n": (6, "at least 1"),
    START + "      - budget: {}\n": (5, "limits nothing"),
    START + "      - budget: {calls: -1}\n": (5, "at least 0"),
    START + "      - remembers: a\n  - name: a\n    expect: [{remembers: a}]\n": (
        1,
        "cases 1 and 2 have the same name",
    ),
    "muniment_check: 1\ncases:\n  - name: a\n    given:\n      space: {user: ana}\n      turns:\n        - user: x\n"
    "    expect: [{remembers: a}]\n": (4, "space is only read"),
    "muniment_check: 1\ncases:\n  - name: a\n    given:\n      turns:\n        - {user: x, assistant: y}\n"
    "    expect: [{remembers: a}]\n": (6, "allowed: one of user, assistant, maintain"),
    "muniment_check: 1\ncases:\n  - name: a\n    now: 2026-01-01\n    given:\n      turns:\n"
    "        - {user: x, at: 2026-02-01}\n    expect: [{remembers: a}]\n": (3, "now is before"),
    "muniment_check: 1\ncases:\n  - name: a\n    name: b\n": (4, "comes twice"),
}
BOMB = "\n".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" if n else "a0: &a0 [x]" for n in range(12))


def write(tmp_path: Path, text: str | bytes) -> Path:
    file = tmp_path / "a.memory.yaml"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return file


def to_json(text: str) -> Any:
    """The file as an editor sees it, which takes dates for texts."""
    return json.loads(json.dumps(yaml.safe_load(text), default=str))


def test_schema_is_published() -> None:
    """The schema in the package is that of the format; `make` has no step that would write it anew."""
    assert json.loads(SCHEMA.read_text(encoding="utf-8")) == build_schema()


@pytest.mark.parametrize("text", VALID)
def test_valid(text: str, tmp_path: Path) -> None:
    """What the reader takes is valid by the published schema."""
    assert read_check_file(write(tmp_path, text)).content.cases
    jsonschema_rs.validator_for(build_schema()).validate(to_json(text))


def test_each_assertion_is_tried() -> None:
    """The valid files have every kind of assertion."""
    kinds = {
        kind
        for text in VALID
        for case in yaml.safe_load(text)["cases"]
        for each in case["expect"]
        for kind in EXPECTATIONS
        if kind in each
    }
    assert kinds == set(EXPECTATIONS)


@pytest.mark.parametrize("text", INVALID)
def test_invalid(text: str, tmp_path: Path) -> None:
    """A file that is not right is refused by one line that names the file, the line and the field."""
    line, part = INVALID[text]
    file = write(tmp_path, text)
    with pytest.raises(BadInput) as caught:
        read_check_file(file)
    assert str(caught.value).startswith(f"{file}, line {line}: ")
    assert part in str(caught.value)
    assert caught.value.data["line"] == line


@pytest.mark.parametrize(
    "text",
    [
        BOMB,
        START + "      - remembers: !!python/object/apply:os.system ['true']\n",
        START + "      - remembers: !own x\n",
        "a: " + "[" * 100_000,
        b"muniment_check: \xff\xfe",
        "muniment_check: 1\ncases: &c [*c]\n",
        b"#" * 1_000_001,
        b"\x00" * 1_000,
    ],
    ids=["bomb", "python", "tag", "nested", "bytes", "loop", "long", "zeros"],
)
def test_hostile(text: str | bytes, tmp_path: Path) -> None:
    """Aliases, tags, brackets without end, bytes that are no text, and what is too long are refused at once."""
    began = perf_counter()
    with pytest.raises(BadInput):
        read_check_file(write(tmp_path, text))
    assert perf_counter() - began < 5


def test_a_long_file_is_not_read(tmp_path: Path) -> None:
    """Of a file of 100 MB a megabyte is read."""
    file = tmp_path / "a.memory.yaml"
    with file.open("wb") as stream:
        stream.truncate(100_000_000)
    began = perf_counter()
    with pytest.raises(BadInput, match="longer than 1,000,000 bytes"):
        read_check_file(file)
    assert perf_counter() - began < 1


def test_files_of_a_folder(tmp_path: Path) -> None:
    """A folder stands for the check files in it and below; one without any is refused, and so is a file that is not
    there."""
    (tmp_path / "below").mkdir()
    for name in ("b.memory.yaml", "below/a.memory.yaml", "c.yaml"):
        (tmp_path / name).write_text("")
    found = [path.relative_to(tmp_path).as_posix() for path in find_check_files([tmp_path])]
    assert found == ["b.memory.yaml", "below/a.memory.yaml"]
    (tmp_path / "empty").mkdir()
    with pytest.raises(BadInput, match="has no file"):
        [*find_check_files([tmp_path / "empty"])]
    with pytest.raises(BadInput, match="cannot be read"):
        read_check_file(tmp_path / "nowhere.memory.yaml")


def test_examples_are_valid() -> None:
    """The check files that we ship are valid by the reader and by the schema."""
    found = [*find_check_files([ROOT / "examples/memory-check"])]
    assert found
    for file in found:
        assert read_check_file(file).content.cases
        jsonschema_rs.validator_for(build_schema()).validate(to_json(file.read_text(encoding="utf-8")))
