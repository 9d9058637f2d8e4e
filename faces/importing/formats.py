"""The formats of other memories, and which of them a file has."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import Protocol

from muniment.faces.importing.fields import UnreadFields
from muniment.faces.importing.json_records import Layout, probe_layout
from muniment.faces.importing.sources import STDIN_NAME, SourceFiles
from muniment.memory.domain.layers.imports import ImportRecord
from muniment.memory.errors import BadInput

_JSON = (".json", ".jsonl", ".ndjson", ".af")
_TEXT = (".md", ".markdown", ".txt")
_MOST_PROBED = 200  # files whose layout is looked at


@dataclass
class ImportFiles:
    """The files of an import with the layouts of those in JSON, the time of the import, and the fields not read."""

    files: SourceFiles
    now: datetime
    unread: UnreadFields = field(default_factory=UnreadFields)

    @cached_property
    def layouts(self) -> dict[str, Layout]:
        """The layout of each file in JSON, by its name."""
        named = [name for name in self.files.names if name.lower().endswith(_JSON) or name == STDIN_NAME]
        if not named and len(self.files.names) == 1 and not self.texts:
            named = list(self.files.names)
        return {name: probe_layout(self.files, name) for name in named[:_MOST_PROBED]}

    @property
    def texts(self) -> list[str]:
        """The names of the files of text."""
        return [name for name in self.files.names if name.lower().endswith(_TEXT)]

    def list_json(self) -> list[str]:
        """Return the names of all files in JSON."""
        return [name for name in self.files.names if name.lower().endswith(_JSON)] or list(self.layouts)


class Format(Protocol):
    """The layout of the files of another memory. `name` is that of the option, `title` what people call it."""

    name: str
    title: str

    def recognize_files(self, source: ImportFiles) -> bool:
        """Return whether the files look like this format."""
        ...

    def read(self, source: ImportFiles) -> Iterator[ImportRecord]:
        """Yield the records, each with its place. Raises BadInput naming the file, the record and the field."""
        ...


def choose_format(formats: dict[str, Format], source: ImportFiles, name: str | None) -> Format:
    """Return the format of a name, else the one that the files look like. Raises BadInput."""
    if source.files.is_empty():
        raise BadInput(f"{source.files.title}: is empty")
    if name is not None:
        return formats[name]
    found = [each for each in formats.values() if each.recognize_files(source)]
    if len(found) == 1:
        return found[0]
    names = ", ".join(formats)
    if found:
        fitting = ", ".join(each.name for each in found)
        raise BadInput(f"{source.files.title}: may be of several formats ({fitting}): name one with --format")
    raise BadInput(
        f"{source.files.title}: its format is not known; name it with --format, one of {names}, "
        "or jsonl, locomo or memory-records"
    )
