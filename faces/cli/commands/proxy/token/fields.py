"""The fields of a configuration as they are typed: from a file, as settings, and keys from where nobody reads them."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import typer

from muniment.faces.cli.output import screen
from muniment.memory.config.settings import get_environment
from muniment.memory.domain.tokens.config import FIELDS, KEYS
from muniment.memory.errors import BadInput

_WHOLE = ("embed_dims", "memory_limit", "session_window_size", "history_days")
_SECONDS = ("http_timeout", "memory_search_timeout", "memory_store_timeout")
FromFile: TypeAlias = Annotated[
    str | None,
    typer.Option("--file", "-f", metavar="FILE", help="A JSON object of fields; - reads it from standard input."),
]
Assignments: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--set", "-s", metavar="FIELD=VALUE", help="A field that is no key; without a value it is emptied."),
]
KeyVariables: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--key-env", metavar="FIELD=VARIABLE", help="A key from an environment variable of this name."),
]
AskedKeys: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--ask", metavar="FIELD", help="Ask for a key on the terminal, without showing what is typed."),
]


def read_fields(
    file: str | None, assignments: Sequence[str] | None, variables: Sequence[str] | None, asked: Sequence[str] | None
) -> dict[str, Any]:
    """The fields that are given; a later way goes before an earlier one. Raises BadInput."""
    fields = _read_file(file) if file is not None else {}
    for name, value in _split_pairs(assignments, "--set", "FIELD=VALUE"):
        if name in KEYS:
            raise BadInput(f"--set: {name} is a key, which others could read in the list of processes; {_KEY_WAYS}")
        fields[_check_field(name, "--set", FIELDS)] = _convert_value(name, value)
    for name, variable in _split_pairs(variables, "--key-env", "FIELD=VARIABLE"):
        key = get_environment().get(variable, "")
        if not key:
            raise BadInput(f"--key-env: {_check_field(name, '--key-env', KEYS)}: the variable is empty or not set")
        fields[_check_field(name, "--key-env", KEYS)] = key
    for name in asked or ():
        fields[_check_field(name, "--ask", KEYS)] = _ask_key(name)
    return fields


def ask_missing_keys(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields with the keys that the providers want: those that are missing are asked for on a terminal."""
    wanted = {
        "llm_api_key": True,
        "memory_llm_api_key": fields.get("memory_llm_provider") == "openai",
        "embed_api_key": fields.get("embed_provider") == "openai",
    }
    if not sys.stdin.isatty():
        return dict(fields)
    return dict(fields) | {
        name: _ask_key(name) for name, is_wanted in wanted.items() if is_wanted and name not in fields
    }


_KEY_WAYS = "--ask asks for it, --key-env reads a variable, --file a file"


def _ask_key(name: str) -> str:
    return str(typer.prompt(name, hide_input=True, err=True))


def _read_file(file: str) -> dict[str, Any]:
    place = "standard input" if file == "-" else file
    try:
        content = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
    except OSError as error:
        raise BadInput(f"--file: {screen.join_lines(place)}: cannot be read ({error.strerror})") from None
    try:
        fields = json.loads(content)
    except (ValueError, RecursionError):
        fields = None
    if not isinstance(fields, dict):
        raise BadInput(f"--file: {screen.join_lines(place)}: is no JSON object of fields")
    return fields


def _split_pairs(given: Sequence[str] | None, option: str, form: str) -> list[tuple[str, str]]:
    pairs = [pair.partition("=") for pair in given or ()]
    if any(not equals for _, equals, _ in pairs):
        raise BadInput(f"{option}: {form} is wanted")
    return [(name.strip(), value) for name, _, value in pairs]


def _check_field(name: str, option: str, allowed: Sequence[str]) -> str:
    if name not in allowed:
        raise BadInput(f"{option}: there is no such field; allowed: {', '.join(n for n in allowed)}")
    return name


def _convert_value(name: str, value: str) -> Any:
    """A number for a field that is one; what is no number stays text, which the configuration refuses."""
    if value == "":
        return None
    try:
        return int(value) if name in _WHOLE else float(value) if name in _SECONDS else value
    except ValueError:
        return value
