"""SQL in named blocks: `-- name: x` starts one, `{{x}}` includes another of the same file, `{{read.x}}` one of
read.sql.

`{m.memory_columns}` is the list of a memory's columns under the alias m; `list_columns` names the other lists."""

from __future__ import annotations

import re
from collections import Counter
from functools import cache
from importlib.resources import files
from typing import LiteralString

from muniment.memory.stores.postgres.memory_columns import list_columns

_NAME = re.compile(r"^-- name: (\w+).*$", re.MULTILINE)
_INCLUDE = re.compile(r"\{\{(?:(\w+)\.)?(\w+)\}\}")
_COLUMNS = re.compile(r"(?<!\{)\{(?:(\w+)\.)?([a-z]+)_columns\}(?!\})")


@cache
def load_blocks(name: str) -> dict[str, LiteralString]:
    """Return the named blocks of `name.sql`, with includes and column lists filled in. Raises ValueError for two of one
    name."""
    text = (files(__package__) / f"{name}.sql").read_text(encoding="utf-8")
    parts = _NAME.split(_COLUMNS.sub(lambda match: list_columns(match[2], match[1]), text))
    raw = {key: body.strip() for key, body in zip(parts[1::2], parts[2::2], strict=True)}
    if twice := [key for key, count in Counter(parts[1::2]).items() if count > 1]:
        raise ValueError(f"{name}.sql has two blocks called {twice[0]}")
    return {
        key: _INCLUDE.sub(lambda match: (load_blocks(match[1]) if match[1] else raw)[match[2]], body)
        for key, body in raw.items()
    }
