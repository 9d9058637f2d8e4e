"""SQL in named blocks: `-- name: x` starts one, `{{x}}` includes another of the same file, `{{read.x}}` one of read.sql."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from typing import LiteralString

_NAME = re.compile(r"^-- name: (\w+).*$", re.MULTILINE)
_INCLUDE = re.compile(r"\{\{(?:(\w+)\.)?(\w+)\}\}")


@cache
def load_blocks(name: str) -> dict[str, LiteralString]:
    """The named blocks of `name.sql`, includes resolved."""
    parts = _NAME.split((files(__package__) / f"{name}.sql").read_text(encoding="utf-8"))
    raw = {key: body.strip() for key, body in zip(parts[1::2], parts[2::2], strict=True)}
    return {
        key: _INCLUDE.sub(lambda hit: (load_blocks(hit[1]) if hit[1] else raw)[hit[2]], body)
        for key, body in raw.items()
    }
