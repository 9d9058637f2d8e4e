"""The pages of docs/ name every command, every endpoint, and the settings of sessions and observations."""

import re
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

from muniment.faces.http import routes
from muniment.memory.config.schema import Ledger, ObservationSettings, SettingsPart

ROOT = Path(__file__).parents[2]
COMMANDS = ROOT / "tests/golden/outputs/commands.txt"


def read_page(name: str) -> str:
    return (ROOT / "docs" / name).read_text(encoding="utf-8")


def test_commands() -> None:
    """Each command is in docs/cli.md."""
    named = re.findall(r"^\$ muniment (.+) --help$", COMMANDS.read_text(encoding="utf-8"), re.MULTILINE)
    page = read_page("cli.md")
    assert [name for name in named if not re.search(rf"`{re.escape(name)}[ `]", page)] == []
    assert len(named) > 50


def test_endpoints() -> None:
    """Each address of the service is in docs/http.md."""
    page = read_page("http.md")
    missing, seen = [], 0
    for module in iter_modules(routes.__path__):
        router = getattr(import_module(f"{routes.__name__}.{module.name}"), "router", None)
        for route in getattr(router, "routes", ()):
            seen += 1
            address = re.escape(re.sub(r"\{\w+_id\}", "{id}", route.path))
            if not re.search(rf"[` ]{address}`", page):
                missing.append(route.path)
    assert missing == []
    assert seen > 35


def test_settings() -> None:
    """Each setting of sessions and observations is in docs/configuration.md."""
    page = read_page("configuration.md")
    parts: dict[str, type[SettingsPart]] = {"session_ledger": Ledger, "observations": ObservationSettings}
    names = [f"{part}.{name}" for part, settings in parts.items() for name in settings.model_fields]
    assert [name for name in names if f"`{name}" not in page] == []
