"""What the tool `memory` is asked and answers: its arguments as one value, and the result of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

from muniment.memory.errors import BadInput

Target: TypeAlias = Literal["memory", "user"]
Action: TypeAlias = Literal["add", "replace", "remove"]
TARGETS: tuple[Target, ...] = get_args(Target)
ACTIONS: tuple[Action, ...] = get_args(Action)
FILE_NAMES: Mapping[Target, str] = {"memory": "MEMORY.md", "user": "USER.md"}
_TEXTS = ("content", "old_text")
_NAMES = ("target", "action", *_TEXTS)


@dataclass(frozen=True, slots=True, kw_only=True)
class CuratedCall:
    """A change that is wanted: an entry to add, or the entry with `old_text` in it to replace or remove."""

    target: Target
    action: Action
    content: str | None = None
    old_text: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CuratedResult:
    """What became of a change. `entries` are those of the file afterwards as a model is shown them, `used` and `limit`
    its characters, `candidates` the entries that an ambiguous `old_text` fits."""

    ok: bool
    message: str
    target: Target
    entries: tuple[str, ...] = ()
    used: int = 0
    limit: int = 0
    candidates: tuple[str, ...] = ()
    is_changed: bool = False


def parse_call(arguments: Mapping[str, Any]) -> CuratedCall:
    """Return the change that the arguments of a tool call want.

    Raises BadInput that names the argument and what is allowed; it repeats nothing that was given."""
    if not set(arguments) <= set(_NAMES):
        raise BadInput(f"an unknown argument is given; allowed: {', '.join(_NAMES)}")
    target = _find_choice(arguments, "target", TARGETS)
    action = _find_choice(arguments, "action", ACTIONS)
    content, old_text = (_find_text(arguments, name) for name in _TEXTS)
    if action != "remove" and content is None:
        raise BadInput(f"content: is missing; {action} needs the text of the entry", field="content")
    if action != "add" and old_text is None:
        raise BadInput(f"old_text: is missing; {action} needs a part of the entry", field="old_text")
    return CuratedCall(target=target, action=action, content=content, old_text=old_text)


def _find_choice(arguments: Mapping[str, Any], name: str, choices: tuple[Any, ...]) -> Any:
    value = arguments.get(name)
    if not isinstance(value, str) or value not in choices:
        problem = "is missing" if value is None else "is none of the choices"
        raise BadInput(f"{name}: {problem}; allowed: {', '.join(choices)}", field=name)
    return value


def _find_text(arguments: Mapping[str, Any], name: str) -> str | None:
    value = arguments.get(name)
    if value is not None and not isinstance(value, str):
        raise BadInput(f"{name}: is no text", field=name)
    return value or None
