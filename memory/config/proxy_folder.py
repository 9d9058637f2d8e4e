"""The settings of a proxy: those of its folder's `.env`, under the names that a proxy's variables have."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args

from muniment.memory.config.environment import Environment
from muniment.memory.config.processes import LogLevel, Proxying
from muniment.memory.config.settings import Settings, get_environment, load_settings
from muniment.memory.config.yaml_file import describe_shape
from muniment.memory.errors import BadConfig

ENV_FILE, DATA_FOLDER = ".env", "data"
_LEVELS = (*get_args(LogLevel), "WARN")
_MOST_SECONDS = 86_400
# Variable -> the key of `proxy` that it sets.
VARIABLES: Mapping[str, str] = {
    "LOG_LEVEL": "log_level",
    "MEMORY_BRIDGE_HOST": "host",
    "MEMORY_BRIDGE_PORT": "port",
    "HTTP_TIMEOUT": "http_timeout",
    "MEMORY_SEARCH_TIMEOUT": "memory_search_timeout",
    "MEMORY_STORE_TIMEOUT": "memory_store_timeout",
    "MEMORY_TEMPLATE_PATH": "template_path",
}
_LINE = re.compile(r"(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)\s*=\s*(.*?)\s*")
_QUOTED = re.compile(r"""(["'])(.*)\1(?:\s+#.*)?""")


def load_proxy_settings(folder: Path, environ: Mapping[str, str] | None = None) -> Settings:
    """Return the settings of the proxy in a folder: the environment, below it the folder's `.env`, below that the
    file of MUNIMENT_CONFIG. Its database is in the folder where no variable says otherwise.

    Raises BadConfig that names the file and the line, or the variable."""
    folder = folder.absolute()
    path = folder / ENV_FILE
    values = (read_env_file(path) if path.exists() else {}) | dict(get_environment() if environ is None else environ)
    settings = load_settings({"MUNIMENT_HOME": str(folder / DATA_FOLDER)} | values)
    given = _read_variables(Environment(values), settings.proxy)
    template = folder / Path(given.get("template_path", settings.proxy.template_path)).expanduser()
    proxy = Proxying.model_validate(dict(settings.proxy) | given | {"template_path": str(template)})
    return settings.model_copy(update={"proxy": proxy})


def read_env_file(path: Path) -> dict[str, str]:
    """Return the variables of a file of lines `NAME=value`. Raises BadConfig that names the line."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BadConfig(f"{path}: cannot be read ({type(error).__name__})") from None
    found: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        match = _LINE.fullmatch(line.strip())
        if match is None:
            raise BadConfig(f"{path}, line {number}: is {describe_shape(line)}; allowed: NAME=value")
        quoted = _QUOTED.fullmatch(match[2])
        found[match[1]] = quoted[2] if quoted else match[2].partition(" #")[0].rstrip()
    return found


def _read_variables(env: Environment, proxy: Proxying) -> dict[str, Any]:
    """Return the keys of `proxy` that variables set. Raises BadConfig."""
    texts = {
        "LOG_LEVEL": env.read_text("LOG_LEVEL", lambda value: value.upper() in _LEVELS, ", ".join(get_args(LogLevel))),
        "MEMORY_BRIDGE_HOST": env.read_text(
            "MEMORY_BRIDGE_HOST", lambda value: not re.search(r"\s", value), "an address"
        ),
        "MEMORY_BRIDGE_PORT": env.read_text("MEMORY_BRIDGE_PORT", _is_port, "a whole number from 0 to 65535"),
        "MEMORY_TEMPLATE_PATH": env.read_text("MEMORY_TEMPLATE_PATH"),
    } | {
        name: env.read_text(name, _is_seconds, f"seconds, more than 0, at most {_MOST_SECONDS:,}")
        for name, key in VARIABLES.items()
        if isinstance(getattr(proxy, key), float)
    }
    given: dict[str, Any] = {VARIABLES[name]: text for name, text in texts.items() if text is not None}
    for key, text in given.items():
        if key == "port":
            given[key] = int(text)
        elif key == "log_level":
            given[key] = "WARNING" if text.upper() == "WARN" else text.upper()
        elif isinstance(getattr(proxy, key), float):
            given[key] = float(text)
    return given


def _is_port(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) <= 5 and int(text) <= 65_535


def _is_seconds(text: str) -> bool:
    return bool(re.fullmatch(r"\d{1,5}(\.\d{1,3})?", text, re.ASCII)) and 0.001 <= float(text) <= _MOST_SECONDS
