"""The saver that the commands open, and the threads that they are about."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from muniment.faces.cli.output import terminal
from muniment.memory.config.settings import Settings
from muniment.memory.domain.scope import Scope

if TYPE_CHECKING:
    from muniment.graph.saver import PooledSaver


@asynccontextmanager
async def schedule_pruning(settings: Settings, *, once: bool) -> AsyncIterator[None]:
    """Prune as long as the context is open, or with `once` before it; either only when it is due."""
    # LangGraph and the database's driver: nothing for `--help` to wait for.
    from muniment.graph import janitor  # noqa: PLC0415

    async with open_saver(settings, quiet=True) as saver:
        if once:
            await janitor.prune_if_due(saver, settings)
            yield
            return
        async with janitor.run_janitor(saver, settings):
            yield


@asynccontextmanager
async def open_saver(settings: Settings, *, quiet: bool) -> AsyncIterator[PooledSaver]:
    """The saver of these settings, open. Raises BadConfig, StoreDown, Denied."""
    # LangGraph and the database's driver: nothing for `--help` to wait for.
    from muniment.graph import checkpointer  # noqa: PLC0415
    from muniment.memory import bootstrap  # noqa: PLC0415

    with terminal.show_spinner("opening the database…", quiet=quiet):
        await bootstrap.ensure_checkpoint_database(settings)
    async with checkpointer.open_thread_saver(settings) as saver:
        yield saver


async def select_threads(saver: PooledSaver, owner: Scope | None, thread: str | None) -> list[str] | None:
    """The keys of the owner's threads, or of one thread; None for all threads."""
    # LangGraph and the database's driver: nothing for `--help` to wait for.
    from muniment.graph.janitor import list_space_threads  # noqa: PLC0415
    from muniment.graph.turn import make_thread_key  # noqa: PLC0415

    if owner is None:
        return [thread] if thread is not None else None
    return (
        [make_thread_key(owner.space, thread)] if thread is not None else await list_space_threads(saver, owner.space)
    )
