"""`muniment plugin outbox` and `muniment plugin sync`, and the example of two machines, with a real service."""

from __future__ import annotations

import asyncio
import json
import runpy
from collections.abc import Iterator
from pathlib import Path

import pytest

from muniment.faces.cli.app import run_command
from muniment.memory.config.settings import load_settings
from muniment.plugin.domain.item import ItemOwner
from muniment.plugin.stores.hybrid.opening import open_hybrid_store
from tests.http.conftest import Serving, make_environment, run_service
from tests.plugin_sync.devices import CONTENTS, list_all, make_item

EXAMPLE = Path(__file__).parents[2] / "examples" / "two_machines.py"


@pytest.fixture
def service(database_url: str, tmp_path: Path) -> Iterator[Serving]:
    """`muniment serve` on a database of the test's own."""
    with run_service(make_environment(database_url, tmp_path / "served"), tmp_path / "serve.log") as service:
        yield service


@pytest.fixture
def host(service: Serving, tmp_path: Path) -> dict[str, str]:
    """The environment of a host with the hybrid store, whose server is the service."""
    config = tmp_path / "host.yaml"
    config.write_text(f"plugin: {{enabled: true, store: hybrid, url: '{service.url}', vectors: false}}\n")
    return {
        "MUNIMENT_CONFIG": str(config),
        "MUNIMENT_PLUGIN_TOKEN": service.token(),
        "MUNIMENT_HOME": str(tmp_path / "host"),
        "MUNIMENT_EMBEDDER": "hash-256",
    }


def run_muniment(
    arguments: list[str], host: dict[str, str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> tuple[int, str]:
    """Exit code and output of a command line."""
    with monkeypatch.context() as patch:
        for name, value in host.items():
            patch.setenv(name, value)
        capsys.readouterr()
        code = run_command(arguments)
    return code, capsys.readouterr().out


async def write_items(host: dict[str, str]) -> None:
    """Write two items, and do not send them."""
    store = open_hybrid_store(load_settings(host | {"HOME": "/nonexistent"}), is_automatic=False)
    await store.upsert([make_item(1, CONTENTS[0]), make_item(2, CONTENTS[1])])
    await store.close()


@pytest.mark.timeout(180)
def test_what_waits_is_shown_and_sent(
    host: dict[str, str],
    service: Serving,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    """P-83, P-92: no text of an item is shown; where the server is away the command fails and says how many wait."""
    with asyncio.Runner() as runner:
        runner.run(write_items(host))
    code, shown = run_muniment(["plugin", "outbox", "--json"], host, monkeypatch, capsys)
    status = json.loads(shown)
    assert (code, status["waiting"], status["dropped"], status["aside"]) == (0, 2, 0, [])
    assert "Lisbon" not in shown
    away = tmp_path / "away.yaml"
    away.write_text("plugin: {enabled: true, store: hybrid, url: 'http://127.0.0.1:9', vectors: false}\n")
    code, _ = run_muniment(["plugin", "sync"], host | {"MUNIMENT_CONFIG": str(away)}, monkeypatch, capsys)
    assert code != 0
    code, shown = run_muniment(["plugin", "sync", "--json"], host, monkeypatch, capsys)
    assert (code, json.loads(shown)["done"], json.loads(shown)["waiting"]) == (0, True, 0)
    code, shown = run_muniment(["plugin", "outbox"], host, monkeypatch, capsys)
    assert code == 0
    assert "last sent" in shown
    assert service.token()


@pytest.mark.timeout(180)
async def test_another_machine_has_it(host: dict[str, str], tmp_path: Path) -> None:
    """P-92: what one file has sent another one reads."""
    owner = ItemOwner(user="ana", tenant="acme")
    settings = [load_settings(host | {"HOME": "/nonexistent", "MUNIMENT_HOME": str(tmp_path / name)}) for name in "ab"]
    one, two = (open_hybrid_store(each, is_automatic=False) for each in settings)
    await one.upsert([make_item(1, CONTENTS[0])])
    assert await one.sync_now(owner)
    assert await two.sync_now(owner)
    assert await list_all(two) == await list_all(one) == {make_item(1, "").id: (CONTENTS[0], False)}
    await one.close()
    await two.close()


@pytest.mark.timeout(180)
def test_the_example_of_two_machines(
    service: Serving, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """`examples/two_machines.py` says on one machine what the other knows."""
    monkeypatch.setenv("MUNIMENT_URL", service.url)
    monkeypatch.setenv("MUNIMENT_TENANT", service.tenant)
    monkeypatch.setenv("MUNIMENT_PLUGIN_TOKEN", service.token(owner="example"))
    monkeypatch.setenv("MUNIMENT_HOME", str(tmp_path / "machines"))
    capsys.readouterr()
    runpy.run_path(str(EXAMPLE), run_name="__main__")
    shown = capsys.readouterr().out
    assert "desktop knows: The team uses pnpm, never npm." in shown
    assert "laptop knows: nothing" in shown
