"""A YAML file with the line of every key, and the words in which the settings complain about it.

A value is shown by its shape only, because it may be a secret that went to the wrong place."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import yaml

from muniment.memory.errors import BadConfig

KeyPath: TypeAlias = tuple[str | int, ...]
_MAX_BYTES = 1_000_000
_MAX_DEPTH = 100  # of values within values; libyaml builds its tree by recursion, and thousands end the process
_SHOWABLE = re.compile(r"[A-Za-z0-9_.-]{1,60}")
_LOADER: type[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # wheels without libyaml have only the slow one


@dataclass(frozen=True, slots=True)
class YamlFile:
    """The tree of a YAML file, and the line of each key."""

    name: str
    tree: dict[str, Any] = field(default_factory=dict)
    lines: dict[KeyPath, int] = field(default_factory=dict)
    nodes: set[int] = field(default_factory=set)  # those walked, by id: an alias is a node met again


def build_refusal(file: str, line: int, path: KeyPath, problem: str) -> BadConfig:
    """Return the error that names the file, the line and the key, and the problem."""
    key = ".".join(format_key(part) for part in path)
    return BadConfig(f"{file}, line {line}: {f'{key}: ' if key else ''}{problem}", file=file, line=line, key=key)


def read_file(path: Path) -> bytes:
    """Return the content of a file. Raises BadConfig for one that cannot be read or is too large."""
    try:
        with path.open("rb") as stream:
            content = stream.read(_MAX_BYTES + 1)
    except OSError as error:
        raise BadConfig(
            f"{path}: cannot be read ({error.strerror}); MUNIMENT_CONFIG must name a YAML file",
            file=str(path),
            key="MUNIMENT_CONFIG",
        ) from error
    if len(content) > _MAX_BYTES:
        raise BadConfig(
            f"{path}: is longer than {_MAX_BYTES:,} bytes; MUNIMENT_CONFIG must name a YAML file",
            file=str(path),
            key="MUNIMENT_CONFIG",
        )
    return content


def parse_yaml(name: str, content: bytes) -> YamlFile:
    """Return the tree of a YAML file with the line of each key. Raises BadConfig for what is no YAML mapping."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise build_refusal(name, line, (), "is not UTF-8; save the file as UTF-8") from error
    file = YamlFile(name)
    try:
        _check_depth(text)
        loader = _LOADER(text)
        root = loader.get_single_node()
        if root is None:
            return file
        _walk_node(file, loader, root, ())
        tree = loader.construct_document(root)
    except yaml.YAMLError as error:
        raise build_refusal(name, _find_line(error, text), (), f"is not YAML: {_describe_problem(error)}") from error
    except RecursionError as error:
        raise build_refusal(name, 1, (), "has brackets within brackets without end") from error
    if tree is None:
        return file
    if not isinstance(tree, dict):
        raise build_refusal(name, 1, (), f"is {describe_shape(tree)}; allowed: keys with values")
    file.tree.update(tree)
    return file


def _check_depth(text: str) -> None:
    """Raise RecursionError for more values within values than a file needs. Reads no further than that."""
    depth = 0
    for event in yaml.parse(text, Loader=_LOADER):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > _MAX_DEPTH:
            raise RecursionError


def _walk_node(file: YamlFile, loader: Any, node: yaml.Node, path: KeyPath) -> None:
    """Note the line of every key, and refuse what a mapping would quietly swallow: a key that comes twice."""
    line = node.start_mark.line + 1
    file.lines.setdefault(path, line)
    if id(node) in file.nodes:
        raise build_refusal(file.name, line, path, "is an alias (*name); write the value out")
    file.nodes.add(id(node))
    match node:
        case yaml.MappingNode():
            _walk_keys(file, loader, node, path)
        case yaml.SequenceNode():
            for index, item in enumerate(node.value):
                _walk_node(file, loader, item, (*path, index))
        case _:
            try:
                loader.construct_object(node)
            except ValueError as error:  # a date like 2026-13-01
                raise build_refusal(file.name, line, path, "has a value that YAML cannot read") from error


def _walk_keys(file: YamlFile, loader: Any, node: yaml.MappingNode, path: KeyPath) -> None:
    for key, value in node.value:
        line = key.start_mark.line + 1
        if not isinstance(key, yaml.ScalarNode) or key.tag != "tag:yaml.org,2002:str":
            raise build_refusal(file.name, line, path, "has a key that is not text; put it in quotes")
        inner = (*path, key.value)
        if inner in file.lines:
            raise build_refusal(file.name, line, inner, f"comes twice; the first is on line {file.lines[inner]}")
        file.lines[inner] = line
        _walk_node(file, loader, value, inner)


def _find_line(error: yaml.YAMLError, text: str) -> int:
    mark = getattr(error, "problem_mark", None)
    return int(mark.line) + 1 if mark else text.count("\n", 0, getattr(error, "position", 0)) + 1


def _describe_problem(error: yaml.YAMLError) -> str:
    problem = str(getattr(error, "problem", None) or getattr(error, "reason", None) or "cannot be read")
    return re.sub(r"'[^']{2,}'|\"[^\"]{2,}\"", "(…)", problem)  # the parser quotes the text it fails on


def format_key(part: str | int) -> str:
    """Return a key as an error may show it; of an unusual one, which may be a secret, only its length."""
    return str(part) if _SHOWABLE.fullmatch(str(part)) else f"(a name of {len(str(part))} characters)"


def suggest_name(name: str | int, known: Iterable[str]) -> str:
    """Return the end of an error: the name that is most similar, or else all names that are allowed."""
    known = sorted(known)
    close = difflib.get_close_matches(str(name), known, n=1)
    return f"; did you mean {close[0]}?" if close else f"; allowed: {', '.join(known)}"


def describe_shape(value: object) -> str:
    """Describe a value by its kind and size, without a text in it, which may be a secret."""
    match value:
        case None:
            return "empty"
        case bool():
            return "true" if value else "false"
        case int() | float() if len(str(value)) <= len("-1234.5678"):
            return str(value)
        case str():
            return f"text of {len(value)} characters"
        case list() | tuple():
            return f"a list of {len(value)}"
        case dict():
            return f"a mapping of {len(value)} keys"
        case _:
            return f"a {type(value).__name__}"
