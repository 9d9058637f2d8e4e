"""Jobs, workers, the embedder, usage and the plugin in the console: P-22, P-104."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import httpx
import pytest

from muniment.memory.bootstrap.console_reads import make_console_reads
from muniment.memory.bootstrap.plugin_accounts import open_plugin_accounts
from muniment.memory.client import Memory
from muniment.memory.config.settings import load_settings
from muniment.memory.domain.jobs import Job
from muniment.memory.domain.usage import Charge, Settlement
from muniment.memory.errors import NotFound
from muniment.plugin.book.engine_book import EngineBook
from muniment.plugin.domain.book import TurnReport
from muniment.plugin.domain.item import ItemOwner
from tests.conftest import alone
from tests.console.browser import Browser
from tests.console.space import find_scope, run_in
from tests.console.visitor import read_text, send_form, sign_in
from tests.http.conftest import Serving


def fail_job(serving: Serving, owner: str = "ana", error: str | None = "ModelUnavailable") -> int:
    """A job of a user that was tried once and waits for an hour; its number."""

    async def work(memory: Memory) -> int:
        queue = memory.engine.store.jobs
        await queue.enqueue_jobs([Job(name="embed", scope=find_scope(serving, owner))])
        worker = await queue.register_worker()
        while True:
            ticket = await queue.take_job(worker, ["embed"])
            assert ticket is not None
            mine = (ticket.job.scope.tenant, ticket.job.scope.owner) == (serving.tenant, owner)
            await queue.reschedule_job(ticket, timedelta(hours=1), error_class=error if mine else None)
            if mine:
                await queue.unregister_worker(worker)
                return ticket.id

    return run_in(serving, work)


def count_due(serving: Serving, owner: str = "ana") -> int:
    async def work(memory: Memory) -> int:
        return (await make_console_reads(memory).overview.read_figures(find_scope(serving, owner))).due

    return run_in(serving, work)


def test_a_failed_job_is_shown_with_its_error_and_tried_again(serving: Serving, ana: httpx.Client) -> None:
    """P-22: the class of the error, never its words; after the form it is due."""
    assert "No job waits" in read_text(ana.get("/console/machines"))
    id_ = fail_job(serving)
    shown = read_text(ana.get("/console/machines"))
    assert "waits after a failure 1 attempt ( ModelUnavailable )" in shown
    assert count_due(serving) == 0
    done = send_form(ana, "/console/machines/retry", {"id": str(id_)})
    assert "The job is due" in read_text(ana.get(done.headers["location"]))
    assert count_due(serving) == 1


def test_a_job_that_was_not_ready_is_no_failure(serving: Serving, ana: httpx.Client) -> None:
    """P-22: what waits for the answers of a batch was tried, and did not fail."""
    fail_job(serving, error=None)
    shown = read_text(ana.get("/console/machines"))
    assert "0 wait after a failure" in shown
    assert "waits 1 attempt" in shown


def test_a_job_is_tried_again_in_a_terminal(serving: Serving, ana: httpx.Client) -> None:
    """P-22: the command that the page shows; a number of no job is refused."""
    id_ = fail_job(serving)
    assert f"muniment work --drain --retry {id_}" in read_text(ana.get("/console/machines"))

    async def retry(memory: Memory) -> None:
        await memory.jobs.hasten_job(id_, tenant=serving.tenant)
        with pytest.raises(NotFound):
            await memory.jobs.hasten_job(2**62, tenant=serving.tenant)
        with pytest.raises(NotFound):
            await memory.jobs.hasten_job(id_, tenant=f"{serving.tenant}-2")

    run_in(serving, retry)
    assert count_due(serving) == 1


def test_another_users_job_is_as_none(serving: Serving, ana: httpx.Client, operator: httpx.Client) -> None:
    """P-104: it is neither shown nor hastened; an operator of the tenant sees it, one of another does not."""
    id_ = fail_job(serving, "bob")
    assert "ModelUnavailable" not in ana.get("/console/machines").text
    answers = [send_form(ana, "/console/machines/retry", {"id": text}) for text in (str(id_), str(2**62))]
    assert [each.status_code for each in answers] == [404, 404]
    assert send_form(ana, "/console/machines/retry", {"id": "-1"}).status_code == 422
    with sign_in(serving, tenant=f"{serving.tenant}-2", owner=None, scopes=("admin",)) as stranger:
        assert "ModelUnavailable" not in stranger.get("/console/machines").text
        assert send_form(stranger, "/console/machines/retry", {"id": str(id_)}).status_code == 404
    assert count_due(serving, "bob") == 0
    assert "bob" in read_text(operator.get("/console/machines"))
    assert send_form(operator, "/console/machines/retry", {"id": str(id_)}).status_code == 303
    assert count_due(serving, "bob") == 1


def test_workers_and_usage_are_for_operators(serving: Serving, ana: httpx.Client, operator: httpx.Client) -> None:
    """P-104: what is of all users of a tenant is seen by its operator alone."""

    async def spend(memory: Memory) -> None:
        charge = Charge(purpose="extract", model="tiny-9", input_tokens=1200, output_tokens=34, micros=5_600_000)
        settlement = Settlement(day=datetime.now(UTC).date(), used=charge)
        await memory.engine.store.usage.settle(find_scope(serving), [settlement])

    run_in(serving, spend)
    shown = read_text(operator.get("/console/machines"))
    for words in ("Workers", "tiny-9", "1,234 tokens in 1 request", "5.60", "reading turns"):
        assert words in shown
    for words in ("Models in the last", "tiny-9", "Last sign of life"):
        assert words not in ana.get("/console/machines").text
    with sign_in(serving, owner="ana", agents=("planner",), scopes=("read",)) as planner:
        assert planner.get("/console/machines").status_code == 403


@pytest.mark.timeout(120)
def test_the_page_is_sound_in_every_view(
    chromium: Browser, serving: Serving, ana: httpx.Client, operator: httpx.Client
) -> None:
    """S-79: of a user and of a tenant, with a name that is markup."""
    chromium.check_page(serving.url, "/console/machines?empty", ana.cookies.jar, views=("light", "narrow"))
    for owner in ("ana", "<b>עמית"):
        fail_job(serving, owner)
    test_workers_and_usage_are_for_operators(serving, ana, operator)
    chromium.check_page(serving.url, "/console/machines", ana.cookies.jar)
    chromium.check_page(serving.url, "/console/machines?of=tenant", operator.cookies.jar)


def test_a_job_is_tried_again_in_a_browser(chromium: Browser, serving: Serving, ana: httpx.Client) -> None:
    """P-24: with the keyboard alone."""
    fail_job(serving)
    with chromium.open_tab(serving.url, ana.cookies.jar) as tab:
        tab.open("/console/machines")
        for _ in range(40):
            tab.page.keyboard.press("Tab")
            if tab.page.evaluate("document.activeElement.innerText") == "Try now":
                break
        with tab.page.expect_navigation():
            tab.page.keyboard.press("Enter")
        assert tab.page.locator("#status").inner_text().startswith("The job is due")
    assert count_due(serving) == 1


async def report(serving: Serving, tenant: str, policy: str) -> None:
    async with open_plugin_accounts(load_settings(serving.environment)) as accounts:
        book = EngineBook(accounts)
        told = TurnReport(
            turn_id="t1",
            owner=ItemOwner(user="zirconella", session="quillon", tenant=tenant),
            at=datetime.now(UTC),
            policy=policy,
            is_hit=True,
            tokens=1234,
            refusals={"small talk": 7},
            milliseconds={"engine search": 12.5},
        )
        await book.record_turn(told)
        await book.close()


def test_an_operator_sees_what_the_plugin_did(chromium: Browser, operated: Serving) -> None:
    """P-104: policies, refusals and latency of the own tenant, without a user's name, escaped and without scripts."""
    path = "/console/machines/plugin"
    with sign_in(operated, owner=None, scopes=("admin",)) as client:
        assert "has seen no turn" in client.get(path).text
        alone(report(operated, "default", "<b>eager"))
        alone(report(operated, "acme", "anothers"))
        page = client.get(path)
        assert client.get("/config/plugin").headers["location"] == path
        assert path in client.get("/console/machines").text
        chromium.check_page(operated.url, path, client.cookies.jar)
    for shown in ("&lt;b&gt;eager", "1,234", "small talk", "engine search", "12.5"):
        assert shown in page.text
    for hidden in ("<b>", "anothers", "zirconella", "quillon"):
        assert hidden not in page.text


def test_nobody_else_sees_what_the_plugin_did(operated: Serving) -> None:
    """P-104: a token of a user, of another tenant or without `admin` gets none of it."""
    alone(report(operated, "default", "hidden policy"))
    for grant in (
        {"owner": "ana", "scopes": ("admin",)},
        {"owner": None, "tenant": "acme", "scopes": ("admin",)},
        {"owner": None, "scopes": ("read",)},
    ):
        with sign_in(operated, **grant) as client:
            page = client.get("/console/machines/plugin")
            assert page.status_code == 403
            assert "hidden policy" not in page.text
    bearer = {"Authorization": f"Bearer {operated.token(owner=None, scopes=('admin',))}"}
    assert httpx.get(f"{operated.url}/console/machines/plugin", headers=bearer).status_code == 303
