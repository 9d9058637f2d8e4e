"""How the folder of a proxy is made: its files, its database, and the first administrator's token."""

from __future__ import annotations

import contextlib
from pathlib import Path

from pydantic import SecretStr

from muniment.faces.proxy.host.folder import ProxyFolder
from muniment.memory import bootstrap
from muniment.memory.config.proxy_folder import load_proxy_settings
from muniment.memory.errors import NotFound


async def initialize_folder(path: Path) -> SecretStr:
    """Make the folder of a proxy, and return an administrator's token, which nobody is shown again.

    What an interrupted try has made is used or replaced: it may be run again. Raises BadInput for a folder that is made
    already, Busy, BadConfig, StoreDown."""
    folder = ProxyFolder.find_folder(path)
    with folder.begin() as marker:
        folder.write_files()
        settings = load_proxy_settings(folder.path)
        await bootstrap.ensure_database(settings)
        async with bootstrap.open_tokens(settings, as_owner=True) as tokens:
            if (former := marker.read_token()) is not None:
                with contextlib.suppress(NotFound):  # of another database
                    await tokens.revoke_token(former)
            token, grant = await tokens.issue_token(tenant=settings.tenant, owner=None, scopes=("admin",))
            marker.write_token(grant.id)
    return token
