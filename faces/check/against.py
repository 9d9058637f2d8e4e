"""The other configuration of `--against`: what differs from the own one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from muniment.memory.config.settings import Settings, get_environment, load_settings
from muniment.memory.errors import BadInput

KINDS = ("config", "embedder", "model", "prompts")
_YAML = (".yaml", ".yml")


@dataclass(frozen=True, slots=True, kw_only=True)
class Configuration:
    """Settings, the embedder of the scratch spaces, and the name under which reports show both."""

    name: str
    settings: Settings
    embedder: str | None = None


def read_configuration(given: Sequence[str]) -> Configuration:
    """Return the own configuration, with what `KIND=VALUE` texts change in it: the file of settings (`config`, which a
    file with the ending .yaml or .yml is by itself), the `embedder` of scratch spaces, the `model`, the folder of
    `prompts`.

    Raises BadInput for another kind or one that comes twice, BadConfig for what is not valid."""
    values: dict[str, str] = {}
    for text in given:
        kind, sign, value = text.partition("=")
        if not sign and text.endswith(_YAML):
            kind, value = "config", text
        if kind not in KINDS or not value:
            raise BadInput(f"--against: FILE.yaml or KIND=VALUE wanted, with one of {', '.join(KINDS)}")
        if kind in values:
            raise BadInput(f"--against: {kind} is given twice")
        values[kind] = value
    environment = dict(get_environment())
    for kind, name in (("config", "MUNIMENT_CONFIG"), ("model", "MUNIMENT_MODEL")):
        if kind in values:
            environment[name] = values[kind]
    if values.get("model") == "none":  # rules alone
        del environment["MUNIMENT_MODEL"]
    settings = load_settings(environment)
    if "prompts" in values:
        folder = Path(values["prompts"])
        if not folder.is_dir():
            raise BadInput(f"--against: {folder} is no folder of prompts")
        model = settings.model.model_copy(update={"prompt_folder": str(folder.resolve())})
        settings = settings.model_copy(update={"model": model})
    return Configuration(name=" ".join(given), settings=settings, embedder=values.get("embedder"))
