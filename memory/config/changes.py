"""Settings that were changed in the database: what stands over the file, and the history of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from itertools import groupby
from typing import Any, Literal, TypeAlias

Stage: TypeAlias = Literal["extraction", "gates", "atomization", "consolidation", "retrieval", "maintenance"]
SettingSource: TypeAlias = Literal["default", "file", "override"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Override:
    """A value of a setting in the database, with who brought it and when."""

    key: str
    value: Any
    rev: int
    by: str
    at: datetime


@dataclass(frozen=True, slots=True)
class OverrideSet:
    """All overrides at a revision of the settings; 0 before the first change."""

    rev: int = 0
    overrides: tuple[Override, ...] = ()

    @property
    def values(self) -> dict[str, Any]:
        """The values by their keys."""
        return {each.key: each.value for each in self.overrides}


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingChange:
    """A change of a setting: the values in force before and after it. A reset brings back the value of the file."""

    rev: int
    key: str
    former: Any
    value: Any
    is_reset: bool
    by: str
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingState:
    """A setting as it is in force: its stage, what it allows, and where its value comes from."""

    key: str
    stage: Stage
    value: Any
    default: Any
    source: SettingSource
    allowed: str
    about: str = ""
    by: str | None = None
    at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingsView:
    """The settings of some stages at a revision. `ignored` are overrides that this process cannot take, and why."""

    rev: int
    settings: tuple[SettingState, ...]
    ignored: Mapping[str, str] = field(default_factory=dict)


def encode_settings(view: SettingsView, titles: Mapping[Stage, str]) -> dict[str, Any]:
    """Return the settings in force by their stages, as JSON values."""
    stages = [
        {"stage": stage, "title": titles[stage], "settings": [_encode_times(asdict(each)) for each in states]}
        for stage, states in groupby(view.settings, key=lambda each: each.stage)
    ]
    return {"rev": view.rev, "stages": stages, "ignored": dict(view.ignored)}


def encode_changes(changes: Sequence[SettingChange]) -> list[dict[str, Any]]:
    """Return changes of settings as JSON values."""
    return [_encode_times(asdict(change)) for change in changes]


def _encode_times(record: dict[str, Any]) -> dict[str, Any]:
    at: datetime | None = record["at"]
    return record | {"at": at and at.astimezone(UTC).isoformat()}
