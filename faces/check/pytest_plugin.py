"""The plugin for pytest: `*.memory.yaml` files are collected, a test for each case.

It is known to pytest by the entry point of this package. What it needs is imported with the first such file, so that a
session without one pays for this module alone."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from muniment.faces.check.bench import Bench
    from muniment.faces.check.reading import CheckFile
    from muniment.faces.check.results import CaseResult

SUFFIX = ".memory.yaml"
_BENCH: pytest.StashKey[_OpenBench] = pytest.StashKey()


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> MemoryFile | None:
    """Collect a check file."""
    return MemoryFile.from_parent(parent, path=file_path) if file_path.name.endswith(SUFFIX) else None


def pytest_unconfigure(config: pytest.Config) -> None:
    """Close the memory, where a case has opened it."""
    if bench := config.stash.get(_BENCH, None):
        bench.close()


class MemoryFile(pytest.File):
    """A check file. What is wrong with it is an error of the collection, which names the line."""

    def collect(self) -> Iterator[MemoryCase]:
        """Yield a test for each case."""
        # With the first check file only: they take a moment to import.
        from muniment.faces.check.reading import read_check_file  # noqa: PLC0415
        from muniment.memory.errors import BadInput  # noqa: PLC0415 - as above

        try:
            check = read_check_file(self.path)
        except BadInput as error:
            raise self.CollectError(str(error)) from None
        for place, case in enumerate(check.content.cases):
            yield MemoryCase.from_parent(self, name=case.name, check=check, place=place)


class MemoryCase(pytest.Item):
    """A case of a check file. It passes where all of its assertions do."""

    def __init__(self, *, check: CheckFile, place: int, **options: object) -> None:
        super().__init__(**options)  # type: ignore[arg-type] # what pytest gives every item
        self._check, self._place = check, place

    def runtest(self) -> None:
        """Run the case. Raises CaseFailed, and what `muniment check` ends with, such as StoreDown."""
        bench = self.config.stash.setdefault(_BENCH, _OpenBench())
        result = bench.run_case(self._check, self._place)
        if result.outcome != "passed":
            raise CaseFailed(result)

    def repr_failure(
        self,
        excinfo: pytest.ExceptionInfo[BaseException],
        style: object = None,  # noqa: ARG002 - pytest gives it
    ) -> str:
        """Return what was there instead, or the error on one line."""
        error = excinfo.value
        return str(error) if isinstance(error, CaseFailed) else f"{type(error).__name__}: {error}"

    def reportinfo(self) -> tuple[Path, int, str]:
        """Return the file, the line counted from 0, and the name of the case."""
        return self.path, self._check.find_line(self._place) - 1, self.name


class CaseFailed(AssertionError):
    """A case whose assertions do not all hold, with each of them on a line."""

    def __init__(self, result: CaseResult) -> None:
        lines = [
            f"{result.file}:{each.line}: {each.name}\n    {each.found}"
            for each in result.assertions
            if each.outcome != "passed"
        ]
        super().__init__("\n".join(lines))


class _OpenBench:
    """A memory that opens with the first case of a session, in an event loop of its own."""

    def __init__(self) -> None:
        self._runner = asyncio.Runner()
        self._opening: AbstractAsyncContextManager[Bench] | None = None
        self._bench: Bench | None = None

    def run_case(self, check: CheckFile, place: int) -> CaseResult:
        """Return what became of a case. Raises BadInput, BadConfig, StoreError."""
        from muniment.faces.check.runner import run_case  # noqa: PLC0415 - with the first case only

        if self._bench is None:
            self._bench = self._runner.run(self._open())
        return self._runner.run(run_case(self._bench, check, place))

    def close(self) -> None:
        """Close the memory and the event loop."""
        try:
            if self._opening is not None and self._bench is not None:
                self._runner.run(self._close())
        finally:
            self._runner.close()

    async def _open(self) -> Bench:
        from muniment.faces.check.bench import open_bench  # noqa: PLC0415 - with the first case only
        from muniment.memory.config.settings import load_settings  # noqa: PLC0415 - as above

        self._opening = open_bench(load_settings())
        return await self._opening.__aenter__()

    async def _close(self) -> None:
        if self._opening is not None:
            await self._opening.__aexit__(None, None, None)
