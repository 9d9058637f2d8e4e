"""A token with models of its own at the service of the installation, which has none of them."""

from __future__ import annotations

from typing import Any

from muniment.memory.bootstrap import open_token_configs
from muniment.memory.config.settings import load_settings
from tests.conftest import alone
from tests.http.conftest import Serving
from tests.http.test_refusals import refuse
from tests.tokens import make_fields


def register(serving: Serving, **fields: Any) -> str:
    """A new token with a configuration."""

    async def make() -> str:
        async with open_token_configs(load_settings(serving.environment), as_owner=True) as configs:
            token, _ = await configs.register(make_fields(**fields))
            return token.get_secret_value()

    return alone(make())


def test_an_embedder_of_its_own(serving: Serving) -> None:
    """What would need the token's embedder is refused by its name, and nothing is written; what needs none is done."""
    asked: dict[str, Any] = {"agent": "supervisor", "query": "What is my heron called?"}
    with serving.client(register(serving)) as client:
        said = {"session": "s1", "turns": [{"key": "1", "text": "Hello."}]}
        assert client.post("/turns", json=said).is_success
        for path, body in (
            ("/memories", {"text": "My heron is called Bo.", "category": "knowledge"}),
            ("/memory/query", asked),
        ):
            error = refuse(client.post(path, json=body), 500)
            assert error["type"] == "WrongEmbedder", path
            assert "it is the embedder of a token" in str(error["message"])
        assert client.get("/memories").json()["total"] == 0


def test_the_embedder_of_the_installation(serving: Serving) -> None:
    """A token that says `offline` is served whole."""
    asked: dict[str, Any] = {"agent": "supervisor", "query": "What is my heron called?"}
    with serving.client(register(serving, embed_provider="offline")) as client:
        assert client.post("/memories", json={"text": "My heron is called Bo.", "category": "knowledge"}).is_success
        assert "Bo" in client.post("/memory/query", json=asked).text
