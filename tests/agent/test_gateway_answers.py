"""Whatever a gateway answers is read as results of the right types, or refused by its category: B-62, B-63, B-64."""

from __future__ import annotations

import json
from dataclasses import fields
from math import isfinite
from typing import Any

import pytest
from hypothesis import given, strategies as st

from muniment.memory.domain.gateway.wire import RecalledItem
from muniment.memory.models.gateway.answers import UnusableAnswer, parse_answer, parse_results

SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20)
JSON = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4))
NAMES = [field.name for field in fields(RecalledItem)]
RESULTS = st.lists(JSON | st.dictionaries(st.sampled_from([*NAMES, "raw"]), JSON, max_size=7), max_size=12)
ANSWERS = st.fixed_dictionaries({"results": RESULTS}, optional={"data": JSON, "prompt": JSON})
BODIES = (
    st.binary(max_size=200)
    | (JSON | ANSWERS).map(lambda value: json.dumps(value).encode())
    | ANSWERS.map(lambda value: json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass"))
    | ANSWERS.map(lambda value: json.dumps(value).encode()[:-1])
)


def read(body: bytes, most: int = 8) -> list[RecalledItem]:
    return parse_results(parse_answer("search", body)["results"], most)


@given(body=BODIES, most=st.integers(1, 10))
def test_b62_b63_any_body(body: bytes, most: int) -> None:
    try:
        items = read(body, most)
    except UnusableAnswer:
        return
    assert len(items) <= most
    for item in items:
        texts = (item.id, item.session_id, item.text, item.source_scope, item.resource_uri)
        assert all(text is None or type(text) is str for text in texts)
        assert item.score is None or (type(item.score) is float and isfinite(item.score))


@given(results=st.lists(st.dictionaries(st.sampled_from([*NAMES, "raw"]), st.text(max_size=20)), max_size=8))
def test_b64_what_is_right_is_kept_and_nothing_else(results: list[dict[str, Any]]) -> None:
    items = read(json.dumps({"results": results}).encode("utf-8"))
    wanted = [{name: result.get(name) for name in NAMES} | {"score": None} for result in results]
    assert items == [RecalledItem(**each) for each in wanted]


@given(value=JSON)
def test_b62_only_an_object_with_a_list_of_results(value: Any) -> None:
    body = json.dumps(value, allow_nan=True).encode()
    if isinstance(value, dict) and isinstance(value.get("results"), list):
        return
    with pytest.raises(UnusableAnswer) as caught:
        read(body)
    assert caught.value.category in ("invalid_shape", "invalid_json")


@pytest.mark.parametrize(
    ("score", "wanted"),
    [
        ("1", 1.0), ("0.25", 0.25), ("-3", -3.0), ("true", None), ('"1"', None), ("null", None),
        ("[1]", None), ("123456789012345678901234567890", 1.2345678901234568e29),
    ],
)  # fmt: skip
def test_a_score_is_a_finite_number(score: str, wanted: float | None) -> None:
    [item] = read(b'{"results": [{"text": "a", "score": %s}]}' % score.encode())
    assert item == RecalledItem(text="a", score=wanted)


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e400", "01", "1.", ".5"])
def test_b62_what_is_no_number_of_json_is_refused(number: str) -> None:
    with pytest.raises(UnusableAnswer, match="invalid_json"):
        read(b'{"results": [{"text": "a", "score": %s}]}' % number.encode())
