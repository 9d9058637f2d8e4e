"""What a value of the settings is refused with: where it is wrong, and what is allowed there."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from pydantic import ValidationError

from muniment.memory.config.yaml_file import KeyPath, describe_shape, suggest_name

_TYPE_NAMES = {
    "int_type": "a whole number", "int_from_float": "a whole number", "float_type": "a number",
    "finite_number": "a finite number", "string_type": "text", "bool_type": "true or false", "tuple_type": "a list",
    "model_type": "keys with values", "dict_type": "keys with values", "string_too_short": "text that is not empty",
    "too_short": "a list that is not empty",
}  # fmt: skip
_BOUNDS = {"ge": "at least", "gt": "more than", "le": "at most", "lt": "less than"}


def describe_refusal(errors: ValidationError, list_siblings: Callable[[KeyPath], Iterable[str]]) -> tuple[KeyPath, str]:
    """Return the path to the first value that is wrong, and the problem: a value is shown by its shape only.

    `list_siblings` returns the keys that could stand where the last part of a path stands."""
    error = errors.errors(include_url=False)[0]
    path, kind, context = error["loc"], error["type"], error.get("ctx", {})
    if kind == "extra_forbidden":
        return path, f"unknown key{suggest_name(path[-1], list_siblings(path))}"
    if kind == "string_pattern_mismatch":
        at = path[:-1] if path[-1:] == ("[key]",) else path
        return at, f"is {describe_shape(error['input'])}; allowed: what matches {context['pattern']}"
    if kind == "missing":
        return path, "is missing"
    bound = next((f"{words} {context[name]}" for name, words in _BOUNDS.items() if name in context), None)
    allowed = bound or _TYPE_NAMES.get(kind) or context.get("expected") or "another type"
    return path, f"is {describe_shape(error['input'])}; allowed: {allowed}"
