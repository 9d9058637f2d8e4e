"""The digests of the database and those of the verification are of the same bytes, whatever a line or a memory says."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from psycopg.types.json import Jsonb

from muniment.memory.domain.evidence.seals import Reseal
from muniment.memory.rules.seals.encoding import (
    CONTENT_FIELDS,
    LINE_FIELDS,
    PUBLIC_DETAILS,
    digest_chain,
    digest_content,
    digest_line,
    digest_reseals,
    digest_space,
    encode_fields,
    split_details,
)
from muniment.memory.stores.postgres.memory_columns import CONTENT
from tests.seals.raw import open_raw

TEXTS = st.text(st.characters(exclude_characters="\x00", exclude_categories=["Cs"]), max_size=40)
# Naive, as hypothesis wants them; it gives them the zone.
TIMES = st.datetimes(datetime(1, 1, 3), datetime(9998, 12, 30), timezones=st.just(UTC))  # noqa: DTZ001 - as above
FLOATS = st.floats(allow_nan=False, allow_infinity=False)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**25), 10**25) | FLOATS | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)
DETAILS = st.dictionaries(st.sampled_from(PUBLIC_DETAILS) | TEXTS, VALUES, max_size=5)
OF_TYPE: dict[int, st.SearchStrategy[Any]] = {
    25: TEXTS, 3802: DETAILS.map(Jsonb), 21: st.integers(1, 5), 700: st.floats(width=32), 16: st.booleans(),
    1009: st.lists(TEXTS, max_size=3), 1184: TIMES, 2951: st.lists(st.uuids(), max_size=3), 2950: st.uuids(),
    20: st.integers(-(2**63), 2**63 - 1),
}  # fmt: skip
ROWS = st.tuples(*(st.none() | OF_TYPE[type_] for _, type_ in CONTENT_FIELDS))
LINES = st.tuples(
    *(OF_TYPE[type_] | (st.none() if n > 2 else st.nothing()) for n, (_, type_) in enumerate(LINE_FIELDS))
)


@pytest.fixture
def conn(database_url: str) -> Iterator[psycopg.Connection[Any]]:
    with open_raw(database_url) as conn:
        yield conn


def test_every_column_of_a_memory_is_sealed() -> None:
    """What a plan says of a memory is sealed, in the order of its columns; the id is sealed with the line."""
    assert [name for name, _ in CONTENT_FIELDS] == [column.name for column in CONTENT if column.name != "memory_id"]


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(row=ROWS, details=DETAILS)
def test_contents_have_the_same_digest(
    conn: psycopg.Connection[Any], row: tuple[Any, ...], details: dict[str, Any]
) -> None:
    names = ", ".join(name for name, _ in CONTENT_FIELDS)
    slots = ", ".join(f"%b::{_cast(type_)}" for _, type_ in CONTENT_FIELDS)
    cells_of = ", ".join(f"(r).{name}" for name, _ in CONTENT_FIELDS)
    cursor = conn.execute(
        f"""with given as (select {slots}), held as (
          select r from given g ({names}), lateral (select (jsonb_populate_record(null::muniment.memories, '{{}}')).*) e
          cross join lateral (select row(e.space_id, e.memory_id, g.kind, g.category, g.text, g.fact, g.stable_key,
            g.importance, g.confidence, g.trust, g.pinned, g.state, g.tags, g.agent_id, g.run_id, g.actor_id, g.role,
            g.session_id, g.thread_id, g.event_time, g.created_at, g.updated_at, e.last_accessed_at, e.access_count,
            g.purge_at, e.rev, g.superseded_by, g.context, g.turns, e.embedding, e.embedding_model, e.words,
            e.next_embedding, e.next_model, g.aliases, g.project_id, g.app_id, g.reach, g.source,
            g.expires_at)::muniment.memories as r) made)
        select muniment.digest_content(sha256('salt'), %s, r),
          muniment.digest_content(sha256('salt'), %s, null::muniment.memories), sha256('salt'), %s::jsonb, {cells_of}
        from held""",
        (*row, Jsonb(details), Jsonb(details), Jsonb(details)),
        binary=True,
    )
    found = cursor.fetchone()
    assert found is not None
    digest, empty, salt, meta, *cells = found
    _, private = split_details(meta)
    assert digest_content(salt, private, _encode(CONTENT_FIELDS, cells)) == digest
    assert digest_content(salt, private, None) == empty


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(line=LINES, details=DETAILS)
def test_lines_have_the_same_digest(
    conn: psycopg.Connection[Any], line: tuple[Any, ...], details: dict[str, Any]
) -> None:
    slots = [f"%b::{_cast(type_)}" for _, type_ in LINE_FIELDS]
    listed = ", ".join((*slots[:11], "%s::jsonb", *slots[11:]))
    whole = (*line[:11], Jsonb(details), *line[11:])
    names = ", ".join(f"(j).{name}" for name, _ in LINE_FIELDS)
    cursor = conn.execute(
        f"""select muniment.digest_line(j, sha256('content')), sha256('content'), (j).meta, {names}
        from (select row({listed})::muniment.journal as j) one""",
        whole,
        binary=True,
    )
    found = cursor.fetchone()
    assert found is not None
    digest, content, meta, *cells = found
    public, private = split_details(meta)
    assert digest_line(_encode(LINE_FIELDS, cells), public, content) == digest
    others = {key: value for key, value in details.items() if key not in PUBLIC_DETAILS}
    assert bool(others) == (private is not None)
    if private is not None:
        assert json.loads(private).keys() == json.loads(json.dumps(others)).keys()


def test_numbers_of_any_length_stand_as_they_are() -> None:
    """A number that Python would refuse to parse is a detail like others."""
    long = "9" * 5_000
    public, private = split_details(f'\x01{{"n": {long}, "why": "same"}}'.encode())
    assert private == f'{{"n": {long}}}'.encode()
    assert public == tuple(b'\x01"same"' if name == "why" else None for name in PUBLIC_DETAILS)


def test_the_other_digests_are_the_same(conn: psycopg.Connection[Any]) -> None:
    """The beginning of a chain, a step of it, and what an erasure has sealed anew."""
    space = UUID(int=7)
    row = conn.execute(
        """select muniment.digest_space(%s, 3), sha256(sha256('a') || sha256('b') || sha256('c')), (
          select sha256(string_agg(
            record_send(row('muniment reseal 1'::text, r.rev, r.content)), ''::bytea order by r.rev))
          from (values (2::bigint, sha256('x')), (11, sha256('y'))) r (rev, content)),
        sha256('a'), sha256('b'), sha256('c'), sha256('x'), sha256('y')""",
        (space,),
        binary=True,
    ).fetchone()
    assert row is not None
    began, chained, resealed, a, b, c, x, y = row
    assert digest_space(space.bytes, 3) == began
    assert digest_chain(a, b, c) == chained
    assert digest_reseals([Reseal(11, 20, y, None), Reseal(2, 20, x, None)]) == resealed


def _encode(columns: Sequence[tuple[str, int]], cells: Sequence[bytes | None]) -> bytes:
    return encode_fields((type_, cell) for (_, type_), cell in zip(columns, cells, strict=True))


def _cast(type_: int) -> str:
    return {
        25: "text", 3802: "jsonb", 21: "smallint", 700: "real", 16: "boolean", 1009: "text[]", 1184: "timestamptz",
        2951: "uuid[]", 2950: "uuid", 20: "bigint",
    }[type_]  # fmt: skip
