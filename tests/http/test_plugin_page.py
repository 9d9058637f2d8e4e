"""The page /config/plugin: what the plugin of hosts did, for the operator alone."""

from __future__ import annotations

from datetime import UTC, datetime

import httpx

from muniment.memory.bootstrap.plugin_accounts import open_plugin_accounts
from muniment.memory.config.settings import load_settings
from muniment.plugin.book.engine_book import EngineBook
from muniment.plugin.domain.book import TurnReport
from muniment.plugin.domain.item import ItemOwner
from tests.conftest import alone
from tests.http.conftest import Serving


async def _report(environment: dict[str, str], tenant: str, policy: str) -> None:
    async with open_plugin_accounts(load_settings(environment)) as accounts:
        book = EngineBook(accounts)
        report = TurnReport(
            turn_id="t1",
            owner=ItemOwner(user="zirconella", session="quillon", tenant=tenant),
            at=datetime.now(UTC),
            policy=policy,
            is_hit=True,
            tokens=1234,
            refusals={"small talk": 7},
            milliseconds={"engine search": 12.5},
        )
        await book.record_turn(report)
        await book.close()


def test_an_operator_sees_what_the_plugin_did(operated: Serving) -> None:
    """P-104: policies, refusals and latency of the own tenant, without a user's name, escaped and without scripts."""
    with httpx.Client(base_url=operated.url, follow_redirects=True) as client:
        client.post("/config/login", data={"token": operated.token(owner=None, scopes=("admin",))})
        assert "has seen no turn" in client.get("/config/plugin").text
        alone(_report(operated.environment, "default", "<b>eager"))
        alone(_report(operated.environment, "acme", "anothers"))
        page = client.get("/config/plugin")
    assert page.status_code == 200
    for shown in ("&lt;b&gt;eager", "1,234", "small talk", "<td>7</td>", "engine search", "12.5"):
        assert shown in page.text
    for hidden in ("<b>", "<script", "anothers", "zirconella", "quillon"):
        assert hidden not in page.text
    assert page.headers["content-security-policy"].startswith("default-src 'none'; style-src 'sha256-")


def test_nobody_else_sees_it(operated: Serving) -> None:
    """Without a login there is the form for one; a token of a user, of another tenant or without `admin` gets none."""
    alone(_report(operated.environment, "default", "hidden policy"))
    for grant in (
        {"owner": "ana", "scopes": ("admin",)},
        {"owner": None, "tenant": "acme", "scopes": ("admin",)},
        {"owner": None, "scopes": ("read",)},
    ):
        with httpx.Client(base_url=operated.url, follow_redirects=True) as client:
            assert client.post("/config/login", data={"token": operated.token(**grant)}).status_code == 403
            page = client.get("/config/plugin")
            assert 'action="/config/login"' in page.text
            assert "hidden policy" not in page.text
    bearer = {"Authorization": f"Bearer {operated.token(owner='ana', scopes=('admin',))}"}
    assert "hidden policy" not in httpx.get(f"{operated.url}/config/plugin", headers=bearer).text
