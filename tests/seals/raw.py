"""Rows of the database as they are sent, in the binary format."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from uuid import UUID

import psycopg
from psycopg.adapt import Loader
from psycopg.pq import Format

from muniment.memory.rules.seals.encoding import BYTES, CONTENT_FIELDS, JSON, LINE_FIELDS, encode_fields

_TYPES = {type_ for _, type_ in (*LINE_FIELDS, *CONTENT_FIELDS)} | {BYTES, JSON}


class Raw(Loader):
    """Leaves a value as it was sent."""

    format = Format.BINARY

    def load(self, data: Any) -> bytes:
        return bytes(data)


@contextmanager
def open_raw(url: str) -> Iterator[psycopg.Connection[Any]]:
    """A superuser's connection whose binary values are bytes."""
    with psycopg.connect(url, autocommit=True) as conn:
        for type_ in _TYPES:
            conn.adapters.register_loader(type_, Raw)
        yield conn


def read_contents(conn: psycopg.Connection[Any], space: UUID) -> dict[int, bytes]:
    """The sealed fields of each memory and version of a space, by its revision."""
    names = ", ".join(name for name, _ in CONTENT_FIELDS)
    rows = conn.execute(
        f"""select rev, {names} from muniment.memories where space_id = %s
        union all select from_rev, {names} from muniment.memory_versions where space_id = %s""",
        (space, space),
        binary=True,
    )
    return {
        int.from_bytes(row[0]): encode_fields(
            (type_, cell) for (_, type_), cell in zip(CONTENT_FIELDS, row[1:], strict=True)
        )
        for row in rows
    }
