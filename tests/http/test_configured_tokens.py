"""A token with models of its own at the installation's service: it reads what needs no vector, and is told of the rest."""

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
