"""The folder of a proxy: its files, and the markers that say how far its making has come."""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from uuid import UUID

from muniment.memory.config.proxy_folder import ENV_FILE
from muniment.memory.errors import BadInput, Busy, InitInterrupted, NotInitialized

_BEGUN, _DONE = ".initializing", ".initialized"
TEMPLATES = ("memory_template.md", "memory_template_zh.md")
_ENV = """\
# The proxy's settings. No secret is in this file: it may be committed. The variables of the process go before it.
LOG_LEVEL=INFO
MEMORY_BRIDGE_HOST=localhost
MEMORY_BRIDGE_PORT=8000
HTTP_TIMEOUT=120
MEMORY_SEARCH_TIMEOUT=30
MEMORY_STORE_TIMEOUT=120
MEMORY_TEMPLATE_PATH=templates/memory_template.md
"""
_IGNORED = """\
# What is of this machine alone: the database, and the key under which the keys of tokens are sealed.
/data/
/.initializing
/.initialized
"""


@dataclass(frozen=True, slots=True)
class ProxyFolder:
    """A folder in which a proxy is made and started."""

    path: Path

    @classmethod
    def find_folder(cls, path: Path) -> ProxyFolder:
        """Return the folder at a path, whatever the current folder will be."""
        return cls(path.absolute())

    def require_initialized(self) -> None:
        """Raise InitInterrupted for a folder whose making was interrupted, NotInitialized for one that was not made."""
        if (self.path / _BEGUN).exists():
            raise InitInterrupted(
                f"{self.path}: `muniment proxy init` was interrupted here, or runs yet: run it again before the start"
            )
        if not (self.path / _DONE).exists():
            raise NotInitialized(f"{self.path}: nothing is made here yet: run `muniment proxy init` first")

    @contextlib.contextmanager
    def begin(self) -> Iterator[Marker]:
        """Mark the folder as being made; at the end without an error, as made. Raises BadInput for one that is made
        already, Busy where another process makes it."""
        if (self.path / _DONE).exists():
            raise BadInput(f"{self.path}: is initialized already; `muniment proxy start` starts it")
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(self.path / _BEGUN, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise BadInput(f"{self.path}: cannot be written ({error.strerror})") from None
        with os.fdopen(descriptor, "r+") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise Busy(f"{self.path}: another `muniment proxy init` is at it") from None
            yield Marker(self.path / _BEGUN)
            (self.path / _BEGUN).replace(self.path / _DONE)

    def write_files(self) -> None:
        """Write the settings and both templates. A file that is there stays as it is."""
        folder = self.path / "templates"
        folder.mkdir(exist_ok=True)
        for name in TEMPLATES:
            text = (files("muniment.faces.proxy") / "templates" / name).read_text(encoding="utf-8")
            _write_new(folder / name, text)
        _write_new(self.path / ENV_FILE, _ENV)
        _write_new(self.path / ".gitignore", _IGNORED)


@dataclass(frozen=True, slots=True)
class Marker:
    """The file that says that a folder is being made; it keeps the id of the token that was made for it."""

    path: Path

    def read_token(self) -> UUID | None:
        """Return the id of the token that a former try has made; None where it came to none."""
        text = self.path.read_text(encoding="utf-8").strip()
        try:
            return UUID(text)
        except ValueError:
            return None

    def write_token(self, id_: UUID) -> None:
        """Keep the id of the token that was made."""
        self.path.write_text(f"{id_}\n", encoding="utf-8")


def _write_new(path: Path, text: str) -> None:
    """Write a file that is not there yet, whole or not at all."""
    if path.exists():
        return
    draft = path.with_name(f"{path.name}.draft")
    draft.write_text(text, encoding="utf-8")
    draft.replace(path)
