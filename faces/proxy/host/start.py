"""How a proxy starts, serves and ends."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path

from starlette.types import ASGIApp

from muniment.faces.proxy.accounts import account_exchange
from muniment.faces.proxy.administration import open_administration
from muniment.faces.proxy.app import create_app
from muniment.faces.proxy.host.folder import ProxyFolder
from muniment.faces.proxy.logs import LOG, start_log
from muniment.faces.proxy.request.prompt import Template
from muniment.faces.proxy.service import ProxyService
from muniment.faces.proxy.upstream.forwarding import make_client
from muniment.faces.serving.process import forbid_core_files, listen_on, serve_application
from muniment.faces.serving.rate_limit import RateLimits
from muniment.memory import bootstrap
from muniment.memory.config.proxy_folder import load_proxy_settings
from muniment.memory.config.settings import Settings


async def start_proxy(path: Path, host: str | None = None, port: int | None = None) -> None:
    """Serve the proxy of a folder until SIGTERM or Ctrl-C; then end what is under way, and return.

    `host` and `port` go before the settings. Raises InitInterrupted, NotInitialized, TemplateError, BadConfig,
    BadInput for an address that is taken, StoreDown."""
    forbid_core_files()
    folder = ProxyFolder.find_folder(path)
    folder.require_initialized()
    settings = load_proxy_settings(folder.path)
    template = Template.load(Path(settings.proxy.template_path))
    rules = settings.proxy
    with contextlib.closing(listen_on(host or rules.host, rules.port if port is None else port)) as listener:
        start_log(rules.log_level, bootstrap.make_redactor())
        try:
            async with (
                open_service(settings, template) as service,
                open_administration(settings, service.memories, service.storing) as administration,
            ):
                await _serve(service, administration, listener)
        finally:
            if settings.is_embedded:  # the folder's own
                await bootstrap.stop_server(settings)
    LOG.info("ended")


@contextlib.asynccontextmanager
async def open_service(settings: Settings, template: Template) -> AsyncIterator[ProxyService]:
    """Open what a proxy stands on: the database, the memory, a worker, the upstreams' client. At the end exchanges that
    are being stored are finished before any of it is closed. Raises BadConfig, StoreDown."""
    rules = settings.serve
    async with (
        bootstrap.open_memory(settings) as memory,
        bootstrap.open_configured_memories(settings, memory) as memories,
        bootstrap.run_worker(settings, memory, memories),
        bootstrap.run_proxy_accounts(memory) as accounts,
        make_client() as client,
    ):
        service = ProxyService(
            settings=settings,
            tokens=memories.configs,
            memories=memories,
            client=client,
            template=template,
            limits=RateLimits(rules.requests_per_second, rules.burst),
            now=memory.now,
            account=partial(account_exchange, accounts),
        )
        try:
            yield service
        finally:
            await service.background.finish_work(settings.proxy.memory_store_timeout)


async def _serve(service: ProxyService, administration: ASGIApp, listener: socket.socket) -> None:
    rules = service.settings.serve
    host, port = listener.getsockname()[:2]
    LOG.info("listening on http://%s:%d", f"[{host}]" if ":" in host else host, port)
    await serve_application(
        create_app(service, administration),
        listener,
        service.ending,
        notice_seconds=0.0,
        drain_seconds=rules.drain_seconds,
    )
