"""What is not taken in at all: by tag, by the path it was read from, by project."""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase

from muniment.memory.config.schema import RedactionSettings


def find_denial(
    rules: RedactionSettings, *, tags: Iterable[str] = (), path: str | None = None, project: str | None = None
) -> str | None:
    """Why something with these tags, of this path and project must not be taken in, or None. Case does not count."""
    if project is not None and _fold_name(project) in set(map(_fold_name, rules.deny_projects)):
        return "denied project"
    if not {*map(_fold_name, tags)}.isdisjoint(map(_fold_name, rules.deny_tags)):
        return "denied tag"
    if path is not None and any(fnmatchcase(_normalize_path(path), _normalize_path(one)) for one in rules.deny_paths):
        return "denied path"
    return None


def _fold_name(name: str) -> str:
    return name.strip().lstrip("#").casefold()


def _normalize_path(path: str) -> str:
    """A path with one kind of separator: what is denied on one system is denied as told by another."""
    return path.strip().replace("\\", "/").casefold()
