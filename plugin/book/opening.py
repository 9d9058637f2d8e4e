"""Opens the book that the settings name, for whoever reads it beside the hosts."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from muniment.plugin.book.file_book import FileBook, find_book_file
from muniment.plugin.stores.local.store import FILE_NAME

if TYPE_CHECKING:
    from muniment.memory.config.settings import Settings
    from muniment.plugin.ports import PluginBook


def make_file_book(settings: Settings) -> FileBook:
    """Return the book beside the local file of the settings; it is opened by the first call."""
    file = Path(settings.plugin.file).expanduser() if settings.plugin.file else settings.home / FILE_NAME
    return FileBook(find_book_file(file), days=settings.session_ledger.events_days)


@asynccontextmanager
async def open_book(settings: Settings) -> AsyncIterator[PluginBook]:
    """Give the book of the hosts with these settings: of the database for the store `engine`, else of the file.

    Raises StoreDown where the database cannot be reached."""
    if settings.plugin.store == "engine":
        # They bring the database's driver, which a host with a file does without.
        from muniment.memory.bootstrap.plugin_accounts import open_plugin_accounts  # noqa: PLC0415
        from muniment.plugin.book.engine_book import EngineBook  # noqa: PLC0415

        async with open_plugin_accounts(settings) as accounts:
            yield EngineBook(accounts)
        return
    book = make_file_book(settings)
    try:
        yield book
    finally:
        await book.close()
