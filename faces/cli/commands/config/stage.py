"""The option `--stage`, and values as a person reads them."""

from __future__ import annotations

import json
from typing import Annotated, Any, cast, get_args

import typer

from muniment.memory.config.changes import Stage
from muniment.memory.errors import BadInput

_STAGES: tuple[str, ...] = get_args(Stage)
StageName = Annotated[
    str | None, typer.Option("--stage", "-s", metavar="S", help=f"Only of this stage: {', '.join(_STAGES)}.")
]


def check_stage(name: str | None) -> Stage | None:
    """Return the stage that is named. Raises BadInput for an unknown one."""
    if name is not None and name not in _STAGES:
        raise BadInput(f"--stage: unknown stage {name!r}; allowed: {', '.join(_STAGES)}")
    return cast("Stage | None", name)


def format_value(value: Any) -> str:
    """Return a value as it can be typed again."""
    if isinstance(value, list):
        return ",".join(value) or "[]"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
