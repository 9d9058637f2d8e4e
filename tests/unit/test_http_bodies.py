"""The bodies of the HTTP service and the domain name the same fields."""

from dataclasses import fields
from datetime import timedelta

from muniment.faces.http.answers import HitAnswer
from muniment.faces.http.bodies import FilterBody, QueryBody
from muniment.memory.domain.memory import StoredMemory
from muniment.memory.domain.query import INTERNAL_FILTERS, Filters
from muniment.memory.query_codec import FILTER_KINDS, parse_query, parse_time


def test_filters() -> None:
    """A filter of the engine is one of the service, and the other way round."""
    assert (
        {field.name for field in fields(Filters)} - INTERNAL_FILTERS
        == FilterBody.model_fields.keys()
        == FILTER_KINDS.keys()
    )


def test_a_query() -> None:
    """The engine takes each field of a query of the service."""
    body = QueryBody.model_validate({"query": "x", "return": "full", "filters": {"pinned": True}, "threshold": 0.5})
    given = body.model_dump(by_alias=True, exclude={"app", "session"})
    assert parse_query(given).filters == Filters(pinned=True)


def test_a_hit() -> None:
    """A field of a hit is one of a memory, or says how it was found or whose it is."""
    found = {"score", "relevance", "parts", "channels", "ranks", "words", "related_to", "of"}
    hidden = {"aliases", "context", "stable_key", "turns"}
    assert HitAnswer.model_fields.keys() - found == {field.name for field in fields(StoredMemory)} - hidden


def test_zones() -> None:
    """A time keeps its zone, unless no place has it: Postgres takes none of 16 hours or more."""
    assert parse_time("2026-05-01T12:00:00-09:30", "at").utcoffset() == timedelta(hours=-9, minutes=-30)
    far = parse_time("2026-05-01T12:00:00-22:57", "at")
    assert (far.utcoffset(), far.isoformat()) == (timedelta(), "2026-05-02T10:57:00+00:00")
