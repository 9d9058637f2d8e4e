"""The export in an archive of all of a user, as what `import` reads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from muniment.faces.cli.import_source import ImportSource
from muniment.faces.transfer.archive import EXPORT, open_export


class ArchiveSource(ImportSource):
    """The export in an archive, which is checked as a whole when it is opened."""

    def __init__(self, file: str) -> None:
        super().__init__(file)
        self.name = f"{file}, {EXPORT}"

    @contextmanager
    def open_file(self) -> Iterator[IO[bytes]]:
        """The lines of the export. Raises BadInput, TooLarge for an archive that is not as it was written."""
        with open_export(Path(self.file)) as (export, files):
            self.left_files = count_left_rows(files)
            yield export


def count_left_rows(files: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """Return the files of an archive whose rows no import brings back, with the number of them."""
    return {each["name"]: each["rows"] for each in files if each.get("rows") and each["name"] != EXPORT}
