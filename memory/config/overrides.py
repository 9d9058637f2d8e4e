"""Overrides over the settings of a file: checked one by one and together, and laid over the sections."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from pydantic import ValidationError

from muniment.memory.config.checks import check_embedders, check_forgetting, check_recall, check_spending
from muniment.memory.config.recall import CallerSettings
from muniment.memory.config.refusals import describe_refusal
from muniment.memory.config.schema import SettingsPart
from muniment.memory.config.settings import Settings
from muniment.memory.config.stages import SettingKey, list_settings, make_adapter, to_json
from muniment.memory.config.yaml_file import KeyPath, describe_shape, format_key, suggest_name
from muniment.memory.errors import BadInput


def lay_over(base: Settings, values: Mapping[str, Any]) -> Settings:
    """Return settings with these values in the place of their own. Raises BadInput that names the key and what is
    allowed, also where values that are allowed each do not fit together."""
    known = list_settings(base)
    by_section: defaultdict[str, dict[KeyPath, Any]] = defaultdict(dict)
    for key, value in values.items():
        setting = find_setting(known, key)
        by_section[setting.path[0]][setting.path[1:]] = check_value(setting, value)
    changed = {name: _change_section(base, name, leaves) for name, leaves in by_section.items()}
    settings = base.model_copy(update=changed)
    given = {known[key].path for key in values}
    check_recall(settings.recall, settings.limits, partial(_refuse_first, given, _WITH_RECALL))
    check_forgetting(settings.forgetting, settings.categories, partial(_refuse_first, given, []))
    check_embedders(settings.embedders, given.__contains__, _refuse)
    check_spending(settings.spend, settings.chat_model, partial(_refuse_first, given, [("spend", "daily_money")]))
    return settings


def lay_over_valid(base: Settings, values: Mapping[str, Any]) -> tuple[Settings, dict[str, str]]:
    """Return settings with as many of these values as fit, in the order of their keys, and why the others do not.

    Another process may have another file, or another version: what this one cannot take does not stop it."""
    try:
        return lay_over(base, values), {}
    except BadInput:
        pass
    taken: dict[str, Any] = {}
    waiting = dict(sorted(values.items()))
    while True:  # one may want another that comes later
        ignored: dict[str, str] = {}
        for key, value in waiting.items():
            try:
                lay_over(base, taken | {key: value})
            except BadInput as error:
                ignored[key] = str(error)
            else:
                taken[key] = value
        if len(ignored) in (0, len(waiting)):
            return lay_over(base, taken), ignored
        waiting = {key: value for key, value in waiting.items() if key in ignored}


def find_setting(known: Mapping[str, SettingKey], key: str) -> SettingKey:
    """Return a setting of a stage. Raises BadInput for another key, with the one that is most like it."""
    if key not in known:
        near = suggest_name(key, known) if len(key) < _LONGEST_KEY else ""
        hint = near if near.startswith("; did") else "; `muniment config show` lists the keys that can be changed"
        raise BadInput(f"{format_key(key)}: is not a setting of any stage{hint}", key=format_key(key))
    return known[key]


def check_value(setting: SettingKey, value: Any) -> Any:
    """Return a value as the setting has it. Raises BadInput for one that is not allowed, which is shown by its shape
    alone: it may be a secret that went to the wrong place."""
    if isinstance(value, float) and value.is_integer() and _takes(setting, "integer"):
        value = int(value)
    try:
        found = make_adapter(setting.annotation).validate_python(_to_tuples(value), strict=True)
    except ValidationError as error:
        path, problem = describe_refusal(error, lambda _: CallerSettings.model_fields)
        if path and isinstance(value, dict):
            place = ".".join((setting.key, *map(format_key, path)))
            raise BadInput(f"{place}: {problem}", key=setting.key, allowed=setting.allowed) from None
        shape = "not finite" if error.errors()[0]["type"] == "finite_number" else describe_shape(value)
        raise BadInput(
            f"{setting.key}: is {shape}; allowed: {setting.allowed}", key=setting.key, allowed=setting.allowed
        ) from None
    return to_json(found)


def parse_value(setting: SettingKey, text: str) -> Any:
    """Return the value that a person has typed: JSON, a list with commas, or a word as it is."""
    stripped = text.strip()
    try:
        value = json.loads(stripped, parse_constant=lambda _: text)
    except (ValueError, RecursionError):
        value = text
    if _takes(setting, "object"):
        return value if isinstance(value, dict) else stripped
    if _takes(setting, "array") and not isinstance(value, list):
        return [part.strip() for part in stripped.split(",") if part.strip()]
    is_word = not isinstance(value, str) and not any(_takes(setting, each) for each in ("integer", "number", "boolean"))
    return stripped if is_word and value is not None and not isinstance(value, list) else value


def _to_tuples(value: Any) -> Any:
    """A value of JSON as the settings have it."""
    if isinstance(value, list):
        return tuple(map(_to_tuples, value))
    return {key: _to_tuples(each) for key, each in value.items()} if isinstance(value, dict) else value


def _takes(setting: SettingKey, kind: str) -> bool:
    return any(each.get("type") == kind for each in setting.schema.get("anyOf", [setting.schema]))


def _change_section(base: Settings, name: str, leaves: Mapping[KeyPath, Any]) -> Any:
    section = getattr(base, name)
    if isinstance(section, SettingsPart):
        return _change_part(section, leaves)
    changed = dict(section)
    for model in {path[0] for path in leaves}:
        own = {path[1:]: value for path, value in leaves.items() if path[0] == model}
        changed[model] = _change_part(section[model], own)
    return changed


def _change_part(part: SettingsPart, leaves: Mapping[KeyPath, Any]) -> SettingsPart:
    """The part with these values. Their keys count as set, as those of a file do."""
    tree = part.model_dump()
    for path, value in leaves.items():
        place: Any = tree
        for step in path[:-1]:
            place = place[step]
        place[path[-1]] = value
    whole = type(part).model_validate(tree)
    return whole.model_construct(part.model_fields_set | {str(path[0]) for path in leaves}, **dict(whole))


def _refuse(path: KeyPath, problem: str, key: KeyPath | None = None) -> BadInput:
    """The error of a path: of a setting, `key`, or of something in it."""
    named = ".".join(map(str, key or path))
    return BadInput(
        f"{'.'.join(map(format_key, path))}: {problem}", key=named, allowed=problem.partition("allowed: ")[2]
    )


def _refuse_first(given: set[tuple[str, ...]], paths: Sequence[KeyPath], path: KeyPath, problem: str) -> BadInput:
    """Name the key that was given of those that do not fit together."""
    if own := next((each for each in given if path[: len(each)] == each), None):
        return _refuse(path, problem, own)
    if other := next((each for each in paths if each in given), None):
        return _refuse(other, f"does not fit {'.'.join(map(format_key, path))}, which {problem}")
    return _refuse(path, problem)


_WITH_RECALL: Sequence[KeyPath] = (("limits", "top_k"), ("recall", "profiles"))  # what others of recall have to fit
_LONGEST_KEY = 200
