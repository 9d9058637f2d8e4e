"""`muniment console`: a service on this machine alone, and a link that logs in once: S-74."""

import signal
import subprocess
from collections.abc import Sequence
from urllib.parse import urlsplit

import httpx

from muniment.memory.bootstrap import open_tokens
from muniment.memory.config.settings import load_settings
from muniment.memory.domain.scope import Grant
from tests.conftest import alone
from tests.http.conftest import PROGRAM


def list_grants(environment: dict[str, str]) -> Sequence[Grant]:
    async def read() -> Sequence[Grant]:
        async with open_tokens(load_settings(environment), as_owner=True) as tokens:
            return await tokens.list_grants()

    return alone(read())


def test_the_command_prints_a_link_that_logs_in_once_and_ends_with_its_token(environment: dict[str, str]) -> None:
    command = [PROGRAM, "console", "--user", "ana & co", "--no-browser"]
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        try:
            assert process.stdout is not None
            link = process.stdout.readline().strip()
            assert urlsplit(link).hostname == "127.0.0.1"
            with httpx.Client(timeout=60) as client:
                first = client.get(link)
                assert (first.status_code, first.headers["location"]) == (303, "/?user=ana+%26+co")
                page = client.get(f"http://{urlsplit(link).netloc}{first.headers['location']}")
                assert page.status_code == 200
                assert "ana &amp; co" in page.text
            assert httpx.get(link, timeout=60).status_code == 401
            assert [grant.revoked_at for grant in list_grants(environment)] == [None]
        finally:
            process.send_signal(signal.SIGTERM)
            assert process.wait(60) == 0
    (grant,) = list_grants(environment)
    assert (grant.owner, grant.scopes) == (None, ("admin",))
    assert grant.revoked_at is not None
