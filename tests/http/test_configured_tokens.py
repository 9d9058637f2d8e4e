"""A token with models of its own at the installation's service: it reads what needs no vector, and is told of the rest."""

from __future__ import annotations

from typing import Any

from muniment.memory.bootstrap import open_token_configs
from muniment.memory.config.settings import load_settings
from tests.conftest import alone
from tests.http.conftest import Serving
from tests.tokens import make_fields


def register(serving: Serving, **fields: Any) -> str:
    """A new token with a configuration."""

    async def make() -> str:
        async with open_token_configs(load_settings(serving.environment), as_owner=True) as configs:
            token, _ = await configs.register(make_fields(**fields))
            return token.get_secret_value()

    return alone(make())


def test_an_embedder_of_its_own(serving: Serving) -> None:
    """What would need the token's embedder is refused, and nothing is written; lists and counts are shown."""
    with serving.client(register(serving)) as client:
        for method, path, body in (
            ("POST", "/memories", {"text": "My heron is called Bo.", "category": "knowledge"}),
            ("POST", "/memory/query", {"text": "What is my heron called?"}),
            ("GET", "/context?text=heron", None),
        ):
            answer = client.request(method, path, json=body)
            print(method, path, answer.status_code, answer.text)
        answer = client.get("/memories")
        print(answer.status_code, answer.text)
        print(client.get("/stats").text)
        assert 0


def test_the_embedder_of_the_installation(serving: Serving) -> None:
    """A token that says `offline` has all of it here, too."""
    with serving.client(register(serving, embed_provider="offline")) as client:
        assert client.post("/memories", json={"text": "My heron is called Bo.", "category": "knowledge"}).is_success
        answer = client.post("/memory/query", json={"text": "What is my heron called?"})
        assert "Bo" in answer.text
