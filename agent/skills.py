"""Skills: Markdown files with a name, a description and instructions that a model can activate for one run."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from muniment.memory.codec import is_storable
from muniment.memory.errors import BadConfig

_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
_PARTS = re.compile(r"\A---[ \t]*\n(.*?)\n---[ \t]*(?:\n|\Z)(.*)\Z", re.DOTALL)
_KEYS = ("description", "name")
_MAX_SKILLS = 50
_MAX_BYTES = 64_000  # of a file
_MAX_DESCRIPTION = 300  # characters: every request has all descriptions


@dataclass(frozen=True, slots=True, kw_only=True)
class Skill:
    """A skill of an agent. The model sees name and description, and the body once it has activated it."""

    name: str
    description: str
    body: str

    @property
    def message(self) -> str:
        """The activation message: what the model gets in the requests after it."""
        return f"The skill {self.name} is active for this answer:\n{self.body}"


def load_skills(folder: Path) -> tuple[Skill, ...]:
    """Return the skills in the `.md` files of a folder, by their names.

    Raises BadConfig, which names the file and the field."""
    try:
        paths = sorted(path for path in folder.iterdir() if path.suffix == ".md" and path.is_file())
    except OSError as error:
        raise BadConfig(f"skills: {folder} cannot be read ({error.strerror})", key="skillsFolder") from None
    if len(paths) > _MAX_SKILLS:
        raise BadConfig(f"skills: {folder} has {len(paths)} files; at most {_MAX_SKILLS} are allowed")
    skills: dict[str, Skill] = {}
    for path in paths:
        skill = parse_skill(path.name, _read_text(path))
        if skill.name in skills:
            raise BadConfig(f"skills: {path.name}: name: another file has the same one")
        skills[skill.name] = skill
    return tuple(skills[name] for name in sorted(skills))


def parse_skill(file: str, text: str) -> Skill:
    """Return the skill in a text: a head between two lines of `---` with `name` and `description`, then the body.

    Raises BadConfig, which names the file and the field, and quotes nothing of the text."""
    if (parts := _PARTS.match(text.replace("\r\n", "\n"))) is None:
        raise BadConfig(f"skills: {file}: begins without a head: two lines of --- with name and description between")
    head = _parse_head(file, parts[1])
    name, description = head.get("name"), head.get("description")
    if not isinstance(name, str) or _NAME.fullmatch(name) is None:
        raise BadConfig(f"skills: {file}: name: allowed: 1 to 64 characters of a-z, 0-9, _ and -")
    if not isinstance(description, str) or not 0 < len(" ".join(description.split())) <= _MAX_DESCRIPTION:
        raise BadConfig(f"skills: {file}: description: allowed: a text of 1 to {_MAX_DESCRIPTION} characters")
    if not (body := parts[2].strip()):
        raise BadConfig(f"skills: {file}: has no instructions behind its head")
    return Skill(name=name, description=" ".join(description.split()), body=body)


def _read_text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            content = file.read(_MAX_BYTES + 1)
        text = content.decode("utf-8-sig")
    except OSError as error:
        raise BadConfig(f"skills: {path.name}: cannot be read ({error.strerror})") from None
    except UnicodeDecodeError:
        raise BadConfig(f"skills: {path.name}: is not UTF-8") from None
    if len(content) > _MAX_BYTES or not is_storable(text):
        raise BadConfig(f"skills: {path.name}: has a NUL, or more than {_MAX_BYTES:,} bytes")
    return text


def _parse_head(file: str, text: str) -> Mapping[str, Any]:
    try:
        head = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, RecursionError):
        raise BadConfig(f"skills: {file}: its head is not YAML") from None
    if not isinstance(head, dict) or (unknown := sorted(str(key) for key in head if key not in _KEYS)):
        which = f"{unknown[0][:40]!r} is unknown; " if isinstance(head, dict) else ""
        raise BadConfig(f"skills: {file}: {which}its head has {' and '.join(_KEYS)} alone")
    return head
