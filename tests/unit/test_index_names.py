"""The names of a large space's indexes."""

from __future__ import annotations

from muniment.memory.stores.postgres.schema.large_spaces import build_index_name
from tests.engine import scope


def test_they_fit_postgres_and_differ_by_space_and_by_model() -> None:
    """Whatever a model is called."""
    models = ("hash-256", "openai:" + "x" * 90)
    names = {build_index_name(scope(owner).space, model) for owner in ("ana", "ben") for model in models}
    assert [len(names), max(map(len, names)) <= 63] == [4, True]
