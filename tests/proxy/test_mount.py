"""The proxy beside another application of one process, below a path."""

import asyncio
import socket
from pathlib import Path

import httpx
import uvicorn
from starlette.applications import Starlette
from starlette.routing import Mount

from muniment.faces.proxy.app import create_app
from muniment.faces.proxy.host.start import open_service
from muniment.faces.proxy.request.prompt import Template
from muniment.memory.bootstrap import open_token_configs
from muniment.memory.config.settings import load_settings
from tests.http.conftest import make_environment
from tests.proxy.conftest import CONFIG, Upstream


async def test_below_a_path(database_url: str, tmp_path: Path) -> None:
    """Mounted it forwards what is below its path, without that."""
    settings = load_settings(make_environment(database_url, tmp_path))
    with Upstream() as upstream:
        async with open_token_configs(settings, as_owner=True) as configs:
            token, _ = await configs.register(CONFIG | {"llm_base_url": upstream.base_url})
        async with open_service(settings, Template("{memories}")) as service:
            app = Starlette(routes=[Mount("/llm", create_app(service))])
            server = uvicorn.Server(uvicorn.Config(app, log_config=None, lifespan="off"))
            with socket.create_server(("127.0.0.1", 0)) as listener:
                serving = asyncio.create_task(server._serve([listener]))
                base = f"http://127.0.0.1:{listener.getsockname()[1]}/llm"
                headers = {"Authorization": f"Bearer {token.get_secret_value()}"}
                async with httpx.AsyncClient(headers=headers, timeout=20) as client:
                    body = {"model": "m", "messages": [{"role": "user", "content": "Hello"}]}
                    answer = await client.post(f"{base}/v1/chat/completions", json=body)
                    assert answer.json()["choices"][0]["message"]["content"]
                    assert (await client.get(f"{base}/v1/models?a=1")).status_code == 200
                    assert (await client.get(f"{base}/health")).json() == {"status": "ok"}
                    assert (await client.get(f"{base}/v1/admin/tokens")).status_code == 403
                server.should_exit = True
                await serving
        assert [each.path for each in upstream.requests] == ["/v1/chat/completions", "/v1/models?a=1"]
