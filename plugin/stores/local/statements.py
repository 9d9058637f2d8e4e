"""SQL in named blocks of a file: `-- name: x` starts one."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files

_NAME = re.compile(r"^-- name: (\w+).*$", re.MULTILINE)


@cache
def load_statements(package: str, name: str) -> dict[str, str]:
    """Return the blocks of `name.sql` of a package by their names."""
    parts = _NAME.split((files(package) / f"{name}.sql").read_text(encoding="utf-8"))
    return {key: body.strip().rstrip(";") for key, body in zip(parts[1::2], parts[2::2], strict=True)}
