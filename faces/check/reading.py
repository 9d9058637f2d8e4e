"""Reads a check file, and says of what is wrong where it is."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from muniment.faces.check.file_format import (
    EXPECTATIONS,
    Case,
    CheckContent,
    Given,
    GivenSpace,
    Limits,
    Step,
    Succession,
)
from muniment.faces.check.words import CheckPart, FoundWords
from muniment.memory.config.refusals import describe_refusal
from muniment.memory.config.yaml_file import KeyPath, build_refusal as build_file_refusal, parse_yaml, suggest_name
from muniment.memory.errors import BadConfig, BadInput

_MAX_BYTES = 1_000_000
_MAX_EXPORT_BYTES = 200_000_000
_PARTS: dict[str, type[CheckPart]] = {
    "cases": Case,
    "expect": CheckPart,  # which, its tag says
    "given": Given,
    "turns": Step,
    "space": GivenSpace,
    "supersedes": Succession,
    "budget": Limits,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckFile:
    """A check file as it was read, with the lines of its parts."""

    path: Path
    content: CheckContent
    lines: dict[KeyPath, int]

    def find_line(self, case: int, expectation: int | None = None) -> int:
        """Return the line on which a case begins, or an expectation of it; both are counted from 0."""
        path: KeyPath = ("cases", case) if expectation is None else ("cases", case, "expect", expectation)
        return self.lines.get(path, 1)

    def build_refusal(self, path: KeyPath, problem: str) -> BadInput:
        """Return the error that names the file, the line and the key of a problem."""
        known = next((path[:size] for size in range(len(path), 0, -1) if path[:size] in self.lines), ())
        return _convert_error(build_file_refusal(str(self.path), self.lines.get(known, 1), path, problem))


def read_check_file(path: Path) -> CheckFile:
    """Return a check file. Raises BadInput that names the file, the line and the key, for what is no check file and for
    what is longer than a megabyte; aliases and tags of YAML are refused."""
    raw = _read_bytes(path, _MAX_BYTES)
    try:
        yaml = parse_yaml(str(path), raw)
    except BadConfig as error:
        raise _convert_error(error) from None
    try:
        content = CheckContent.model_validate(yaml.tree)
    except ValidationError as error:
        empty = CheckFile(path=path, content=CheckContent.model_construct(), lines=yaml.lines)
        raise empty.build_refusal(*_describe_problem(error)) from None
    return CheckFile(path=path, content=content, lines=yaml.lines)


def read_export(check: CheckFile, case: int, name: str) -> list[dict[str, Any]]:
    """Return the rows of an export that a case names, a path beside the check file.

    Raises BadInput for a file that cannot be read or has a line that is no JSON object."""
    place: KeyPath = ("cases", case, "given", "export")
    try:
        raw = _read_bytes(check.path.parent / name, _MAX_EXPORT_BYTES)
    except BadInput as error:
        raise check.build_refusal(place, str(error)) from None
    rows = []
    for number, line in enumerate(raw.splitlines(), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            raise check.build_refusal(place, f"line {number} of that file is not JSON") from None
        if not isinstance(row, dict):
            raise check.build_refusal(place, f"line {number} of that file is not a JSON object")
        rows.append(row)
    return rows


def find_check_files(given: Iterable[Path]) -> Iterator[Path]:
    """Yield the files, and of a folder all `*.memory.yaml` in it and below, in the order of their names.

    Raises BadInput for a folder without one."""
    for path in given:
        if not path.is_dir():
            yield path
            continue
        found = sorted(path.rglob("*.memory.yaml"))
        if not found:
            raise BadInput(f"{path}: has no file *.memory.yaml")
        yield from found


def _read_bytes(path: Path, limit: int) -> bytes:
    """The content of a file of at most so many bytes, of which no more is read."""
    try:
        with path.open("rb") as stream:
            content = stream.read(limit + 1)
    except OSError as error:
        raise BadInput(f"{path}: cannot be read ({error.strerror})", file=str(path)) from None
    if len(content) > limit:
        raise BadInput(f"{path}: is longer than {limit:,} bytes", file=str(path))
    return content


def _describe_problem(errors: ValidationError) -> tuple[KeyPath, str]:
    """The path of the first value that is wrong, as the file has it, and the problem."""
    first, *others = errors.errors(include_url=False)
    path, problem = describe_refusal(errors, _list_siblings)
    strays = [each["loc"] for each in others if each["type"] == "extra_forbidden" and each["loc"][:-1] == path[:-1]]
    if first["type"] == "missing" and strays:  # a key that is not written right is missing, too
        path, problem = strays[0], f"unknown key{suggest_name(strays[0][-1], _list_siblings(strays[0]))}"
    own_path = tuple(part for part in path if not _is_tag(part))
    if first["type"] == "value_error":
        problem = str(first["ctx"]["error"])
    elif first["type"] == "union_tag_not_found":
        given = first["input"]
        hint = suggest_name(next(iter(given)), EXPECTATIONS) if isinstance(given, dict) and given else ""
        problem = f"asserts nothing that is known{hint or '; allowed: ' + ', '.join(EXPECTATIONS)}"
    elif first["type"] == "literal_error" and path == ("muniment_check",):
        problem = "is another version; allowed: 1"
    return own_path, problem


def _list_siblings(path: KeyPath) -> Iterable[str]:
    """The keys that could stand where the last part of a path stands."""
    names = [part for part in path[:-1] if isinstance(part, str)]
    if not names:
        return CheckContent.model_fields
    if _is_tag(names[-1]):
        return EXPECTATIONS[names[-1].strip("<>")].model_fields
    return _PARTS.get(names[-1], FoundWords).model_fields


def _is_tag(part: str | int) -> bool:
    """Whether a part of a path says which expectation is meant; it is no key of the file."""
    return isinstance(part, str) and part.startswith("<") and part.endswith(">")


def _convert_error(error: BadConfig) -> BadInput:
    """The refusal of a settings file as that of an input."""
    return BadInput(str(error), **error.data)
