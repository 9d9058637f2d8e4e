"""The configuration of a token is checked whole; an error names the field and never a value."""

from __future__ import annotations

import json
from dataclasses import FrozenInstanceError, replace
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import given, strategies as st
from pydantic import SecretBytes

from muniment.memory.domain.tokens.config import (
    FIELDS,
    TokenConfig,
    find_token_id,
    mask_secret,
    name_tenant,
)
from muniment.memory.errors import TokenConfigError
from muniment.memory.stores.token_seal import TokenSeal
from tests.tokens import KEYS, make_fields

CANARY = "c4nary-value"
STRINGS = (
    "llm_base_url", "llm_api_key", "memory_llm_base_url", "memory_llm_api_key", "embed_base_url", "embed_api_key",
)  # fmt: skip
NUMBERS = {"memory_limit": 100, "session_window_size": 1_000, "embed_dims": 16_000}
BODIES = ("memory_llm_body", "embed_body")
PROVIDERS = ("memory_llm_provider", "embed_provider", "memory_place")


def refuse(**changed: Any) -> TokenConfigError:
    with pytest.raises(TokenConfigError) as caught:
        TokenConfig.parse(make_fields(**changed))
    (name,) = changed
    assert caught.value.data["field"] == name
    assert str(caught.value).startswith(f"{name}: is ")
    return caught.value


@pytest.mark.parametrize("name", [*STRINGS, *NUMBERS, *BODIES, *PROVIDERS])
@pytest.mark.parametrize("value", [None, "", " ", 0, [], {}, True, -1, 1.5, "\x00", "\ud800"])
def test_what_is_empty_or_of_another_type(name: str, value: Any) -> None:
    """Every field that has to be there, with what it cannot be."""
    refuse(**{name: value})


@pytest.mark.parametrize("name", [*STRINGS, *NUMBERS, *BODIES, *PROVIDERS])
def test_what_is_missing(name: str) -> None:
    """There is no default for what a token has to say."""
    fields = make_fields()
    del fields[name]
    with pytest.raises(TokenConfigError, match=f"^{name}: is missing; allowed: "):
        TokenConfig.parse(fields)


@pytest.mark.parametrize("name", ["http_timeout", "memory_search_timeout", "memory_store_timeout", "history_days"])
@pytest.mark.parametrize("value", ["", "5", 0, -1, True, float("nan"), float("inf"), [], {}])
def test_optional_numbers(name: str, value: Any) -> None:
    """May be left out, and not be wrong."""
    refuse(**{name: value})


@pytest.mark.parametrize("name", ["llm_model", "memory_prompt"])
@pytest.mark.parametrize("value", ["", "  ", 7, [], {}, "\x00", "x" * 20_001])
def test_optional_texts(name: str, value: Any) -> None:
    """As the numbers."""
    refuse(**{name: value})


@pytest.mark.parametrize(
    "value",
    [
        "ftp://host/v1", "host/v1", "http://", "http:///v1", "https://user:pw@host/v1", "https://user@host",
        "http://@host", "http://host/v1?x=1", "http://host/v1?", "http://host/v1#a", "http://host:99999/",
        "http://host:x/", "http://ho st/",
        "http://host/\n", " http://host/", "http://[::1/", "javascript:alert(1)", "HTTP//host", "http://host:0/v1",
    ],
)  # fmt: skip
def test_addresses_that_are_none(value: str) -> None:
    """Nothing but an endpoint's base, which holds no secret."""
    assert value.strip() not in str(refuse(llm_base_url=value)) or value in ("http://", "http:///v1")


@pytest.mark.parametrize("value", ["http://host", "https://host:8443/v1/", "http://[::1]:8080/a/b", "HTTPS://Host/v1"])
def test_addresses(value: str) -> None:
    """A slash at the end is no part of it."""
    assert TokenConfig.parse(make_fields(llm_base_url=value)).llm_base_url == value.rstrip("/")


@pytest.mark.parametrize("name", NUMBERS)
def test_bounds(name: str) -> None:
    """From one to the most, both included."""
    most = NUMBERS[name]
    for value in (1, most):
        assert getattr(TokenConfig.parse(make_fields(**{name: value})), name) == value
    refuse(**{name: most + 1})


@pytest.mark.parametrize("name", BODIES)
@pytest.mark.parametrize(
    "value",
    [
        "{", "[]", '"a"', "7", "null", "NaN", '{"model": "m", "x": NaN}', '{"model": "m", "x": 1e999}', '{"x": 1}',
        '{"model": ""}', '{"model": 7}', '{"model": "a\\nb"}', "[" * 100_000,
        '{"model": "m", "x": "' + "y" * 20_000 + '"}',
        {"model": "m", "x": float("nan")}, {"model": "m", "x": object()},
    ],
)  # fmt: skip
def test_bodies_that_are_none(name: str, value: Any) -> None:
    """A body is a JSON object with a model's name, of at most 20 kB."""
    refuse(**{name: value})


@pytest.mark.parametrize(
    ("name", "key"), [("memory_llm_body", "messages"), ("memory_llm_body", "stream"), ("embed_body", "input")]
)
def test_bodies_with_what_each_request_sets(name: str, key: str) -> None:
    """What a request is about does not come from the configuration."""
    assert repr(key) in str(refuse(**{name: {"model": "m", key: []}}))


def test_a_body_is_kept_as_it_is() -> None:
    """As text or as an object, with keys that nobody here knows."""
    body = {"model": "m", "deep": {"ключ": [1, 2.5, None, True]}, "input": "only of the other"}
    for given_body in (body, json.dumps(body)):
        assert TokenConfig.parse(make_fields(memory_llm_body=given_body)).memory_llm_body == body


def test_providers_that_need_nothing() -> None:
    """`rules` and `offline` are said, and then what they do not use is not looked at."""
    fields = make_fields(memory_llm_provider="rules", embed_provider="offline")
    config = TokenConfig.parse({name: None if name in STRINGS[2:] else value for name, value in fields.items()})
    assert (config.memory_llm_api_key, config.embed_dims, dict(config.embed_body)) == (None, None, {})
    assert not config.embedder.is_own


VALUES = st.one_of(st.none(), st.text(), st.integers(), st.floats(), st.booleans())


@given(st.dictionaries(st.sampled_from(FIELDS), VALUES))
def test_no_value_is_in_an_error(changed: dict[str, Any]) -> None:
    """Whatever is given, the configuration is valid or TokenConfigError says why; no key is ever shown."""
    fields = make_fields(**{name: CANARY * 2 if isinstance(value, str) else value for name, value in changed.items()})
    shown = describe(fields)
    assert not any(key in shown for key in KEYS.values())
    assert CANARY not in shown


def describe(fields: dict[str, Any]) -> str:
    try:
        return repr(replace(TokenConfig.parse(fields), llm_model=None))
    except TokenConfigError as error:
        return f"{error} {error.data}"


def test_frozen_and_known_by_all_fields() -> None:
    """A configuration does not change; any other one has another digest."""
    config = TokenConfig.parse(make_fields())
    with pytest.raises(FrozenInstanceError):
        config.memory_limit = 6  # type: ignore[misc]
    with pytest.raises(TypeError):
        config.memory_llm_body["model"] = "other"  # type: ignore[index]
    other: dict[str, Any] = {
        "llm_base_url": "http://a", "llm_api_key": "other-key-other", "llm_model": "x", "memory_llm_provider": "rules",
        "memory_llm_base_url": "http://a", "memory_llm_api_key": "other", "memory_llm_body": {"model": "x"},
        "embed_provider": "offline",
        "embed_base_url": "http://a", "embed_api_key": "other", "embed_dims": 7,
        "embed_body": {"model": "x"}, "memory_prompt": "x", "memory_limit": 6, "session_window_size": 6,
        "memory_place": "user", "http_timeout": 1, "memory_search_timeout": 1, "memory_store_timeout": 1,
        "history_days": 1,
    }  # fmt: skip
    assert set(other) == set(FIELDS)
    digests = {TokenConfig.parse(make_fields(**{name: value})).digest for name, value in other.items()}
    assert len(digests | {config.digest}) == len(FIELDS) + 1
    assert TokenConfig.parse(make_fields()).digest == config.digest


def test_names_of_embedders() -> None:
    """Endpoint, dimensions and body make another embedder; a key does not."""
    one = TokenConfig.parse(make_fields()).embedder
    assert one.name.startswith("vectors@")
    same = TokenConfig.parse(make_fields(embed_api_key="another-key")).embedder
    assert same.name == one.name
    others = [
        replace(one, base_url="http://other/v1"),
        replace(one, dims=255),
        replace(one, body={"model": "vectors"}),
        replace(one, body={"model": "vectors", "x_user": {"a": [2]}}),
    ]
    assert len({one.name, *(each.name for each in others)}) == 5


def test_tenants() -> None:
    """The tenant says the token's id, and no other tenant does."""
    id_ = uuid4()
    assert find_token_id(name_tenant(id_)) == id_
    for tenant in ("default", "token-", f"token-{id_}", f"token-{id_.hex} ", f"Token-{id_.hex}", f"token-{id_.hex}0"):
        assert find_token_id(tenant) is None


@pytest.mark.parametrize(
    ("secret", "shown"),
    [("sk-abcdefgh1234", "****1234"), ("short", "****"), ("twelve-chars", "****hars"), (None, None)],
)
def test_masks(secret: str | None, shown: str | None) -> None:
    """Four characters, unless they would be much of it."""
    assert mask_secret(secret) == shown


def test_seals() -> None:
    """What is sealed opens with the same key for the same token alone, and is never the same twice."""
    id_, key, plain = uuid4(), SecretBytes(b"k" * 32), b'{"llm_api_key": "sk-canary"}'
    seal = TokenSeal(key)
    sealed = seal.seal(plain, id_)
    assert plain not in sealed
    assert seal.seal(plain, id_) != sealed
    assert TokenSeal(key).unseal(sealed, id_) == plain
    for other, opened, by in (
        (TokenSeal(SecretBytes(b"l" * 32)), sealed, id_),
        (seal, sealed, uuid4()),
        (seal, sealed[:-1], id_),
        (seal, bytes([sealed[0] ^ 1]) + sealed[1:], id_),
        (seal, b"", id_),
    ):
        with pytest.raises(TokenConfigError) as caught:
            other.unseal(opened, by)
        assert caught.value.__cause__ is None
        assert "canary" not in str(caught.value)
