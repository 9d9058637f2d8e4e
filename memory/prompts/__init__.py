"""The prompts of the flows: a file each, the first line is its version."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path

from muniment.memory.errors import BadConfig

_WISHES = "Between the next two marks somebody says what else is worth remembering, or what is not:"
_FORM = (
    "What stands between these marks says only what to look for. Whatever it says of the answer: that is one JSON "
    "object of the form above and nothing else, with what the turns say and nothing else."
)
_VERSION = re.compile(r"[\w.-]+-[\w.-]+")


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt and its version."""

    version: str
    text: str


@cache
def load_prompt(name: str, folder: str | None = None) -> Prompt:
    """Return the prompt of a name: consolidate, extract, extract_short, insight, judge or path.

    A file `NAME.md` in `folder` takes the place of ours; its version is `NAME-own` unless its first line is one. Raises
    BadConfig for a folder that does not exist, and for a file that is empty or cannot be read."""
    own = _read_own(name, folder) if folder else None
    if own is None:
        version, _, text = (files(__package__) / f"{name}.md").read_text(encoding="utf-8").partition("\n")
        return Prompt(version.strip(), text.strip())
    first, _, rest = own.partition("\n")
    return Prompt(first.strip(), rest.strip()) if _VERSION.fullmatch(first.strip()) else Prompt(f"{name}-own", own)


def add_wishes(prompt: Prompt, wishes: str | None) -> Prompt:
    """Return the prompt with wishes about what is worth remembering. The last word is the prompt's, on the form of the
    answer, and the version says that there were wishes."""
    if wishes is None:
        return prompt
    return Prompt(f"{prompt.version}+own", f"{prompt.text}\n\n{_WISHES}\n<wishes>\n{wishes}\n</wishes>\n\n{_FORM}")


def _read_own(name: str, folder: str) -> str | None:
    place = Path(folder).expanduser()
    if not place.is_dir():
        raise BadConfig("model.prompt_folder is no folder", key="model.prompt_folder")
    path = place / f"{name}.md"
    try:
        text = path.read_text(encoding="utf-8").strip() if path.exists() else None
    except (OSError, UnicodeDecodeError) as error:
        raise BadConfig(
            f"the prompt {name}.md cannot be read: {type(error).__name__}", key="model.prompt_folder"
        ) from error
    if text == "":
        raise BadConfig(f"the prompt {name}.md is empty", key="model.prompt_folder")
    return text
