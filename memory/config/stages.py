"""The settings by the stages of memory: which of them an operator may change while processes run, and what each allows.

What is in no stage says how a process works, where it connects, or what may leave it, and stays with its file."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from importlib.resources import files
from typing import Annotated, Any, TypeAlias, get_args

from pydantic import TypeAdapter

from muniment.memory.config.changes import Stage
from muniment.memory.config.schema import EmbedderProfile, SettingsPart
from muniment.memory.config.settings import SECTIONS, Settings, load_settings
from muniment.memory.config.yaml_file import parse_yaml

STAGES: Mapping[Stage, str] = {
    "extraction": "Session extraction",
    "gates": "Write gates",
    "atomization": "User fact atomization",
    "consolidation": "Dedup and consolidation",
    "retrieval": "Retrieval",
    "maintenance": "Maintenance",
}
Path: TypeAlias = tuple[str, ...]
# A name of one key goes before one with a star, which stands for any rest.
_MEMBERS: Mapping[Stage, tuple[str, ...]] = {
    "extraction": (
        "model.timeout_seconds", "model.backoff_seconds", "model.max_retries", "model.prompts",
        "model.max_output_tokens", "finds.fallback", "observations.*", "limits.reading_seconds", "spend.daily_tokens",
        "spend.daily_money", "insights.*", "episodes.*",
    ),
    "gates": (
        "observations.types.*", "finds.least_importance", "finds.least_confidence", "limits.turn_chars",
        "limits.memory_chars", "write.per_turn", "write.per_day", "redact.email", "redact.phone",
        "redact.national_ids", "redact.door_codes", "consent.*", "procedures.review",
    ),
    "atomization": (
        "finds.canonical", "finds.relations", "finds.events", "procedures.chars", "procedures.steps",
        "procedures.failures",
    ),
    "consolidation": (
        "embedders.*", "write.neighbours", "write.attempts", "write.fallback_days", "write.fallback_neighbours",
        "write.link_min", "write.contradictions", "consolidation.*",
    ),
    "retrieval": (
        "recall.*", "delta.*", "limits.query_chars", "limits.top_k", "limits.profile_items", "threads.max_tokens",
        "embedders.*.floor", "embedders.*.ceiling",
    ),
    "maintenance": (
        "forgetting.*", "session_ledger.*", "write.soft_delete_days", "consolidation.every_hours",
        "consolidation.lease_minutes", "procedures.wait_seconds", "checkpoints.keep", "checkpoints.ttl_days",
    ),
}  # fmt: skip
# Of these sections and keys none is in a stage: connections, the service, texts that may be a secret or a path of a
# machine, and what is built into a graph when it is made.
FIXED = (
    "database.*", "jobs.*", "serve.*", "proxy.*", "gateway.*", "curated.*", "plugin.*", "resources.*", "users.*",
    "session_ledger.search_agents", "model.prompt_folder", "model.tool_schema", "model.tool_rounds", "model.handoffs",
    "redact.patterns", "redact.deny_tags", "redact.deny_paths", "redact.deny_projects", "spend.currency",
    "spend.prices", "embedders.*.scripts", "embedders.*.reads", "checkpoints.messages", "checkpoints.durability",
)  # fmt: skip
_BY_NAME = frozenset({("forgetting", "scopes"), ("observations", "types")})  # settings of their own, by names
_BOUNDS = {
    "minimum": "at least",
    "exclusiveMinimum": "more than",
    "maximum": "at most",
    "exclusiveMaximum": "less than",
}
_COMMENT = re.compile(r"\s#\s+(?:[A-Z]-\d+[:,]?\s*)?(.*?)\s*$")


@dataclass(frozen=True, slots=True)
class SettingKey:
    """A setting of a stage: the path to its value, the type of that, and what it is about."""

    key: str
    stage: Stage
    path: Path
    annotation: Any
    about: str

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON Schema of its values."""
        return _make_schema(self.annotation)

    @property
    def allowed(self) -> str:
        """What it allows, in words."""
        return describe_schema(self.schema)


@cache
def find_stage(key: str) -> Stage | None:
    """Return the stage of a key; None for one of no stage."""
    found = {name: stage for stage, names in _MEMBERS.items() for name in names if _matches(name, key)}
    fixed = [name for name in FIXED if _matches(name, key)]
    best = max([*found, *fixed], key=lambda name: ("*" not in name, len(name)), default=None)
    return found.get(best) if best is not None else None


def list_settings(settings: Settings) -> dict[str, SettingKey]:
    """Return the settings of all stages by their keys, in the order of the stages and of the file."""
    about = read_comments()
    found = [
        SettingKey(key, stage, path, annotation, about.get(path, ""))
        for path, annotation in list_leaves(settings)
        if (stage := find_stage(key := ".".join(path)))
    ]
    order = list(STAGES)
    return {each.key: each for each in sorted(found, key=lambda each: order.index(each.stage))}


def list_leaves(settings: Settings) -> Iterator[tuple[Path, Any]]:
    """Yield the path and the type of each value in the sections of the settings."""
    for name in SECTIONS:
        if name == "embedders":
            for model, profile in settings.embedders.items():
                yield from _walk_profile((name, model), profile)
        else:
            yield from _walk_part((name,), getattr(settings, name))


def get_value(settings: Settings, path: Path) -> Any:
    """Return the value at a path, as JSON has it."""
    value: Any = settings
    for part in path:
        value = value.get(part) if isinstance(value, Mapping) else getattr(value, part)
    return to_json(value)


def to_json(value: Any) -> Any:
    """Return a value of the settings with lists and objects in the place of tuples and mappings."""
    if isinstance(value, list | tuple):
        return [*map(to_json, value)]
    return {key: to_json(each) for key, each in value.items()} if isinstance(value, Mapping) else value


@cache
def load_default() -> Settings:
    """Return the settings of the default file alone."""
    return load_settings({})


def describe_schema(schema: Mapping[str, Any]) -> str:
    """Describe in words what a JSON Schema of one value allows."""
    if "anyOf" in schema:
        return " or ".join(describe_schema(each) for each in schema["anyOf"])
    if "enum" in schema or "const" in schema:
        choices = schema.get("enum", [schema.get("const")])
        return f"one of {', '.join(map(str, choices))}" if "enum" in schema else str(choices[0])
    match schema.get("type"):
        case "integer" | "number" as kind:
            bounds = [f"{words} {schema[name]}" for name, words in _BOUNDS.items() if name in schema]
            return " of ".join(
                ["a whole number" if kind == "integer" else "a number", *filter(None, [" and ".join(bounds)])]
            )
        case "boolean":
            return "true or false"
        case "null":
            return "null"
        case "array":
            return f"a list, each {describe_schema(schema['items'])}"
        case "object":
            each = schema.get("additionalProperties")
            return str(schema["description"]) if each is None else f"an object, each value {describe_schema(each)}"
        case _:
            return "text"


@cache
def read_comments() -> dict[Path, str]:
    """Return what the default file says beside each key, without the number of a requirement."""
    text = (files("muniment.config") / "memory.yaml").read_text(encoding="utf-8")
    lines = text.splitlines()
    found: dict[Path, str] = {}
    for path, line in parse_yaml("memory.yaml", text.encode()).lines.items():
        if path and line and (comment := _COMMENT.search(lines[line - 1])):
            found[tuple(map(str, path))] = comment[1]
    return found


def _walk_part(place: Path, part: SettingsPart) -> Iterator[tuple[Path, Any]]:
    for name, field in type(part).model_fields.items():
        annotation = Annotated[field.annotation, *field.metadata] if field.metadata else field.annotation
        if (*place, name) in _BY_NAME:
            each = get_args(field.annotation)[1]
            named = (one for one in getattr(part, name) if ":" not in one)  # no user's name
            yield from (((*place, name, one), each) for one in named)
        else:
            yield (*place, name), annotation


def _walk_profile(place: Path, profile: EmbedderProfile) -> Iterator[tuple[Path, Any]]:
    for path, annotation in _walk_part(place, profile):
        if path[-1] != "by_writing":
            yield path, annotation
    for writing, bands in profile.by_writing.items():
        yield from _walk_part((*place, "by_writing", writing), bands)


@cache
def make_adapter(annotation: Any) -> TypeAdapter[Any]:
    """Return what checks the values of a type."""
    return TypeAdapter(annotation)


@cache
def _make_schema(annotation: Any) -> dict[str, Any]:
    return make_adapter(annotation).json_schema()


def _matches(name: str, key: str) -> bool:
    return fnmatchcase(key, name)
